"""In which phase each instruction of a kernel lies: what is open is carried along the branches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from ktrace_cli.code_object.contents import CodeObject, Event, Kernel
from ktrace_cli.kernel_code.control_flow import (
    branch_target,
    is_unknown_jump,
    spread,
    successors,
)
from ktrace_cli.kernel_code.instructions import InstructionClass
from ktrace_cli.kernel_code.machine_code import MachineCode
from ktrace_cli.kernel_code.marker_code import WAVE, MarkerBlock, find_marker_blocks
from ktrace_cli.kernel_code.scopes import (
    NOTHING_OPEN,
    TOO_MANY,
    Stacks,
    Starts,
    after_marker,
    after_start,
    after_stop,
    join_stacks,
    nothing_started,
    path_of,
    surely_open,
)
from ktrace_cli.trace_file.layout import Kind

SEPARATOR: Final = " > "
_NAMED: Final = (
    Kind.RANGE, Kind.PUSH, Kind.START, Kind.PHASE, Kind.MARK, Kind.GROUP, Kind.LONG_END,
)  # fmt: skip
_PADDING: Final = (InstructionClass.S_NOP, InstructionClass.OTHER)
_NAME_BY_KIND: Final = {
    WAVE: "wave",
    int(Kind.STOP): "stop",
    int(Kind.POP): "pop",
    int(Kind.PHASE_END): "phase end",
    int(Kind.VALUE): "value",
    int(Kind.ANCHOR): "anchor",
}
# In instructions: how far before a STOP the branch lies that skips it where nothing was started,
# and how far a value lies before the event that it belongs to.
_GUARD_REACH: Final = 24
_VALUE_REACH: Final = 6


@dataclass(frozen=True)
class Place:
    """Where an instruction lies."""

    path: tuple[str, ...]
    """Names of what is open on the wave's own lane, outermost first; () outside of everything."""
    others: tuple[tuple[str, ...], ...] = ()
    """The other paths that are possible here; not empty: it is ambiguous."""

    @property
    def is_ambiguous(self) -> bool:
        """Whether control comes here with different things open."""
        return bool(self.others)

    @property
    def label(self) -> str:
        """`mma > k_tile`; "" outside of everything; where it is ambiguous, all that may be."""
        if not self.others:
            return SEPARATOR.join(self.path)
        paths = sorted({self.path, *self.others})
        return " or ".join(SEPARATOR.join(path) or "outside" for path in paths)


@dataclass(frozen=True)
class Marker:
    """All blocks of one event in a kernel, or of a kind that names no event."""

    name: str
    """Of the event; else `stop`, `pop`, `phase end`, `value`, `anchor`, `unknown`, or `wave` for
    what begins and ends a wave's record."""
    kind: str
    """range, push, start, phase, mark or group; "" for those that name no event."""
    blocks: tuple[MarkerBlock, ...]


@dataclass(frozen=True)
class PhaseMap:
    """The phases of one kernel, by address."""

    place_by_address: Mapping[int, Place]
    """Of the instructions that control can reach, without those of markers."""
    open_by_address: Mapping[int, tuple[str, ...]]
    """Names of what KTRACE_START surely began and nothing has stopped yet."""
    marker_by_address: Mapping[int, str]
    """Names of the markers that instructions belong to, slow paths too."""
    slow: frozenset[int]
    """Addresses of the markers' slow paths."""
    markers: tuple[Marker, ...]
    unreached: tuple[int, ...]
    """Addresses in the kernel that no control flow leads to, without what fills gaps."""
    unknown_jumps: tuple[int, ...]
    """Addresses of jumps of which nothing tells where they go."""
    unrecognized: tuple[str, ...]
    """Events whose instructions were not found; they begin at the address of their note."""

    def phase_at(self, address: int) -> str:
        """Return `mma > k_tile`; "" outside of all phases and for instructions of markers."""
        place = self.place_by_address.get(address)
        return place.label if place else ""

    def is_ambiguous(self, address: int) -> bool:
        """Return whether the phase at an address depends on how control came there."""
        place = self.place_by_address.get(address)
        return place is not None and place.is_ambiguous


def map_phases(code: MachineCode, code_object: CodeObject, kernel: Kernel) -> PhaseMap:
    """Find the phase of each instruction of a kernel; one without annotations has no phase."""
    flow = _KernelFlow(code, code_object, kernel)
    inside = kernel.code or range(0)
    entry = code.index_by_address.get(inside.start)
    if entry is None:
        return PhaseMap({}, {}, {}, frozenset(), (), (), (), ())
    stacks = spread({entry: NOTHING_OPEN}, flow.follow_stacks, join_stacks)
    starts = spread({entry: nothing_started(flow.events)}, flow.follow_starts, frozenset.union)
    owners = flow.owners()
    address = [one.address for one in code.instructions]
    opened = {address[i]: flow.names(surely_open(state)) for i, state in starts.items()}
    known = stacks.keys() | owners.keys()
    return PhaseMap(
        {address[i]: flow.place(i, state) for i, state in stacks.items() if i not in owners},
        {place: names for place, names in opened.items() if names},
        {address[i]: name for i, name in owners.items()},
        frozenset(address[i] for block in flow.blocks.values() for i in block.slow),
        flow.markers(),
        tuple(
            one.address
            for one in code.within(inside)
            if code.index_by_address[one.address] not in known and one.kind not in _PADDING
        ),
        tuple(sorted(address[i] for i in stacks if is_unknown_jump(code, i))),
        tuple(sorted({event.name for found in flow.at_note.values() for event in found})),
    )


