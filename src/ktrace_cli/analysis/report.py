"""The parts of a written report: headings, lines and tables, for a terminal or for Markdown."""

from __future__ import annotations

from dataclasses import dataclass

from ktrace_cli.code_object.names import shorten

LONGEST_NAME = 80
_BLANK_UNICODE, _LEVELS_UNICODE = "·", "▁▂▃▄▅▆▇█"
_BLANK_ASCII, _LEVELS_ASCII = ".", "-~=+*%#@"


@dataclass(frozen=True)
class Name:
    """A name from the program: of a kernel, a phase, a role. It may hold any character."""

    text: str


Text = tuple[str | Name, ...]


@dataclass(frozen=True)
class Heading:
    """Begins what is about one kernel."""

    text: Text


@dataclass(frozen=True)
class Line:
    """A sentence, or a part of what the line above it says."""

    text: Text
    indent: int = 0


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    title: str
    is_number: bool = True
    is_name: bool = False
    """Its cells are names."""
    drop: int = 0
    """What does not fit a terminal is left out: the columns with the highest number first; 0 never.
    """
    note: str = ""
    """Explains it below the table."""
    width: int = 0
    """Characters of its names on a terminal; 0: as usual."""


@dataclass(frozen=True)
class Table:
    """Rows of cells, one for each column."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]


Block = Heading | Line | Table


@dataclass(frozen=True)
class Glyphs:
    """The characters to draw with."""

    blank: str
    levels: str

    @property
    def characters(self) -> str:
        """All of them."""
        return self.blank + self.levels

    @property
    def bar(self) -> str:
        """What bars are made of."""
        return self.levels[-1]


UNICODE = Glyphs(_BLANK_UNICODE, _LEVELS_UNICODE)
ASCII = Glyphs(_BLANK_ASCII, _LEVELS_ASCII)


def printable(name: str, width: int = LONGEST_NAME) -> str:
    """Return a name, shortened, without what would move a terminal's cursor or break a line."""
    text = shorten(name, width)
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
