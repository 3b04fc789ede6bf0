"""What a summary of a recording holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ktrace_cli.analysis.coverage import Gaps, LaneUse
from ktrace_cli.analysis.grouping import By
from ktrace_cli.analysis.imbalance import Imbalance, LaunchTimes, Spread
from ktrace_cli.analysis.longest import LongestWave
from ktrace_cli.analysis.phase_times import Phase, UnitPhase
from ktrace_cli.analysis.phases import WAITS
from ktrace_cli.analysis.quality import Quality
from ktrace_cli.analysis.unfinished import UnfinishedDispatch
from ktrace_cli.model import ClockFit, Device, Process

NANOSECONDS = "ns"


@dataclass(frozen=True)
class Request:
    """What to find out."""

    by: By | None = None
    """Also tell phases apart by this."""
    waits: Sequence[str] = WAITS
    """Shell patterns: phases of these names are waits."""


@dataclass(frozen=True)
class Mark:
    """All moments of a kernel that have one name."""

    name: str
    count: int


@dataclass(frozen=True)
class KernelSummary:
    """What is known of all launches of one kernel."""

    name: str
    """Without return type and parameters."""
    signature: str
    mangled: str
    target: str
    dispatches: int
    waves: int
    """That were recorded and have a time."""
    wave_ns: int
    """Time of all waves, added up."""
    unfinished_waves: int
    """Of `waves`: had not ended; their time counts up to the last known one."""
    filtered_dispatches: int
    """Of `dispatches`: of which only some waves were wanted (--blocks, --waves, --xcc)."""
    words: int
    """That its waves recorded."""
    side_words: int
    """Of `words`: from partly active waves, in which an event costs more."""
    phases: tuple[Phase, ...]
    """Longest total first."""
    marks: tuple[Mark, ...]
    """Most frequent first."""
    launch_times: LaunchTimes | None
    imbalance: tuple[Imbalance, ...]
    """From XCDs to waves; () if no wave ended."""
    wave_starts: Spread | None
    """From the first wave's begin to the last one's, per launch."""
    tail: Spread | None
    """From the median wave's end to the last one's, per launch."""
    longest_wave: LongestWave | None
    gaps: Gaps | None
    """None where only a window of time is looked at, as is the longest wave; then no lane is told.
    """
    lanes: tuple[LaneUse, ...]
    units: tuple[UnitPhase, ...]
    """Its phases in each unit of Summary.by, longest total first."""


@dataclass(frozen=True)
class Summary:
    """Kernels in order of their wave time, longest first."""

    kernels: tuple[KernelSummary, ...]
    launches: int | None
    """Of any kernel, annotated or not; None if the recording was not closed: not known."""
    process: Process | None
    losses: dict[str, int]
    devices: tuple[Device, ...]
    clocks: tuple[ClockFit, ...]
    unfinished: tuple[UnfinishedDispatch, ...]
    unit: str
    """Of times: `ns`, or `cycles` of the core clock."""
    request: Request
    is_window: bool
    """Slices outside of a window of time are left out: what is between others, or nests in them, is
    not known."""
    unit_columns: tuple[str, ...]
    """What names a unit of `request.by`."""
    quality: Quality
