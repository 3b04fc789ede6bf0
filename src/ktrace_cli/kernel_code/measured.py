"""What a recording measured of the phases whose instructions are counted: plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ktrace_cli.kernel_code.inspection import PhaseMix
from ktrace_cli.kernel_code.phases import SEPARATOR


@dataclass(frozen=True)
class MeasuredTime:
    """All slices of one name in one kernel."""

    count: int
    mean: float
    self_share: float
    """Of the time of all waves, without what nests inside; above 1 where slices overlap."""
    unit: str
    """ns or cycles"""
    is_modelled: bool
    """The software device's clock is a model."""


Measured = Mapping[tuple[str, str], MeasuredTime]
"""By `.name` of the kernel and name of the phase."""


def find_time(measured: Measured, kernel: str, phase: PhaseMix) -> MeasuredTime | None:
    """Return the times of the innermost range of a phase; None where several may be meant."""
    if phase.is_ambiguous:
        return None
    return measured.get((kernel, phase.label.rpartition(SEPARATOR)[2]))
