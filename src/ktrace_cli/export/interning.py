"""Strings that a trace names by number."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ktrace_cli.code_object.names import display_name
from ktrace_cli.export.protobuf import Ints, message, number, text
from ktrace_cli.export.track_events import Names
from ktrace_cli.model import NONE, SliceFlag, Timeline

_EVENT_NAMES, _ARGUMENT_NAMES = 2, 3


@dataclass
class Interned:
    """The tables of one sequence; numbers count from 1."""

    _rows: dict[int, dict[str, int]] = field(default_factory=dict)

    def event_name(self, name: str) -> int:
        """Return the number of a slice's name."""
        return self._number(_EVENT_NAMES, name)

    def argument(self, name: str) -> int:
        """Return the number of an argument's name."""
        return self._number(_ARGUMENT_NAMES, name)

    def _number(self, table: int, name: str) -> int:
        rows = self._rows.setdefault(table, {})
        return rows.setdefault(name, len(rows) + 1)

    def encode(self) -> bytes:
        """Return the fields of an InternedData message."""
        return b"".join(
            message(table, number(1, iid), text(2, name))
            for table, rows in sorted(self._rows.items())
            for name, iid in rows.items()
        )


def name_everything(timeline: Timeline, interned: Interned, *, by_kernel: bool) -> Names:
    """Give numbers to the names of events, waves and dispatches.

    Args:
        timeline: what is shown.
        interned: gets the names.
        by_kernel: a wave's slice is named after its kernel, else after its role.
    """
    of_event = [interned.event_name(event.name) for event in timeline.events]
    kernels = [interned.event_name(display_name(k.mangled)) for k in timeline.kernels]
    of_kernel = np.array(kernels, np.int64)
    dispatches = [interned.event_name(f"dispatch {d}") for d in timeline.dispatches["number"]]
    if by_kernel:
        of_wave = of_kernel[timeline.dispatches["kernel"]][timeline.waves["dispatch"]]
    else:
        group = timeline.waves["group"]
        roles = np.array([*of_event, interned.event_name("wave")], np.int64)
        of_wave = roles[np.where(group == NONE, len(of_event), group)]
    running = _ints(of_event)
    is_running = (timeline.slices["flags"] & SliceFlag.RUNNING) != 0
    for row in np.unique(timeline.slices["event"][is_running]).tolist():
        running[row] = interned.event_name(f"{timeline.events[row].name} (unfinished)")
    return Names(_ints(of_event), running, of_wave, _ints(dispatches))


def _ints(values: list[int]) -> Ints:
    return np.array(values, np.int64)
