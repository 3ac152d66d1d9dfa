"""Every command in the documents is executed, with the smallest preset, in a copy of the folders they speak of."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
import torch

from pseudobench import Dataset
from pseudobench_vision import Cifar10, Cifar100

ROOT = Path(__file__).parents[1]
#: Documents whose commands are executed elsewhere: by `.ci/run`, and by the guide's own tests. The speed benchmark
#: takes half an hour, and has nothing to assert.
ELSEWHERE = {"CONTRIBUTING.md", "plugins/README.md", "tests/speed/README.md"}


def commands(document):
    """The lines that begin with ``bench`` in the blocks of a document, split into words."""
    blocks = re.findall(r"^```bash\n(.*?)^```$", document.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("bench ")]


def with_commands():
    found = [*ROOT.glob("*.md"), *ROOT.glob("*/*.md"), *ROOT.glob("tests/*/*.md")]
    return sorted(str(path.relative_to(ROOT)) for path in found if "```" in path.read_text(encoding="utf-8"))


@pytest.fixture
def here(monkeypatch, tmp_path, bench):
    """A folder with the experiments and results of this project, and made-up images in place of CIFAR's."""
    (tmp_path / "baselines").symlink_to(ROOT / "baselines")
    shutil.copytree(ROOT / "results", tmp_path / "results")
    shutil.copy(ROOT / "README.md", tmp_path)
    for source, classes in ((Cifar10, 10), (Cifar100, 100)):
        labels = torch.arange(6 * classes) % classes
        noise = torch.randint(0, 64, (len(labels), 3, 32, 32), generator=torch.Generator().manual_seed(0))
        images = (noise + (labels * 190 // classes)[:, None, None, None]).to(torch.uint8)
        made = Dataset(source.name, classes, images, labels, images[: 2 * classes], labels[: 2 * classes])
        monkeypatch.setattr(source, "load", lambda self, data_dir, made=made: made)
        monkeypatch.setattr(source, "train_size", len(labels))
        monkeypatch.setattr(source, "default_labels", 2 * classes)
    return bench


def smaller(words):
    """The same command, with as little training as there can be; what a shell would write to a file is shown."""
    if words[0] != "run":
        return words[: words.index(">")] if ">" in words else words
    few = ("--labels", "20") if "cifar10" in words else ("--labels", "200") if "cifar100" in words else ()
    # The made-up images are known to this process alone.
    here = () if {"--jobs", "--executor", "--timeout"} & set(words) or not few else ("--in-process",)
    return [*words, "--preset", "smoke", "--seeds", "1", *few, *here]


@pytest.mark.parametrize("name", sorted(set(with_commands()) - ELSEWHERE))
def test_every_command_of_a_document_works(here, name):
    asked = commands(ROOT / name)
    assert asked
    for words in asked:
        done = here(*smaller(words))
        assert done.code == 0, (words, done.err)
        assert done.out or done.err


def test_every_document_with_code_is_looked_at():
    assert set(with_commands()) >= ELSEWHERE
    assert "README.md" in with_commands()
