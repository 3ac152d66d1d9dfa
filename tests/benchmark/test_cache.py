"""Nothing is trained twice, nothing is lost, and the results are the same bit for bit."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import time
import warnings

import pytest
import torch

from harness import make_runner
from pseudobench import BenchWarning
from pseudobench.contracts.events import Listener
from pseudobench.contracts.settings import Recipe
from pseudobench.experiments.resolving import resolve
from pseudobench.learning.augmentation import augmentation
from pseudobench.learning.networks import NetworkSpec, make_network
from pseudobench.learning.pool import Normalizer
from pseudobench.learning.training_loop import fit
from pseudobench.learning.training_set import TrainingSet
from pseudobench.registry.components import build_registry
from pseudobench.registry.plugins import load_plugins
from pseudobench.storage.cache import Cache
from pseudobench.storage.records import Store, without_times

CPU = torch.device("cpu")
QUICK = {
    "recipe.epochs": 4,
    "recipe.steps": 10,
    "recipe.threads": 1,
    "recipe.augment": "weak",
    "loop.rounds": 2,
    "loop.settle": 0.0,
    "calibration.fraction": 0.25,
    "calibration.folds": 2,
}


def spec_for(registry, method, seed=0, **settings):
    extra = {key.replace("__", "."): value for key, value in settings.items()}
    return resolve(registry, method=method, dataset="digits", seed=seed, settings={**QUICK, **extra})


def runner(folder, listener=None, *, cache=True, every=60.0, force=False):
    plugins = load_plugins()
    kept = folder / "cache" if cache else None
    settings = {"cache": kept, "checkpoint_seconds": every, "force": force}
    return make_runner(folder / "runs", build_registry(plugins), plugins, listener, **settings)


def work(record):
    return [(each["work"]["trained"], each["work"]["reused"]) for each in record["rounds"]]


@pytest.mark.parametrize("settings", [{}, {"calibration__policy": "cross"}, {"calibration__policy": "train"}])
def test_records_are_the_same_with_and_without_the_cache(tmp_path, registry, settings):
    specs = [spec_for(registry, "ups-raps", **settings)]
    (plain,) = runner(tmp_path / "a", cache=False).run(specs)
    (first,) = runner(tmp_path / "b").run(specs)
    (again,) = runner(tmp_path / "b", force=True).run(specs)
    assert without_times(plain) == without_times(first) == without_times(again)
    networks = [3, 3, 1] if settings.get("calibration__policy") == "cross" else [1, 1, 1]
    assert work(first) == [(count, 0) for count in networks]  # after the last round nobody asks the folds
    assert work(again) == [(0, count) for count in networks]
    assert all(each["work"]["saved_seconds"] > 0 for each in again["rounds"])


def test_methods_share_the_first_round_and_a_selector_repeats_nothing_before_it(tmp_path, registry):
    specs = [spec_for(registry, name) for name in ("supervised", "pl", "ups")]
    supervised, pl, ups = runner(tmp_path).run(specs)
    assert [work(each)[0] for each in (supervised, pl, ups)] == [(1, 0), (0, 1), (0, 1)]
    (other,) = runner(tmp_path).run([spec_for(registry, "ups", ups__tau_p=0.95)])
    assert work(other)[0] == (0, 1)
    (elsewhere,) = runner(tmp_path).run([spec_for(registry, "supervised", seed=1)])
    assert work(elsewhere) == [(1, 0)]


@pytest.mark.parametrize(
    "settings", [{"recipe__lr": 0.05}, {"recipe__epochs": 5}, {"recipe__dropout": 0.2}, {"recipe__augment": "none"}]
)
def test_another_recipe_is_another_network(tmp_path, registry, settings):
    runner(tmp_path).run([spec_for(registry, "supervised")])
    (other,) = runner(tmp_path).run([spec_for(registry, "supervised", **settings)])
    assert work(other) == [(1, 0)]


def test_a_broken_entry_is_trained_again(tmp_path, registry):
    (first,) = runner(tmp_path).run([spec_for(registry, "supervised")])
    (path,) = (tmp_path / "cache" / "networks").glob("*.safetensors")
    whole = path.read_bytes()
    flipped = bytes([*whole[:-1], whole[-1] ^ 1])
    for broken in (whole[:100], flipped, b"", b"nonsense" * 50):
        path.write_bytes(broken)
        with pytest.warns(BenchWarning, match="can't be read"):
            (again,) = runner(tmp_path, force=True).run([spec_for(registry, "supervised")])
        assert without_times(first) == without_times(again)
        assert work(again) == [(1, 0)]


def test_a_foreign_entry_is_not_loaded(tmp_path, registry):
    (first,) = runner(tmp_path).run([spec_for(registry, "supervised")])
    cache = Cache(tmp_path / "cache")
    (entry,) = cache.entries()
    cache.store("networks", entry.path.stem, {"fc.weight": torch.zeros(3)}, {"seconds": 1.0})
    with pytest.warns(BenchWarning, match="it is of something else"):
        (again,) = runner(tmp_path, force=True).run([spec_for(registry, "supervised")])
    assert without_times(first) == without_times(again)
    cache.store("checkpoints", entry.path.stem, {"fc.weight": torch.zeros(3)}, {"epoch": 2})
    entry.path.unlink()
    with pytest.warns(BenchWarning, match="it is of something else"):
        (again,) = runner(tmp_path, force=True).run([spec_for(registry, "supervised")])
    assert without_times(first) == without_times(again)


def flipped(content, place):
    """Bytes with one bit turned over, the bits counted from the beginning."""
    changed = bytearray(content)
    changed[place // 8] ^= 1 << place % 8
    return bytes(changed)


def test_no_bit_of_an_entry_can_turn_over_unnoticed(tmp_path):
    cache = Cache(tmp_path)
    tensors = {"weight": torch.arange(3, dtype=torch.float32), "mask": torch.tensor([True, False])}
    cache.store("networks", "key", tensors, {"seconds": 1.5, "epoch": 7})
    path = cache.path("networks", "key")
    whole, same = path.read_bytes(), 0
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for place in range(8 * len(whole)):
            path.write_bytes(flipped(whole, place))
            found = cache.load("networks", "key", lambda kept: kept)
            assert path.exists() == (found is not None)
            if found is not None:  # a bit of padding
                same += 1
                assert found.note == {"seconds": 1.5, "epoch": 7}
                assert found.tensors.keys() == tensors.keys()
                assert all(torch.equal(found.tensors[name], tensors[name]) for name in tensors)
    assert all(issubclass(each.category, BenchWarning) and "\n" not in str(each.message) for each in said)
    assert len(said) + same == 8 * len(whole)
    assert same < len(whole)


@pytest.mark.parametrize("kind", ["networks", "checkpoints"])
def test_an_entry_under_the_name_of_another_is_not_taken_for_it(tmp_path, kind):
    cache = Cache(tmp_path)
    for key in ("one", "other"):
        cache.store("networks", key, {"weight": torch.full((2,), float(len(key)))}, {})
    cache.path(kind, "one").parent.mkdir(exist_ok=True)
    cache.path("networks", "other").replace(cache.path(kind, "one"))
    with pytest.warns(BenchWarning, match="it is not what was stored there"):
        assert cache.load(kind, "one", lambda kept: kept) is None


@pytest.mark.parametrize(
    "content",
    [
        b"\xff" * 8 + b"{}",  # a header of 2^64 - 1 bytes
        (10**9).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"[]",
        (4).to_bytes(8, "little") + b"\xff\xfe{}",
        (40).to_bytes(8, "little") + b'{"__metadata__":{"note":"{","n":"1"}}   ',
    ],
)
def test_nonsense_is_no_entry(tmp_path, content):
    path = Cache(tmp_path).path("networks", "key")
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.warns(BenchWarning, match="can't be read"):
        assert Cache(tmp_path).load("networks", "key", lambda kept: kept) is None
    assert not path.exists()


@pytest.mark.parametrize("odd", ["a folder", "a pipe", "a link to nowhere", "a device"])
def test_whatever_stands_in_place_of_an_entry_is_moved_away_and_not_waited_for(tmp_path, odd):
    cache = Cache(tmp_path)
    path = cache.path("networks", "key")
    path.parent.mkdir()
    if odd == "a folder":
        (path / "inside").mkdir(parents=True)
    elif odd == "a pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("gone" if odd == "a link to nowhere" else "/dev/zero")
    with pytest.warns(BenchWarning, match=f"it is {odd}"):
        assert cache.load("networks", "key", lambda kept: kept) is None
    cache.store("networks", "key", {}, {"seconds": 2.0})
    assert cache.load("networks", "key", lambda kept: kept.note["seconds"]) == 2.0


def test_locks_that_can_not_be_held_stop_nothing(tmp_path):
    for name, what in (("a", "locks that are a file"), ("b", "a link to nowhere"), ("c", "a lock that is a folder")):
        locks = tmp_path / name / "locks"
        locks.parent.mkdir()
        if name == "a":
            locks.write_text(what)
        elif name == "b":
            locks.symlink_to("gone")
        else:
            (locks / "networks-key.lock").mkdir(parents=True)
        with Cache(tmp_path / name).lock("networks", "key"):
            pass


def test_savings_are_read_line_by_line(tmp_path):
    cache = Cache(tmp_path)
    lines = [b"networks 1.5", b"networks", b"\xff\xfe", b"networks nan", b"networks inf", b"networks -1", b"x 3", b""]
    (tmp_path / "saved.txt").write_bytes(b"\n".join(lines))
    cache.saved("networks", 2.0)
    cache.saved("features", 1.0)
    found = cache.savings()
    assert (found["networks"], found["features"]) == ([1.5, 2.0], [1.0])
    (tmp_path / "saved.txt").unlink()
    os.mkfifo(tmp_path / "saved.txt")
    cache.saved("networks", 2.0)
    assert not any(cache.savings().values())


class Interrupt(Listener):
    """Stops a run in the second epoch of its second round."""

    def epoch_finished(self, spec, progress):
        if progress.round == 1 and progress.epoch == 2:
            raise KeyboardInterrupt


@pytest.mark.parametrize("kind", ["networks", "checkpoints", "runs"])
def test_a_bit_that_turned_over_changes_no_record(tmp_path, registry, kind):
    """Of a network, of a training that was interrupted, and of a run that was."""
    specs = [spec_for(registry, "pl", loop__rounds=1, recipe__steps=3)]
    (expected,) = runner(tmp_path / "whole", cache=False).run(specs)
    with pytest.raises(KeyboardInterrupt):
        runner(tmp_path / "left", Interrupt(), every=0.0).run(specs)
    (path,) = (tmp_path / "left" / "cache" / kind).glob("*.safetensors")
    whole, draw = path.read_bytes(), random.Random(kind)
    header = 8 * (8 + int.from_bytes(whole[:8], "little"))
    places = [draw.randrange(header) for _ in range(5)] + [draw.randrange(8 * len(whole))]
    for number, place in enumerate(places):
        folder = shutil.copytree(tmp_path / "left", tmp_path / str(number))
        (folder / "cache" / kind / path.name).write_bytes(flipped(whole, place))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", BenchWarning)
            (record,) = runner(folder).run(specs)
        assert without_times(record) == without_times(expected)
        assert len([each for each in said if each.category is BenchWarning]) <= 1


def test_a_cache_that_is_no_folder_is_said_once_and_stops_nothing(tmp_path, registry):
    (tmp_path / "cache").write_text("a file")
    with pytest.warns(BenchWarning, match="nothing can be kept in the cache") as said:
        (record,) = runner(tmp_path, every=0.0).run([spec_for(registry, "pl")])
    assert record["status"] == "done"
    assert len(said) == 1


class StoppedError(Exception):
    """Someone pulled the plug."""


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("stop", [0, 1, 3])
def test_an_interrupted_training_goes_on_bit_for_bit(registry, tmp_path, stop, momentum):
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (30, 1, 8, 8), generator=generator, dtype=torch.uint8)
    positive = torch.nn.functional.one_hot(torch.arange(30) % 4, 4).bool()
    data = TrainingSet(images, torch.arange(len(images)), positive, torch.zeros_like(positive))
    recipe = Recipe(epochs=5, steps=7, batch_size=16, momentum=momentum)
    normalize = Normalizer(((0.5,), (0.25,)), CPU)

    def train(checkpoint=None, on_epoch=lambda _: None):
        network = make_network(registry, NetworkSpec("digits_cnn", 4, (1, 8, 8), 0.4), seed=3, device=CPU)
        augment = augmentation("cutout", flip=True)
        fit(network, data, recipe, normalize, augment=augment, seed=9, on_epoch=on_epoch, checkpoint=checkpoint)
        return network.state_dict()

    def pull_the_plug(epoch):
        if epoch == stop:
            raise StoppedError

    whole = train()
    cache = Cache(tmp_path, every=0.0)
    with pytest.raises(StoppedError):
        train(cache.checkpoint("key"), pull_the_plug)
    epochs = []
    resumed = train(cache.checkpoint("key"), epochs.append)
    assert epochs == list(range(stop + 1, 5))
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)


class Log(Listener):
    """Writes down which runs start, and sleeps after each epoch so that there is something to interrupt."""

    def __init__(self, path, pause=0.0):
        self._path, self._pause = path, pause

    def run_started(self, spec):
        with self._path.open("a") as file:
            file.write(f"{spec.run_id}\n")

    def epoch_finished(self, spec, progress):
        time.sleep(self._pause)


@pytest.fixture(scope="module")
def processes():
    """Processes that start fast: copies of one that has imported everything and used nothing."""
    context = multiprocessing.get_context("forkserver")
    modules = [
        "pseudobench.execution.runner",
        "pseudobench_vision.digits",
        "pseudobench_vision.networks",
        "scipy.optimize",
    ]
    context.set_forkserver_preload(modules)
    return context


def attempt(folder, log, pause):
    """What each of those processes does."""
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        at_work = runner(folder, Log(folder / log, pause), every=0.0)
        at_work.run(experiment(at_work.registry))


#: The last one has a state that its training carries from step to step, and views of the pool.
METHODS = ("supervised", "pl", "ups-raps", "freematch")


def experiment(registry):
    return [spec_for(registry, method, seed) for seed in (0, 1) for method in METHODS]


def test_runs_killed_at_any_moment_end_with_the_records_they_would_have_had(tmp_path, registry, processes):
    """Twenty kills at random times. An experiment that gets through in between is followed by the same anew."""
    expected = [without_times(each) for each in runner(tmp_path / "serial", cache=False).run(experiment(registry))]
    random.seed(0)
    kills = 0
    for place in range(20):
        folder = tmp_path / str(place)
        folder.mkdir()
        kills += kill_and_kill_again(processes, folder, 20 - kills)
        finished = {spec.run_id for spec in experiment(registry) if done(folder, spec.run_id)}
        records = runner(folder, Log(folder / "last.txt")).run(experiment(registry))
        assert [without_times(each) for each in records] == expected
        ran = (folder / "last.txt").read_text().split() if (folder / "last.txt").exists() else []
        assert finished.isdisjoint(ran)
        for kind in ("checkpoints", "runs"):
            assert not list((folder / "cache" / kind).glob("*.safetensors"))
        if kills == 20:
            break
    assert kills == 20


def kill_and_kill_again(processes, folder, times):
    """How often an experiment was killed, at most ``times``, before it got through."""
    rounds = [0]
    for kills in range(times):
        process = processes.Process(target=attempt, args=(folder, "log.txt", 0.03))
        process.start()
        process.join(random.uniform(0.3, 1.5))
        if not process.is_alive():
            return kills
        process.kill()
        process.join()
        records = Store(folder / "runs").records() if (folder / "runs").exists() else ()
        rounds.append(sum(len(record["rounds"]) for record in records))
        assert rounds == sorted(rounds)  # what was done stays done
    return times


def done(folder, run_id):
    record = Store(folder / "runs").load(run_id)
    return record is not None and record["status"] == "done"


def test_two_processes_on_one_folder_do_nothing_twice(tmp_path, registry, processes):
    specs = experiment(registry)
    both = [processes.Process(target=attempt, args=(tmp_path, "log.txt", 0.01)) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join(120)
        assert process.exitcode == 0
    started = (tmp_path / "log.txt").read_text().split()
    assert sorted(started) == sorted(spec.run_id for spec in specs)
    records = [Store(tmp_path / "runs").load(spec.run_id) for spec in specs]
    assert {record["status"] for record in records} == {"done"}
    first = [record["rounds"][0]["work"]["trained"] for record in records]
    assert sum(first) == 6  # for each seed one with all labels, one without those for calibration, and FreeMatch's
    expected = runner(tmp_path / "serial", cache=False).run(specs)
    assert [without_times(each) for each in records] == [without_times(each) for each in expected]


def test_the_command_shows_what_was_saved_and_prunes_the_oldest_first(bench, tmp_path, registry):
    first, second = spec_for(registry, "supervised"), spec_for(registry, "supervised", seed=1)
    runner(tmp_path).run([first, second])
    runner(tmp_path, force=True).run([first])
    shown = bench("cache")
    row = next(line for line in shown.out.splitlines() if "networks trained" in line)
    assert [cell.strip() for cell in row.split("│")[2:5:2]] == ["2", "1"]
    cache = Cache(tmp_path / "cache")
    older, newer = cache.entries()
    assert newer.used >= older.used
    assert bench("cache", "--prune", f"{newer.size}B").out.startswith("removed 1 entries")
    assert [entry.path for entry in cache.entries()] == [newer.path]
    bench("cache", "--prune", "0")
    assert not cache.entries()
    assert "--prune lots: a size, such as 500MB" in bench("cache", "--prune", "lots").err
