"""What is open on a wave's lanes, and what each marker changes of it. Knows no instruction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from ktrace_cli.code_object.contents import Event
from ktrace_cli.trace_file.layout import Kind

# A range or push that is open, and the phase that goes on in it: ids of events, None for none.
Frame = tuple[int | None, int | None]
Stack = tuple[Frame, ...]
Stacks = frozenset[Stack]
"""All that may be open at one place."""
Starts = frozenset[tuple[int, bool]]
"""For each START event, whether it may be open (True), closed (False) or both."""

NOTHING_OPEN: Final[Stacks] = frozenset({((None, None),)})
TOO_MANY: Final[Stacks] = frozenset({()})
"""More than are followed."""
_DEEPEST: Final = 32
_MOST: Final = 16


def join_stacks(one: Stacks, other: Stacks) -> Stacks:
    """Return what may be open where two paths meet."""
    joined = one | other
    return TOO_MANY if len(joined) > _MOST or joined & TOO_MANY else joined


def after_marker(stacks: Stacks, kind: int, event_id: int, events: Mapping[int, Event]) -> Stacks:
    """Return what may be open after a marker."""
    change = _CHANGES.get(int(kind))
    if change is None or stacks == TOO_MANY:
        return stacks
    changed = frozenset(change(stack, event_id, events) for stack in stacks)
    return TOO_MANY if any(len(stack) > _DEEPEST for stack in changed) else changed


def _push(stack: Stack, event_id: int, events: Mapping[int, Event]) -> Stack:
    return (*stack, (event_id, None))


def _pop(stack: Stack, event_id: int, events: Mapping[int, Event]) -> Stack:
    def is_push(opened: int | None) -> bool:
        event = None if opened is None else events.get(opened)
        return event is not None and event.kind == Kind.PUSH

    return _cut(stack, is_push)


def _end_range(stack: Stack, event_id: int, events: Mapping[int, Event]) -> Stack:
    return _cut(stack, lambda opened: opened == event_id)


def _cut(stack: Stack, is_wanted: Callable[[int | None], bool]) -> Stack:
    """Close the innermost frame that is wanted, and what lies in it."""
    for depth in range(len(stack) - 1, 0, -1):
        if is_wanted(stack[depth][0]):
            return stack[:depth]
    return stack


def _begin_phase(stack: Stack, event_id: int, events: Mapping[int, Event]) -> Stack:
    return (*stack[:-1], (stack[-1][0], event_id))


def _end_phase(stack: Stack, event_id: int, events: Mapping[int, Event]) -> Stack:
    return (*stack[:-1], (stack[-1][0], None))


_CHANGES: Final[dict[int, Callable[[Stack, int, Mapping[int, Event]], Stack]]] = {
    Kind.RANGE: _push,
    Kind.PUSH: _push,
    Kind.POP: _pop,
    Kind.LONG_END: _end_range,
    Kind.PHASE: _begin_phase,
    Kind.PHASE_END: _end_phase,
}


def nothing_started(events: Mapping[int, Event]) -> Starts:
    """Return the state in which no START has been passed."""
    return frozenset((id_, False) for id_, event in events.items() if event.kind == Kind.START)


def after_start(starts: Starts, event_id: int) -> Starts:
    """Return what may be open after a START."""
    return frozenset(one for one in starts if one[0] != event_id) | {(event_id, True)}


def after_stop(starts: Starts) -> Starts:
    """Return what may be open after a STOP, which closes one of those that are open."""
    opened = {event_id for event_id, is_open in starts if is_open}
    if len(opened) == 1:
        return frozenset(one for one in starts if one[0] not in opened) | {(opened.pop(), False)}
    return starts | {(event_id, False) for event_id in opened}


def surely_open(starts: Starts) -> list[int]:
    """Return the events that are open whichever way control came."""
    return sorted(id_ for id_, is_open in starts if is_open and (id_, False) not in starts)


def path_of(stack: Stack) -> tuple[int, ...]:
    """Return the events that are open, outermost first."""
    return tuple(event_id for frame in stack for event_id in frame if event_id is not None)
