"""What a record says of the machine that it was made on."""

from __future__ import annotations

import pytest

from pseudobench.base.machine import processor, processor_in

INTEL = """processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 143
model name\t: Intel(R) Xeon(R) Processor @ 2.80GHz

processor\t: 1
cpu family\t: 6
model\t\t: 143
model name\t: Intel(R) Xeon(R) Processor @ 2.80GHz
"""


def _epyc(family: int, model: int) -> str:
    return f"processor\t: 0\ncpu family\t: {family}\nmodel\t\t: {model}\nmodel name\t: AMD EPYC\nstepping\t: 1\n"


def test_generations_of_one_name_are_different_kinds() -> None:
    """Clouds call all of them AMD EPYC, and their last bits differ."""
    assert processor_in(_epyc(25, 1)) == "AMD EPYC (family 25, model 1)"
    assert processor_in(_epyc(26, 2)) == "AMD EPYC (family 26, model 2)"


@pytest.mark.parametrize(
    ("cpuinfo", "kind"),
    [
        (INTEL, "Intel(R) Xeon(R) Processor @ 2.80GHz (family 6, model 143)"),
        ("model name\t: Virtual CPU\n", "Virtual CPU"),
        ("processor\t: 0\nCPU architecture: 8\n", ""),  # ARM: no name at all
        ("", ""),
    ],
)
def test_kinds_are_told_by_what_linux_says(cpuinfo: str, kind: str) -> None:
    """Family and model where they are there."""
    assert processor_in(cpuinfo) == kind


def test_this_processor_is_told() -> None:
    """One line, whatever the machine."""
    assert "\n" not in processor()
