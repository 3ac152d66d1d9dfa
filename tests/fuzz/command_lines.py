"""Bad command lines, and bad files for them, over all subcommands."""

from __future__ import annotations

import os
import random
from pathlib import Path

from fuzz.calling import bench
from fuzz.mutations import ODD_TEXTS

WORDS = (
    *("-", "--", "-5", "nan", "inf", "1e309", "9" * 400, "x" * 5000, "0x10", "1_0", "=", ",", ":", "a:b", "a=b", ";"),
    *("digits", "pl", "ups-raps", "supervised", "softmax+hard+ups", "recipe.lr=x", "recipe.epochs=1e9", "0-5", "3-1"),
    *("file", "nowhere", "folder", "pipe", "a.toml", "b.toml", "c.toml", "runs", "/dev/null", "/", "/proc/self/mem"),
    *("svg,pdf", "csv", "json", "table", "accuracy", "cuda:99", "package:", "timm", "head", "os", "memory://x", "b://"),
)
OPTIONS = {
    "run": [
        *("--methods", "--dataset", "--labels", "--seeds", "--backbone", "--weights", "--tune", "--image-size"),
        *("--preset", "--calibration", "--validation", "--set", "--plugin", "--results", "--data-dir", "--cache-dir"),
        *("--no-cache", "--jobs", "--executor", "--force", "--quiet", "--json", "--ray-address"),
    ],
    "status": ["--results"],
    "table": [
        *("--columns", "--methods", "--dataset", "--labels", "--where", "--pivot", "--published", "--published-from"),
        *("--runs", "--format"),
    ],
    "compare": ["--results", "--metric", "--dataset", "--labels", "--where", "--format"],
    "report": ["--methods", "--dataset", "--labels", "--where"],
    "figures": ["--format", "--figures", "--methods", "--dataset", "--labels", "--where"],
    "show": ["--results", "--json"],
    "data": ["--data-dir"],
    "cache": ["--cache-dir", "--prune"],
    "list": ["--json"],
    "plugin": ["--kind", "--folder"],
    "plugins": ["--json", "--check"],
}
#: The end of a command that stops it where it would begin to train, draw or fetch.
STOP = {
    "run": ("--device", "nowhere"),
    "report": ("-o", "folder"),
    "figures": ("-o", "file"),
    "data": ("--data-dir", "file"),
}
TOML = ("methods", "dataset", "labels", "seeds", "backbone", "preset", "validation", "results", "set", "arms", "x")
TOML_VALUES = (
    *(
        '"pl"',
        '["pl", "ups"]',
        "[]",
        "3",
        "-1",
        "1e400",
        "nan",
        "true",
        "2020-01-01",
        '"\\u0000"',
        "[[1]]",
        "{a = {b = 1}}",
    ),
    *(
        "9" * 5000,
        '"' + "x" * 9000 + '"',
        "[" * 3000,
        "{",
        '{"recipe.lr" = [1]}',
        "[{methods = 1}]",
        '"\\ud800"',
        "''''''",
    ),
)


def prepare():
    """Files that are not what they should be, in the working folder."""
    for name in ("folder", "runs"):
        Path(name).mkdir(exist_ok=True)
    Path("file").write_bytes(b"\xff\x00[")
    if not os.path.lexists("nowhere"):
        Path("nowhere").symlink_to("gone")
    if not os.path.lexists("pipe"):
        os.mkfifo("pipe")


def words_for(draw):
    """One command line."""
    name = draw.choice([*OPTIONS, draw.choice((*WORDS, *ODD_TEXTS))])
    words = [name]
    if name == "plugin":
        words.append(draw.choice(("new", "check", "x")))
    for _ in range(draw.randrange(4)):
        if draw.random() < 0.7 and OPTIONS.get(name):
            words.append(draw.choice(OPTIONS[name]))
        if draw.random() < 0.8:
            words.append(draw.choice(WORDS if draw.random() < 0.6 else ODD_TEXTS))
    waits = "pipe" in words  # a pipe may be an experiment: the shell's <(command)
    words = ["file" if word == "pipe" and waits else word for word in words]
    return [*words, *STOP.get(name, ())]


def experiment(draw):
    """The text of an experiment file."""
    lines = [f"{draw.choice(TOML)} = {draw.choice(TOML_VALUES)}" for _ in range(draw.randrange(1, 4))]
    return "\n".join(dict.fromkeys(lines)) + draw.choice(("", "\n[set]\nrecipe = 1", "\n[[arms]]\nx = 1", "\n[", "\0"))


def fuzz(number_of_commands, seed=0):
    """Problems of as many command lines. Needs an empty working folder."""
    prepare()
    found = []
    for number in range(number_of_commands):
        draw = random.Random(f"{seed}/{number}")
        for name in ("a.toml", "b.toml"):
            Path(name).write_text(experiment(draw), encoding="utf-8", errors="surrogatepass")
        Path("c.toml").write_bytes(draw.randbytes(30))
        words = words_for(draw)
        _, problem = bench(words)
        if problem:
            found.append(f"command {number} of seed {seed}: {words!r:.500}\n{problem}")
    return found
