"""What a recording holds, as records: plain data that knows no file, no clock and no name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import DispatchFlag
from ktrace_cli.trace_file.mapping import Bytes


@dataclass(frozen=True)
class ProcessRecord:
    """The process that was recorded; its three clocks were read at one moment."""

    pid: int
    parent_pid: int
    host: str
    directory: str
    executable: str
    arguments: tuple[str, ...]
    boottime_ns: int
    monotonic_ns: int
    realtime_ns: int


@dataclass(frozen=True)
class DeviceRecord:
    """A device of the process. A number of 0 is not known."""

    device: int
    """HIP device index."""
    target: str
    """gfx942:sramecc+:xnack-"""
    name: str
    flags: int
    """layout.DeviceFlag"""
    realtime_hz: int
    compute_units: int
    xcc_count: int
    core_khz: int
    uuid: bytes

    @property
    def is_software(self) -> bool:
        """Whether times are modelled, not measured."""
        return bool(self.flags & layout.DeviceFlag.SOFTWARE)


@dataclass(frozen=True)
class CodeObjectRecord:
    """An annotated code object, whole."""

    code_object: int
    sha256: str
    """In hexadecimal; it was compared with the image."""
    image: bytes = field(repr=False)


@dataclass(frozen=True)
class KernelRecord:
    """A kernel that was launched with a trace buffer."""

    kernel: int
    code_object: int
    """Index of a CodeObjectRecord, which damage may have lost."""
    name: str
    """`.name` of the metadata: mangled."""
    symbol: str
    """`.symbol` of the metadata."""
    record_format: int
    """layout.RecordFormat, or a number that this ktrace does not know."""
    kernarg_offset: int
    unit_key: int


@dataclass(frozen=True)
class ForeignBufferRecord:
    """A copy of another tool's buffer, as far as the device had written to it."""

    record: np.void
    """layout.FOREIGN_BUFFER"""
    data: memoryview = field(repr=False)

    @property
    def number(self) -> int:
        """Number of the copy, from 1."""
        return int(self.record["number"])


@dataclass(frozen=True)
class ForeignRecords:
    """What other tools' in-kernel tracers left in a process."""

    buffers: tuple[ForeignBufferRecord, ...] = ()
    """In file order."""
    launches: tuple[np.void, ...] = ()
    """layout.FOREIGN_LAUNCH of those that wrote to these, in file order."""
    names: tuple[str, ...] = ()
    """JSON; a later one knows more."""


@dataclass(frozen=True)
class DispatchRecord:
    """One traced launch. Its arrays are read-only views of the file, made on access."""

    record: np.void
    """layout.DISPATCH. `kernel` and `device` may name records that damage has lost."""
    payload: memoryview = field(repr=False)

    @property
    def number(self) -> int:
        """Number of the traced launch in its process, from 1."""
        return int(self.record["dispatch"])

    @property
    def kernel(self) -> int:
        """Index into Recording.kernels."""
        return int(self.record["kernel"])

    @property
    def device(self) -> int:
        """HIP device index, into Recording.devices."""
        return int(self.record["device"])

    @property
    def is_unfinished(self) -> bool:
        """Whether it was still running when this was written: another record may follow."""
        return bool(self.record["flags"] & DispatchFlag.UNFINISHED)

    @property
    def is_ring(self) -> bool:
        """Whether its waves kept their last main words."""
        return bool(self.record["flags"] & DispatchFlag.RING)

    @property
    def headers(self) -> NDArray[Any]:
        """layout.WAVE_HEADER, shape (waves,), in slot order."""
        return np.frombuffer(
            self.payload, layout.WAVE_HEADER, int(self.record["waves"]), layout.DISPATCH.itemsize
        )

    @property
    def extents(self) -> NDArray[Any]:
        """layout.WAVE_EXTENT, shape (waves,): slot and number of words of each header's wave."""
        waves = int(self.record["waves"])
        offset = layout.DISPATCH.itemsize + waves * layout.WAVE_HEADER.itemsize
        return np.frombuffer(self.payload, layout.WAVE_EXTENT, waves, offset)

    @property
    def words(self) -> NDArray[Any]:
        """layout.WORD of all waves: each one's main words, then its side words, by address.

        Wave i begins at the sum of `main_words + side_words` of the extents before it.
        """
        waves = int(self.record["waves"])
        offset = layout.DISPATCH.itemsize + waves * (
            layout.WAVE_HEADER.itemsize + layout.WAVE_EXTENT.itemsize
        )
        return np.frombuffer(self.payload, layout.WORD, -1, offset)


@dataclass(frozen=True)
class LossRecord:
    """Launches or code objects that are not in the file."""

    reason: int
    """layout.LossReason, or a number that this ktrace does not know."""
    count: int
    kernel: str
    """Its name, or ""."""
    explanation: str


@dataclass(frozen=True)
class Damage:
    """What of the file could not be read. All counts; the names are those of model.Losses."""

    torn_bytes: int = 0
    skipped_bytes: int = 0
    damaged_chunks: int = 0
    missing_chunks: int = 0
    unknown_chunks: int = 0
    not_closed: int = 0
    unreadable_dispatches: int = 0

    def counted(self) -> dict[str, int]:
        """Return the counts above 0 by name."""
        return {f.name: count for f in fields(self) if (count := getattr(self, f.name))}


@dataclass(frozen=True)
class Recording:
    """Everything of a recording file that could be read."""

    path: Path
    version: tuple[int, int]
    process: ProcessRecord | None
    """None if its chunk was lost."""
    devices: Mapping[int, DeviceRecord]
    """By HIP device index."""
    code_objects: Mapping[int, CodeObjectRecord]
    """By index in this file."""
    kernels: Mapping[int, KernelRecord]
    """By index in this file."""
    dispatches: tuple[DispatchRecord, ...]
    """In order of their number."""
    clocks: NDArray[Any]
    """layout.CLOCK, in file order."""
    losses: tuple[LossRecord, ...]
    end: np.void | None
    """layout.END; None if the recording was not closed."""
    damage: Damage
    data: Bytes = field(repr=False)
    """All of the file, of which the dispatches are views."""
    foreign: ForeignRecords = field(default_factory=ForeignRecords)


def empty_recording(path: Path) -> Recording:
    """Return what a file has of our records that is none of our recordings: nothing."""
    return Recording(
        path=path,
        version=(0, 0),
        process=None,
        devices={},
        code_objects={},
        kernels={},
        dispatches=(),
        clocks=np.zeros(0, layout.CLOCK),
        losses=(),
        end=None,
        damage=Damage(),
        data=b"",
    )
