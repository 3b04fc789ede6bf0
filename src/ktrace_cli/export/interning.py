"""Strings that a trace names by number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ktrace_cli.code_object.names import display_name
from ktrace_cli.export.protobuf import message, number, text
from ktrace_cli.model import NONE, Timeline
from ktrace_cli.timeline.segments import Ints

_EVENT_NAMES, _ARGUMENT_NAMES = 2, 3
_STRINGS_PER_MESSAGE = 4096


@dataclass
class Interned:
    """The tables of one sequence; numbers count from 1."""

    _rows: dict[int, dict[str, int]] = field(default_factory=dict)
    _told: dict[int, int] = field(default_factory=dict)

    def event_name(self, name: str) -> int:
        """Return the number of a slice's name."""
        return self._number(_EVENT_NAMES, name)

    def argument(self, name: str) -> int:
        """Return the number of an argument's name."""
        return self._number(_ARGUMENT_NAMES, name)

    @property
    def arguments(self) -> int:
        """How many arguments have a number: the largest one."""
        return len(self._rows.get(_ARGUMENT_NAMES, ()))

    def _number(self, table: int, name: str) -> int:
        rows = self._rows.setdefault(table, {})
        return rows.setdefault(name, len(rows) + 1)

    def take_new(self) -> Iterator[bytes]:
        """Yield the fields of InternedData messages with all strings that were not told yet."""
        for table, rows in sorted(self._rows.items()):
            entries = list(rows.items())[self._told.get(table, 0) :]
            self._told[table] = len(rows)
            for first in range(0, len(entries), _STRINGS_PER_MESSAGE):
                yield b"".join(
                    message(table, number(1, iid), text(2, name))
                    for name, iid in entries[first : first + _STRINGS_PER_MESSAGE]
                )


@dataclass(frozen=True)
class SliceNames:
    """The numbers of what slices are called."""

    of_event: Ints
    """Per row of Timeline.events."""
    of_running: Ints
    """Per row of Timeline.events: what is said where its dispatch was still running."""
    of_wave: Ints
    of_dispatch: Ints


def name_slices(timeline: Timeline, interned: Interned, *, by_kernel: bool) -> SliceNames:
    """Give numbers to the names of events, waves and dispatches.

    Args:
        timeline: what is shown.
        interned: gets the names.
        by_kernel: a wave's slice is named after its kernel, else after its role.
    """
    of_event = [interned.event_name(event.name) for event in timeline.events]
    running = [interned.event_name(f"{event.name} (unfinished)") for event in timeline.events]
    if by_kernel:
        kernels = [interned.event_name(display_name(k.mangled)) for k in timeline.kernels]
        of_wave = _ints(kernels)[timeline.dispatches["kernel"]][timeline.waves["dispatch"]]
    else:
        group = timeline.waves["group"]
        roles = _ints([*of_event, interned.event_name("wave")])
        of_wave = roles[np.where(group == NONE, len(of_event), group)]
    dispatches = [interned.event_name(f"dispatch {d}") for d in timeline.dispatches["number"]]
    return SliceNames(_ints(of_event), _ints(running), of_wave, _ints(dispatches))


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, np.int64)
