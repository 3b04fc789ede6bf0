"""Lines of a rocprofv3 CSV file to columns of text: also lines whose names hold bare quotes.

rocprofv3 writes kernel names and marker messages as they are, between quotes. What stands left and
right of the one column of free text is plain, so a line is split from both its ends.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ktrace_cli.errors import KtraceError

_FREE_TEXT = ("Kernel_Name", "Function")
_MOST_LINES = 64  # of one message
_REPLACED = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True)
class CsvTable:
    """One file's rows, column by column."""

    header: tuple[str, ...]
    columns: dict[str, list[str]]

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.columns.values()), []))


@dataclass(frozen=True)
class _Shape:
    """How lines of a file are made."""

    width: int
    free: int | None
    """The column of free text."""
    is_quoted: bool


def read_header(path: Path) -> tuple[str, ...]:
    """Return the names of a file's columns."""
    with path.open("rb") as file:
        return _fields(_decoded(file.readline(1 << 16), Counter()))


def read_table(path: Path, repairs: Counter[str]) -> CsvTable:
    """Read a CSV file.

    Args:
        path: the file.
        repairs: gets the counts of Repairs.

    Raises:
        KtraceError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            first = _decoded(file.readline(), repairs)
            header = _fields(first)
            lines = (_decoded(line, repairs) for line in file)
            rows = list(_rows(lines, _shape(header, first), repairs))
    except OSError as problem:
        raise KtraceError(f"cannot read {path}", why=problem.strerror or str(problem)) from problem
    columns = zip(*rows, strict=True) if rows else ((),) * len(header)
    return CsvTable(header, {name: list(c) for name, c in zip(header, columns, strict=True)})


def _shape(header: tuple[str, ...], first: str) -> _Shape:
    free = next((header.index(name) for name in _FREE_TEXT if name in header), None)
    return _Shape(len(header), free, first.startswith('"'))


def _decoded(line: bytes, repairs: Counter[str]) -> str:
    line = line.rstrip(b"\r\n")
    try:
        return line.decode()
    except UnicodeDecodeError:
        text = line.decode(errors="replace")
        repairs["invalid_utf8"] += text.count(_REPLACED)
        return text


def _fields(line: str) -> tuple[str, ...]:
    try:
        return tuple(next(csv.reader([line.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")]), []))
    except csv.Error:  # a field of more than 128 KiB, or with a zero byte in it
        return ()


def _rows(lines: Iterator[str], shape: _Shape, repairs: Counter[str]) -> Iterator[list[str]]:
    open_lines: list[str] = []  # a message with line ends in it
    for line in lines:
        if not open_lines and not line:
            continue
        row = _split(line, shape, repairs)
        if row is None and open_lines:
            row = _split("\n".join([*open_lines, line]), shape, repairs)
            if row is None and len(open_lines) < _MOST_LINES:
                open_lines.append(line)
                continue
        elif row is None:
            open_lines = [line]
            continue
        elif open_lines:
            repairs["malformed_rows"] += 1
        open_lines = []
        if row is None:
            repairs["malformed_rows"] += 1
        else:
            yield row
    if open_lines:
        repairs["malformed_rows"] += 1


def _split(line: str, shape: _Shape, repairs: Counter[str]) -> list[str] | None:
    """Return the fields of a line, or None if it is no whole row."""
    if shape.free is None:
        fields = _fields(line)
        return list(fields) if len(fields) == shape.width else None
    left = line.split(",", shape.free)
    if len(left) <= shape.free:
        return None
    right = left.pop().rsplit(",", shape.width - shape.free - 1)
    if len(right) < shape.width - shape.free or not _is_whole(left, right, shape):
        return None
    right[0] = _unquoted_text(right[0], repairs)
    if '"' in line:
        left = [_unquoted(field) if field[:1] == '"' else field for field in left]
        right[1:] = [_unquoted(field) if field[:1] == '"' else field for field in right[1:]]
    return left + right


def _is_whole(left: list[str], right: list[str], shape: _Shape) -> bool:
    # A line in the middle of a message may have as many commas as a row.
    is_closed = not right[0].startswith('"') or (len(right[0]) > 1 and right[0].endswith('"'))
    begins = not shape.is_quoted or (left or right)[0].startswith('"')
    return is_closed and (begins or (left or right)[0].isdigit())


def _unquoted(field: str) -> str:
    return field[1:-1] if len(field) > 1 and field[0] == field[-1] == '"' else field


def _unquoted_text(field: str, repairs: Counter[str]) -> str:
    text = _unquoted(field)
    if '"' not in text or text is field:
        return text
    if '"' not in text.replace('""', ""):
        return text.replace('""', '"')
    repairs["unescaped_quotes"] += 1
    return text
