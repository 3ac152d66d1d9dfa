"""What determines a run's result outside its choices: code of plugins, the user's own data, the harness's numbers."""

from __future__ import annotations

from pseudobench.base.source_code import code_of_class, code_of_module
from pseudobench.contracts.kinds import STAGE_KINDS
from pseudobench.contracts.protocols import DatasetSource
from pseudobench.contracts.run_spec import RESULTS, RunSpec
from pseudobench.registry.components import Registry


def sources_of(
    registry: Registry, spec: RunSpec, source: DatasetSource, fingerprints: dict[str, str]
) -> dict[str, str]:
    """Hashes of the code of a run's components, dataset and backbones, and of the user's own data.

    ``fingerprints`` holds the hashes of data by dataset, and is added to.
    """
    used = [registry.get(STAGE_KINDS[stage].name, name) for stage, name in spec.stages.items()]
    found = {component.name: code_of_class(component) for component in (*used, type(source))}
    for entry in registry.of("backbones"):
        if entry.name in spec.backbones:
            found[entry.name] = code_of_module(entry.component.module)
    fingerprint = getattr(source, "fingerprint", None)
    if fingerprint is not None:
        if spec.dataset not in fingerprints:
            fingerprints[spec.dataset] = fingerprint()
        found["data"] = fingerprints[spec.dataset]
    return {"pseudobench": str(RESULTS), **found}
