"""Tables of a rocpd database: which there are, and chosen columns of them.

Columns are always named: rocpd keeps the whole environment of the process in one of them.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ktrace_cli.errors import KtraceError

Row = tuple[Any, ...]


@contextmanager
def open_database(path: Path, repairs: Counter[str]) -> Iterator[sqlite3.Connection]:
    """Open a database for reading; nothing is written beside it.

    Args:
        path: the file.
        repairs: gets the counts of Repairs.

    Raises:
        KtraceError: it cannot be read, also while the block runs.
    """

    def text(data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError:
            shown = data.decode(errors="replace")
            repairs["invalid_utf8"] += shown.count("\N{REPLACEMENT CHARACTER}")
            return shown

    # A database that was not closed has its newest rows in a log beside it.
    has_log = path.with_name(f"{path.name}-wal").exists()
    mode = "mode=ro" if has_log else "mode=ro&immutable=1"
    try:
        connection = sqlite3.connect(f"file:{quote(str(path))}?{mode}", uri=True)
        connection.text_factory = text
        try:
            yield connection
        finally:
            connection.close()
    except sqlite3.Error as problem:
        raise KtraceError(f"cannot read {path}", why=str(problem)) from problem


class Tables:
    """The tables of one database by their base names, whatever they end with."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        query = "select name from sqlite_master where type in ('table', 'view') order by name"
        self.names: tuple[str, ...] = tuple(name for (name,) in connection.execute(query))

    def has(self, base: str) -> bool:
        """Tell whether there is a table of this base name."""
        return bool(self._named(base))

    def _named(self, base: str) -> list[str]:
        # A view has the base name; tables end with a UUID of the process.
        if base in self.names:
            return [base]
        return [n for n in self.names if n.startswith(base + "_0") and n.count("_") >= 6]

    def rows(self, base: str, columns: Sequence[str]) -> list[Row]:
        """Return columns of all rows; None where a table lacks the column."""
        found: list[Row] = []
        for name in self._named(base):
            table = _quoted(name)
            known = {str(row[1]) for row in self._connection.execute(f"pragma table_info({table})")}
            chosen = ", ".join(_quoted(c) if c in known else "null" for c in columns)
            found += self._connection.execute(f"select {chosen} from {table}").fetchall()
        return found


def _quoted(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'
