"""All that a format module finds in a buffer, for the builder."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ktrace_cli.foreign.events import EventReader
from ktrace_cli.foreign.naming import Naming
from ktrace_cli.model import ClockFit, Columns, Device, Process
from ktrace_cli.timeline.host_clock import HostClock
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.mapping import Bytes


@dataclass(frozen=True)
class Lines:
    """One line from ticks to nanoseconds for all waves, or one for each."""

    ticks: Ints
    ns: Ints
    slope: Columns
    """Nanoseconds per tick."""


@dataclass(frozen=True)
class Launches:
    """The launches that waves belong to."""

    of_wave: Ints
    streams: Ints
    """Of each launch."""
    launched: int = 0
    """How many launches there were, with or without waves; 0: not known."""
    kernels: tuple[str, ...] = ()
    """Of each launch, where a recording tells; "" where it does not. Empty: of none."""
    records: Columns | None = None
    """layout.DISPATCH of each launch, as far as `kernels` names one."""


@dataclass(frozen=True)
class TimeBase:
    """What times are."""

    clock: str
    """Which clock times count."""
    unit: str = "ns"
    no_cycles: str = ""
    """Why times cannot be told in cycles of a core clock; "" if they can."""


@dataclass(frozen=True)
class Found:
    """All that a format module has found in a buffer."""

    waves: Columns
    """model.WAVE in any order: slot, block, wave, place, flags and counts of what is missing;
    begin and end where the buffer tells them, else 0."""
    launches: Launches
    read: EventReader
    device: Device
    naming: Naming
    lines: Lines | None
    """None: one line of a nanosecond a tick, from the first tick on."""
    tick_ns: float = 1.0
    clocks: tuple[ClockFit, ...] = ()
    is_paired_by_id: bool = False
    """Whether an end (LONG_END) ends the last begin (LONG_BEGIN) of the same id, not of any."""
    lanes_per_wave: int = layout.WAVE_SIZE
    base: TimeBase = field(default_factory=lambda: TimeBase("a clock of its own"))
    losses: Counter[str] = field(default_factory=Counter)
    data: Bytes = b""
    host: HostClock | None = None
    """What ties the clock to the host's; None: nothing does."""
    process: Process | None = None
