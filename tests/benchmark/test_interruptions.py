"""Trainings and runs that are stopped or killed go on where they were, bit for bit; two processes share a folder."""

from __future__ import annotations

import multiprocessing
import random
import time
import warnings

import pytest
import torch
from cached_runs import runner, spec_for

from pseudobench.contracts.events import Listener
from pseudobench.contracts.settings import Recipe
from pseudobench.learning.augmentation import augmentation
from pseudobench.learning.networks import NetworkSpec, make_network
from pseudobench.learning.pool import Normalizer
from pseudobench.learning.training_loop import fit
from pseudobench.learning.training_set import TrainingSet
from pseudobench.storage.cache import Cache
from pseudobench.storage.records import Store, without_times

CPU = torch.device("cpu")


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
METHODS = ("supervised", "pl", "ups-raps-held-out", "freematch")


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
