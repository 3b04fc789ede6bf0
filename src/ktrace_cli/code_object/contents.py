"""What a code object says about its kernels and markers: plain data."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from ktrace_cli.trace_file.layout import Kind

_RANGE_KINDS: Final = (Kind.RANGE, Kind.PUSH, Kind.START, Kind.PHASE)


@dataclass(frozen=True)
class Argument:
    """One entry of a kernel's `.args`."""

    name: str
    type_name: str
    offset: int
    size: int
    value_kind: str
    """by_value, global_buffer, …; hidden_… for those that the runtime adds."""

    @property
    def is_explicit(self) -> bool:
        """Whether the launcher passes it."""
        return not self.value_kind.startswith("hidden_")


@dataclass(frozen=True)
class Resources:
    """What a wave of the kernel needs. A number that the metadata does not tell is 0."""

    sgprs: int
    vgprs: int
    """Of both files together on targets with AGPRs."""
    agprs: int
    sgpr_spills: int
    vgpr_spills: int
    lds_bytes: int
    """Static; a launch may add to it."""
    scratch_bytes: int
    """Per lane."""
    max_workgroup_size: int
    kernarg_bytes: int
    wavefront_size: int


@dataclass(frozen=True)
class TraceArgument:
    """Where a launch puts the address of the trace buffer."""

    index: int
    """Among the explicit arguments, from 0."""
    offset: int
    """In the kernarg segment, in bytes."""


@dataclass(frozen=True)
class Annotation:
    """What the KERNEL note in a kernel's code says."""

    unit_key: int
    """Of the translation unit whose event ids the kernel writes."""
    abi_version: int
    record_format: int
    """layout.RecordFormat"""
    flags: int
    """layout.KernelFlag"""
    trace_argument: TraceArgument | None
    refusal: str
    """Why the kernel cannot be traced although it is annotated; "" if it can."""


@dataclass(frozen=True)
class Kernel:
    """One kernel of a code object."""

    name: str
    """`.name` of the metadata: mangled."""
    symbol: str
    """`.symbol` of the metadata: of the kernel descriptor."""
    code: range | None
    """Addresses of its instructions; None if its symbol is missing."""
    arguments: tuple[Argument, ...]
    resources: Resources
    annotation: Annotation | None

    @property
    def is_annotated(self) -> bool:
        """Whether a KERNEL note points into its code."""
        return self.annotation is not None


@dataclass(frozen=True)
class Event:
    """A named marker of the source; inlining and unrolling put it at several places."""

    unit_key: int
    id: int
    kind: int
    """layout.Kind"""
    name: str
    lane: str
    """"" is the wave's own."""
    file: str
    line: int
    pcs: tuple[int, ...]
    """Addresses of the marker's copies, ascending."""


@dataclass(frozen=True)
class Edge:
    """An arrow from one event to another, by their names."""

    unit_key: int
    source: str
    destination: str


def missing_ends(edge: Edge, events: Iterable[Event]) -> list[str]:
    """Return those names of an edge that no range of its unit has; a mark is no range."""
    names = {e.name for e in events if e.unit_key == edge.unit_key and e.kind in _RANGE_KINDS}
    return [name for name in dict.fromkeys((edge.source, edge.destination)) if name not in names]


@dataclass(frozen=True)
class CodeObject:
    """Everything that ktrace reads from one code object."""

    target: str
    """gfx942:sramecc+:xnack-"""
    is_loadable: bool
    """False for a relocatable object, which must be linked first."""
    kernels: tuple[Kernel, ...]
    """In the order of the metadata."""
    events: tuple[Event, ...]
    """By unit key, then id."""
    edges: tuple[Edge, ...]
    warnings: tuple[str, ...] = ()
    """What is unusual or refused, in words."""
    problems: tuple[str, ...] = ()
    """What is damaged and was left out, in words."""

    @cached_property
    def event_by_key(self) -> dict[tuple[int, int], Event]:
        """Events by (unit key, id)."""
        return {(event.unit_key, event.id): event for event in self.events}

    def kernel(self, name: str) -> Kernel | None:
        """Return the kernel with this `.name`."""
        return next((kernel for kernel in self.kernels if kernel.name == name), None)

    def events_in(self, kernel: Kernel) -> tuple[Event, ...]:
        """Return the events with a marker in the kernel's own code, with those `pcs` only."""
        code = kernel.code or range(0)
        begin = bisect_left(self._places, (code.start, 0))
        end = bisect_left(self._places, (max(code.stop, code.start), 0))
        return self._collect(self._places[begin:end])

    @cached_property
    def events_in_functions(self) -> tuple[Event, ...]:
        """The events with a marker outside every kernel: in functions that kernels call."""
        codes = sorted((k.code.start, k.code.stop) for k in self.kernels if k.code)
        outside = []
        for place in self._places:
            following = bisect_right(codes, (place[0], 1 << 64))
            if not any(stop > place[0] for _, stop in codes[max(0, following - 1) : following]):
                outside.append(place)
        return self._collect(outside)

    @cached_property
    def _places(self) -> list[tuple[int, int]]:
        """Address and index of the event of every marker, by address."""
        return sorted((pc, index) for index, event in enumerate(self.events) for pc in event.pcs)

    def _collect(self, places: list[tuple[int, int]]) -> tuple[Event, ...]:
        pcs_by_index: dict[int, list[int]] = {}
        for pc, index in places:
            pcs_by_index.setdefault(index, []).append(pc)
        return tuple(
            replace(self.events[index], pcs=tuple(pcs_by_index[index]))
            for index in sorted(pcs_by_index)
        )
