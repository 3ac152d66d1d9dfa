"""A runner for tests: on the CPU, with everything in one folder."""

from __future__ import annotations

from pseudobench.contracts.events import Listener
from pseudobench.contracts.executing import RunnerConfig
from pseudobench.execution.runner import Runner


def make_runner(folder, registry, plugins, listener=None, executor=None, **config):
    settings = {"results": folder, "data": folder, "device": "cpu", **config}
    return Runner(RunnerConfig(**settings), registry, plugins, listener or Listener(), executor)
