"""The notes of a marker as text for an assembler, in the order of the structs of format.h."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import Kind

# An assembler statement takes its text apart at these; a label is made unique by the compiler.
_SPECIAL: Final = frozenset('"\\%{|}$')
_UID: Final = "${:uid}"


@dataclass(frozen=True)
class Marker:
    """What an EVENT note tells of a marker."""

    kind: Kind
    name: str
    lane: str = ""
    file: str = ""
    line: int = 0

    def __post_init__(self) -> None:
        """Refuse what a note cannot hold.

        Raises:
            ValueError: the name, the lane or their characters.
        """
        if not self.name:
            raise ValueError("ktrace: a marker needs a name")
        for text in (self.name, self.lane):
            if any(character in _SPECIAL or character < " " for character in text):
                special = " ".join(sorted(_SPECIAL))
                raise ValueError(f"ktrace: {text!r} has a control character or one of {special}")
        if len(self.lane.encode()) >= layout.LANE_SIZE:
            raise ValueError(f"ktrace: the lane {self.lane!r} has more than 15 bytes; shorten it")


def kernel_note(unit_key: int, argument: int) -> str:
    """Return the note that makes a kernel one with a trace buffer.

    Args:
        unit_key: of the kernel's events.
        argument: which explicit argument the buffer's address goes to.
    """
    flags = layout.KernelFlag.PLACEHOLDER
    return _note(
        layout.NoteType.KERNEL,
        f".4byte {layout.ABI_VERSION}, {int(flags)}",
        f".8byte {unit_key:#x}",
        f".8byte .Lktrace_pc{_UID}-.",
        f".4byte {argument:#x}, {layout.LAST_ARGUMENT:#x}",
        f".4byte {int(layout.RecordFormat.AMDGCN)}, 0",
    )


def event_note(unit_key: int, event_id: int, marker: Marker) -> str:
    """Return the note that gives an event its name."""
    lane = marker.lane.encode().ljust(layout.LANE_SIZE, b"\0")
    return _note(
        layout.NoteType.EVENT,
        f".8byte {unit_key:#x}",
        f".8byte .Lktrace_pc{_UID}-.",
        f".4byte {event_id}",
        f".2byte {int(marker.kind)}, 0",
        f".4byte {marker.line}, 0",
        _bytes(lane),
        _bytes(marker.name.encode() + b"\0"),
        # A path may hold what no assembler statement takes.
        _bytes(marker.file.encode() + b"\0"),
    )


def _bytes(data: bytes) -> str:
    return f".byte {', '.join(str(byte) for byte in data)}"


def _note(kind: layout.NoteType, *body: str) -> str:
    owner = layout.NOTE_OWNER + b"\0"
    return "\n".join(
        [
            f".Lktrace_pc{_UID}:",
            '.pushsection .note.ktrace,"a?",@note',
            ".balign 4",
            f".4byte {len(owner)}, .Lktrace_end{_UID}-.Lktrace_begin{_UID}, {int(kind)}",
            _bytes(owner),
            ".balign 4",
            f".Lktrace_begin{_UID}:",
            *body,
            f".Lktrace_end{_UID}:",
            ".balign 4",
            ".popsection\n",
        ]
    )
