"""What is kept of a run to compare it with others: plain data, small whatever the run's size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

WAVE_ROW, LAUNCH_ROW = "(wave)", "(launch)"
LEVELS = ("launch", "workgroup", "wave")
"""What a sample's units can be, from the most independent of each other to the least."""
DIGITS = 1
"""Behind the point of the times per wave: less than any clock tells."""
MOST_UNITS = 1_000
"""Of one kernel, shape and level of a run: of more than that, so many are drawn."""


@dataclass(frozen=True, order=True)
class PhaseId:
    """What slices of one phase have in common."""

    name: str
    kind: str
    """range, push, start or phase; wave or launch for what is measured without markers."""
    lane: str
    """As in the source, else a token's name; "" is the waves' own."""

    @property
    def is_marked(self) -> bool:
        """Whether markers in the source measure it."""
        return self.kind not in ("wave", "launch")


WAVE_TIME = PhaseId(WAVE_ROW, "wave", "")
"""The whole time of a wave, also outside of phases."""
LAUNCH_TIME = PhaseId(LAUNCH_ROW, "launch", "")
"""From the begin of a launch's first wave to the end of its last one."""


@dataclass(frozen=True, order=True)
class Shape:
    """How a kernel was launched."""

    grid: tuple[int, int, int]
    """Workgroups."""
    block: tuple[int, int, int]
    """Work-items."""
    is_partial: bool = False
    """Only some of its waves were recorded, as asked for."""

    def __str__(self) -> str:
        """Return it in words."""
        grid, block = ("x".join(map(str, size)) for size in (self.grid, self.block))
        return f"grid {grid}, block {block}{', recorded in part' if self.is_partial else ''}"


@dataclass(frozen=True)
class SourcePlace:
    """Where a marker is."""

    file: str
    line: int


@dataclass(frozen=True)
class PhaseProfile:
    """A phase of a kernel in a run."""

    id: PhaseId
    count: int
    total_ns: int
    self_ns: int
    """Of `total_ns`: without what nests directly inside."""
    median_ns: float
    """Of one occurrence."""
    values: Mapping[str, Floats] = field(compare=False)
    """For each level the time in the phase per wave, in each unit of the sample."""


@dataclass(frozen=True)
class KernelProfile:
    """All launches of one kernel that have one shape, in a run."""

    name: str
    """Without return type and parameters."""
    signature: str
    target: str
    """Of its code object; "" if the recording has lost it."""
    shape: Shape
    launches: int
    waves: int
    units: Mapping[str, int]
    """How many there were of each level that values are kept of."""
    sampled: Mapping[str, int]
    """Of how many of them values are kept."""
    table: Mapping[PhaseId, SourcePlace]
    """Phases that are in its code, whether they ran or not."""
    phases: Mapping[PhaseId, PhaseProfile]
    """Those that ran, the wave and the launch."""

    def values(self, phase: PhaseId, level: str) -> Floats:
        """Return a phase's time per wave in each unit of the sample: 0 where it did not run."""
        found = self.phases.get(phase)
        if found is not None and level in found.values:
            return found.values[level]
        return np.zeros(self.sampled.get(level, 0))


@dataclass(frozen=True)
class DeviceProfile:
    """A device that ran kernels."""

    target: str
    name: str
    compute_units: int
    is_modelled: bool

    def __str__(self) -> str:
        """Return it in words."""
        units = f", {self.compute_units} compute units" if self.compute_units else ""
        return f"{self.target} ({self.name}{units})"


@dataclass(frozen=True)
class RunProfile:
    """One recording."""

    name: str
    """Of its file; as the user wrote it, unless it is from a baseline."""
    unit: str
    """Of times: ns or cycles."""
    tick: float
    """Of the slowest clock that times depend on, in that unit."""
    devices: tuple[DeviceProfile, ...]
    losses: Mapping[str, int]
    kernels: tuple[KernelProfile, ...]

    @property
    def is_modelled(self) -> bool:
        """Whether any of its times are modelled, not measured."""
        return any(device.is_modelled for device in self.devices)


def joined(parts: Sequence[Floats]) -> Floats:
    """Put samples one behind the other."""
    empty: list[NDArray[Any]] = [np.zeros(0)]
    return np.asarray(np.concatenate([*empty, *parts]), np.float64)
