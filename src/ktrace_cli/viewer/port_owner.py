"""Finds which program listens on a port, as far as /proc tells this user."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_LISTEN = "0A"  # TCP_LISTEN
_TABLES = ("net/tcp", "net/tcp6")


def describe_owner(port: int, proc: Path = Path("/proc")) -> str:
    """Name the program that listens on a port: `vizviewer (process 4242)`."""
    sockets = {f"socket:[{inode}]" for inode in _listening(port, proc)}
    for folder in sorted(proc.glob("[0-9]*")):
        if sockets & set(_open_files(folder)):
            return f"{_name(folder)} (process {folder.name})"
    return "another program"


def _listening(port: int, proc: Path) -> Iterator[str]:
    for table in _TABLES:
        try:
            lines = (proc / table).read_text().splitlines()[1:]
        except OSError:
            continue
        for fields in map(str.split, lines):
            if len(fields) > 9 and fields[3] == _LISTEN and fields[1].endswith(f":{port:04X}"):
                yield fields[9]


def _open_files(folder: Path) -> Iterator[str]:
    try:
        for link in (folder / "fd").iterdir():
            yield str(link.readlink())
    except OSError:  # the process ended, or is another user's
        return


def _name(folder: Path) -> str:
    try:
        return (folder / "comm").read_text().strip()
    except OSError:
        return "a program"
