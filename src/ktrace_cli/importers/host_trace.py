"""What another tool recorded, as columns: calls, kernels and copies on tracks; repairs as counts.

Times are integer nanoseconds of the clock that the trace names. NONE (-1) means "no such row".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum
from pathlib import Path

import numpy as np

from ktrace_cli.model import NONE, Columns
from ktrace_cli.model.counts import count_of, counted, sentences


class Clock(Enum):
    """What a trace's times count from; the value says it in words."""

    BOOTTIME = "CLOCK_BOOTTIME"
    REALTIME = "CLOCK_REALTIME"
    UNKNOWN = "a clock that it does not name"


class Kind(IntEnum):
    """What a slice shows."""

    CALL = 0  # something that a thread of the host did
    KERNEL = 1
    COPY = 2  # memory moved or set by a device
    SPAN = 3  # something that a device's track is divided into, such as a user's annotation
    MARK = 4  # a moment: it ends when it begins


HOST_SLICE = np.dtype(
    [
        ("track", "<i4"),  # HostTrace.tracks
        ("name", "<i4"),  # HostTrace.strings
        ("begin_ns", "<i8"),
        ("end_ns", "<i8"),
        ("correlation", "<i8"),  # of a call and of what it launched; NONE if not known
        ("kind", "<u1"),  # Kind
    ]
)

HOST_FLOW = np.dtype([("source", "<i8"), ("destination", "<i8")])  # HostTrace.slices


@dataclass(frozen=True)
class HostProcess:
    """A process of the host."""

    pid: int
    """0 if it is not known."""
    name: str
    host: str = ""
    """"" if it is not known."""


@dataclass(frozen=True)
class HostTrack:
    """A row of slices: a thread, or a queue of a device."""

    process: int
    """Row of HostTrace.processes."""
    name: str
    device: str = ""
    """What the device is called; "" for what happens on the host."""
    thread: int = 0
    """Thread id on the host; 0 if it is none."""
    target: str = ""
    """Of the device: gfx950; "" if it is not known."""


@dataclass(frozen=True)
class Argument:
    """One thing that is told about some slices."""

    name: str
    rows: Columns
    """Of HostTrace.slices."""
    values: Columns
    """int64, float64, or rows of HostTrace.strings where `is_text`."""
    is_text: bool = False


@dataclass(frozen=True)
class FileRepairs:
    """What any file of rocprofv3 or PyTorch may get wrong, whatever is in it."""

    malformed_rows: int = count_of(
        "row cannot be read and is left out", "rows cannot be read and are left out"
    )
    unescaped_quotes: int = count_of(
        "name has quotes that are not escaped: taken as part of it",
        "names have quotes that are not escaped: taken as part of them",
    )
    invalid_utf8: int = count_of(
        "byte is no UTF-8 and is shown as \N{REPLACEMENT CHARACTER}",
        "bytes are no UTF-8 and are shown as \N{REPLACEMENT CHARACTER}",
    )
    json_numbers: int = count_of(
        "number that JSON does not have (NaN, Infinity) is read as none",
        "numbers that JSON does not have (NaN, Infinity) are read as none",
    )
    json_commas: int = count_of(
        "comma with nothing behind it is ignored", "commas with nothing behind them are ignored"
    )
    json_controls: int = count_of(
        "control character in a text is not escaped: taken as part of it",
        "control characters in texts are not escaped: taken as part of them",
    )
    cut_off: int = count_of(
        "file ends in the middle: it is read up to its last whole record",
        "files end in the middle: they are read up to their last whole record",
    )


@dataclass(frozen=True)
class Repairs(FileRepairs):
    """What of a file is missing, repaired or assumed. All counts; those above 0 are reported."""

    no_times: int = count_of(
        "row has no time and is left out", "rows have no time and are left out"
    )
    swapped_times: int = count_of(
        "row ends before it begins: its times are exchanged",
        "rows end before they begin: their times are exchanged",
    )
    unclosed: int = count_of(
        "slice has no end: it is shown as a mark", "slices have no end: they are shown as marks"
    )
    stray_ends: int = count_of(
        "end has no begin and is left out", "ends have no begin and are left out"
    )
    uncut_kernels: int = count_of(
        "kernel was cut where it overlaps another: its own times are shown",
        "kernels were cut where they overlap others: their own times are shown",
    )
    doubled_registers: int = count_of(
        "kernel of gfx950 has half of its VGPR count in the file: shown doubled",
        "kernels of gfx950 have half of their VGPR count in the file: shown doubled",
    )
    unknown_devices: int = count_of(
        "row names a device that no agent table tells of: its registers are shown as they are",
        "rows name devices that no agent table tells of: their registers are shown as they are",
    )
    unknown_names: int = count_of(
        "row has no name in the file: it is called by its number",
        "rows have no name in the file: they are called by their numbers",
    )
    loose_flows: int = count_of(
        "arrow has one end only and is left out", "arrows have one end only and are left out"
    )
    recorder_losses: int = count_of(
        "piece did not fit the recorder's buffer and is not in the file",
        "pieces did not fit the recorder's buffer and are not in the file",
    )
    not_shown: int = count_of(
        "record is of a kind that is not shown", "records are of kinds that are not shown"
    )

    def counted(self) -> dict[str, int]:
        """Return the counts above 0."""
        return counted(self)

    def sentences(self) -> list[str]:
        """Return one line of words for each count above 0."""
        return sentences(self)


@dataclass(frozen=True)
class HostTrace:
    """Everything that one file, or one folder of files of one process, says."""

    path: Path
    format: str
    """In words: `rocprofv3 CSV`."""
    clock: Clock
    processes: tuple[HostProcess, ...]
    tracks: tuple[HostTrack, ...]
    strings: tuple[str, ...]
    slices: Columns
    """HOST_SLICE, by begin; at equal begins the longer first."""
    arguments: tuple[Argument, ...]
    flows: Columns
    """HOST_FLOW"""
    repairs: Repairs
    why_unknown: str = "no baseTimeNanoseconds"
    """What says that the clock is not known."""
    notes: tuple[str, ...] = ()
    """What else the user should know: sentences."""

    def name_of(self, row: int) -> str:
        """Return the name of a slice."""
        return self.strings[int(self.slices["name"][row])]

    @property
    def kernels(self) -> Columns:
        """Rows of the slices that are kernels, in order of their begin."""
        return np.flatnonzero(self.slices["kind"] == Kind.KERNEL)


def no_slices(count: int = 0) -> Columns:
    """Return rows of HOST_SLICE without a correlation."""
    slices = np.zeros(count, HOST_SLICE)
    slices["correlation"] = NONE
    return slices
