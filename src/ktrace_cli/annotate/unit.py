"""The numbers of a kernel's markers: what its notes and its words call them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from ktrace_cli.annotate.notes import Marker, event_note


@dataclass
class Unit:
    """The markers of one kernel, in the order in which its compiler met them."""

    key: int
    id_by_marker: dict[Marker, int] = field(default_factory=dict)

    def note_and_id(self, marker: Marker) -> tuple[str, int]:
        """Return a marker's note and number, the same ones however often the compiler asks."""
        event_id = self.id_by_marker.setdefault(marker, len(self.id_by_marker))
        return event_note(self.key, event_id, marker), event_id


def unit_of(file: str, kernel: str) -> Unit:
    """Return the unit of a kernel: another source file or kernel has another key."""
    digest = hashlib.sha256(f"{file}\0{kernel}".encode()).digest()
    return Unit(int.from_bytes(digest[:8], "little"))
