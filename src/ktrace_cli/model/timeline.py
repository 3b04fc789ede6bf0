"""Everything that one recording says: small tables as they are, large ones part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ktrace_cli.model.columns import (
    FLOW,
    INSTANT,
    NONE,
    SLICE,
    VALUE,
    Columns,
    Flags,
)
from ktrace_cli.model.losses import Losses


@dataclass(frozen=True)
class Kernel:
    """A kernel that was launched."""

    name: str
    """Demangled, without the trailing ktrace::sink parameter."""
    mangled: str
    """`.name` of the metadata, as HIP knows it."""
    target: str
    """Target id of its code object: gfx942:sramecc+:xnack-."""
    code_object: str
    """SHA-256 of its code object, in hexadecimal; "" if the recording has lost it."""


@dataclass(frozen=True)
class Event:
    """A named marker in the source."""

    name: str
    kind: int  # layout.Kind
    lane: str
    file: str
    line: int
    kernel: int  # Timeline.kernels
    unit: int  # low half of the key of the translation unit that numbered it


@dataclass(frozen=True)
class Edge:
    """An arrow from each occurrence of one event to the same occurrence of another."""

    source: str
    destination: str
    unit: int
    """Both ends are events of this unit: the low half of its key."""
    kernels: frozenset[int]
    """Rows of Timeline.kernels in which it holds."""
    is_by_time: bool = False
    """Whether occurrences in a workgroup count in order of time, not wave by wave."""


@dataclass(frozen=True)
class Device:
    """A device that ran a traced kernel."""

    device: int
    target: str
    name: str
    is_software: bool
    compute_units: int
    xcc_count: int
    realtime_hz: int


@dataclass(frozen=True)
class Process:
    """The process that was recorded. On the software device ids and calendar clocks are 0."""

    pid: int
    parent_pid: int
    host: str
    directory: str
    arguments: tuple[str, ...]
    boottime_ns: int
    monotonic_ns: int
    realtime_ns: int


@dataclass(frozen=True)
class ClockFit:
    """How well one device's clock was tied to the host's."""

    device: int
    method: str
    """layout.ClockMethod in lower case: software, hsa, kfd or bounds."""
    core_hz: float
    """Mean rate of the core clock over all waves; 0 if no wave tells."""
    residual_ns: float
    """Largest distance of a wave's anchors from the fitted line."""
    residual_by_xcc: tuple[tuple[int, float], ...] = ()
    """The same for each XCC, in order of their numbers: each has lines of its own."""
    skew_by_xcc: tuple[tuple[int, float], ...] = ()
    """How far the core clock of each XCC is ahead of that of the lowest one, in nanoseconds, in the
    middle of the recording: what the lines take out."""


@dataclass(frozen=True)
class Part:
    """All that some waves recorded: those of whole workgroups."""

    wave_rows: Columns
    """Rows of Timeline.waves, ascending."""
    slices: Columns
    """SLICE, by wave, lane, begin; a parent before its children."""
    instants: Columns
    """INSTANT, by wave, then time."""
    values: Columns
    """VALUE"""
    flows: Columns
    """FLOW: rows of `slices`."""


PartSource = Callable[[Flags | None], Iterator[Part]]
"""Decodes the parts anew. Given which rows of Timeline.waves are wanted, it may leave out parts
that have none of them."""


@dataclass(frozen=True)
class Timeline:
    """Everything one recording says, decoded. What grows with each event comes in parts."""

    process: Process | None
    devices: tuple[Device, ...]
    kernels: tuple[Kernel, ...]
    events: tuple[Event, ...]
    lanes: tuple[str, ...]
    edges: tuple[Edge, ...]
    dispatches: Columns  # DISPATCH, in launch order
    waves: Columns  # WAVE, by dispatch, then workgroup in order of launch, then wave
    source: PartSource
    clocks: tuple[ClockFit, ...]
    losses: Losses
    launches: int
    """Launches of any kernel that the interposer saw; 0 if the recording was not closed."""
    zero_ns: int = 0
    """When the first wave of the whole recording began, whatever is selected of it: the time that
    all shown times and those of a window count from."""
    is_window: bool = False
    """Only what lies in some time was selected: parts have less than `slices` and `instants` of
    waves say, and a slice may have lost what nests in it."""
    unit: str = "ns"
    """What `*_ns` columns count: `ns`, or `cycles` of the core clock (timeline/cycles.py)."""
    own_clock: str = ""
    """Which clock times count, where nothing ties it to the host's; "" if they are the host's."""
    no_cycles: str = ""
    """Why times cannot be told in cycles of the core clock; "" if they can."""

    def parts(self) -> Iterator[Part]:
        """Decode all waves, some at a time: memory is bounded whatever the recording's size.

        The same rows come in the same order each time.
        """
        return self.source(None)

    @cached_property
    def whole(self) -> Part:
        """All parts as one: for recordings that are known to be small."""
        return join_parts(list(self.parts()))

    @property
    def slices(self) -> Columns:
        """SLICE of the whole."""
        return self.whole.slices

    @property
    def instants(self) -> Columns:
        """INSTANT of the whole."""
        return self.whole.instants

    @property
    def values(self) -> Columns:
        """VALUE of the whole."""
        return self.whole.values

    @property
    def flows(self) -> Columns:
        """FLOW of the whole."""
        return self.whole.flows


def join_parts(parts: list[Part]) -> Part:
    """Put parts one behind the other; rows that name rows of their part name those of the whole."""
    slices = _joined(SLICE, [part.slices for part in parts])
    instants = _joined(INSTANT, [part.instants for part in parts])
    flows = _joined(FLOW, [part.flows for part in parts])
    slice_at = instant_at = flow_at = value_at = 0
    for part in parts:
        own = slices[slice_at : slice_at + len(part.slices)]
        own["parent"][own["parent"] != NONE] += slice_at
        own["first_value"] += value_at
        instants["first_value"][instant_at : instant_at + len(part.instants)] += value_at
        for end in ("source", "destination"):
            flows[end][flow_at : flow_at + len(part.flows)] += slice_at
        slice_at += len(part.slices)
        instant_at += len(part.instants)
        flow_at += len(part.flows)
        value_at += len(part.values)
    return Part(
        wave_rows=_joined(np.dtype("<i8"), [part.wave_rows for part in parts]),
        slices=slices,
        instants=instants,
        values=_joined(VALUE, [part.values for part in parts]),
        flows=flows,
    )


def _joined(dtype: np.dtype[Any], columns: list[Columns]) -> Columns:
    return np.concatenate([np.zeros(0, dtype), *columns])