class _KernelFlow:
    """One kernel's control flow, in which a marker is one step."""

    def __init__(self, code: MachineCode, code_object: CodeObject, kernel: Kernel) -> None:
        unit = kernel.annotation.unit_key if kernel.annotation else None
        found = code_object.events_in(kernel)
        self.code = code
        self.events = {event.id: event for event in found if event.unit_key == unit}
        inside = kernel.code or range(0)
        self.blocks = {
            block.begin: block
            for block in (find_marker_blocks(code, inside) if kernel.is_annotated else ())
        }
        self.at_note = self._events_without_blocks()
        self.stops = {block.end: block for block in self.blocks.values() if block.kind == Kind.STOP}

    def _events_without_blocks(self) -> dict[int, list[Event]]:
        """Return, by index, the events of which only the notes tell where they are."""
        recognized = {b.id for b in self.blocks.values() if b.kind in _NAMED}
        missing: dict[int, list[Event]] = {}
        for event in self.events.values():
            for pc in event.pcs:
                index = self.code.index_by_address.get(pc)
                if event.id not in recognized and index is not None:
                    missing.setdefault(index, []).append(event)
        return missing

    def follow_stacks(self, index: int, state: Stacks) -> Iterator[tuple[int, Stacks]]:
        """Yield what may be open before each instruction that follows."""
        state = self._after_notes(index, state)
        block = self.blocks.get(index)
        if block:
            yield block.end, after_marker(state, block.kind, block.id, self.events)
        else:
            yield from ((following, state) for following in successors(self.code, index))

    def _after_notes(self, index: int, state: Stacks) -> Stacks:
        for event in self.at_note.get(index, ()):
            state = after_marker(state, event.kind, event.id, self.events)
        return state

    def follow_starts(self, index: int, state: Starts) -> Iterator[tuple[int, Starts]]:
        """Yield what KTRACE_START may have begun, before each instruction that follows."""
        for event in self.at_note.get(index, ()):
            state = after_start(state, event.id) if event.kind == Kind.START else state
        block = self.blocks.get(index)
        if block and block.kind == Kind.START:
            yield block.end, after_start(state, block.id)
        elif block:
            yield block.end, after_stop(state) if block.kind == Kind.STOP else state
        else:
            for following in successors(self.code, index):
                yield following, after_stop(state) if self._skips_stop(index, following) else state

    def _skips_stop(self, index: int, following: int) -> bool:
        # `if (token != no_token)`: where nothing was started, the STOP is passed by, and nothing
        # is open after it either.
        block = self.stops.get(following)
        if block is None or branch_target(self.code.instructions[index]) is None:
            return False
        return block.begin - _GUARD_REACH <= index < block.begin

    def place(self, index: int, state: Stacks) -> Place:
        """Name what may be open at an instruction."""
        state = self._after_notes(index, state)
        if state == TOO_MANY:
            return Place(("many phases",), (("outside",),))
        paths = sorted({self.names(path_of(stack)) for stack in state})
        return Place(paths[0], tuple(paths[1:]))

    def names(self, ids: tuple[int, ...] | list[int]) -> tuple[str, ...]:
        """Return the names of events."""
        return tuple(self.events[i].name if i in self.events else f"event {i}" for i in ids)

    def _name(self, block: MarkerBlock) -> tuple[str, str]:
        """Return name and kind of the event that a block belongs to."""
        event = self.events.get(block.id) if block.kind in _NAMED else None
        if event:
            return event.name, Kind(event.kind).name.lower()
        return _NAME_BY_KIND.get(block.kind, "unknown"), ""

    def _named_blocks(self) -> list[tuple[tuple[str, str], MarkerBlock]]:
        """Return the blocks with their names; values have that of the event that follows them."""
        named: list[tuple[tuple[str, str], MarkerBlock]] = []
        for begin in sorted(self.blocks, reverse=True):
            block = self.blocks[begin]
            name = self._name(block)
            if block.kind == Kind.VALUE and named:
                next_name, following = named[-1]
                name = next_name if following.begin - block.end <= _VALUE_REACH else name
            named.append((name, block))
        return named[::-1]

    def owners(self) -> dict[int, str]:
        """Return the marker's name of each instruction that belongs to one, by index."""
        return {
            index: name
            for (name, _), block in self._named_blocks()
            for index in (*range(block.begin, block.end), *block.slow)
        }

    def markers(self) -> tuple[Marker, ...]:
        """Return the markers in the order of their first blocks."""
        found: dict[tuple[str, str], list[MarkerBlock]] = {}
        for name, block in self._named_blocks():
            found.setdefault(name, []).append(block)
        return tuple(Marker(*name, tuple(blocks)) for name, blocks in found.items())
