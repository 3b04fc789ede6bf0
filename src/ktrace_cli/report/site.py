"""The folder of a site: it is ours or nothing, and it is whole or as it was.

All files are written to a folder inside, and put in their places once all are there.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from ktrace_cli.errors import KtraceError, UsageError
from ktrace_cli.export.output import STDOUT

LIST = "report.json"
"""Also tells which files are ours."""
FORMAT = "ktrace report"
_MOST_LISTED = 4


class Site:
    """Files that are not in their places yet."""

    def __init__(self, staging: Path) -> None:
        self._staging = staging

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Open a file for writing; after an error it is not there.

        Args:
            name: its path from the site's root.
        """
        path = self._staging / name
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with path.open("wb") as out:
                yield out
        except BaseException:
            path.unlink()
            raise

    def write(self, name: str, content: str | bytes) -> None:
        """Write a file."""
        data = content.encode(errors="replace") if isinstance(content, str) else content
        with self.open(name) as out:
            out.write(data)

    def write_json(self, name: str, document: Any) -> None:
        """Write a file of JSON."""
        self.write(name, orjson.dumps(document, option=_JSON))

    def size(self, name: str) -> int:
        """Return the bytes of a file."""
        return (self._staging / name).stat().st_size

    def files(self) -> list[str]:
        """Return the paths of all files from the site's root, in order."""
        return _files(self._staging)


_JSON = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE


@contextmanager
def open_site(folder: Path, *, may_replace: bool) -> Iterator[Site]:
    """Make a folder for a site, or take it over; what is written is there when the block ends.

    Args:
        folder: a new or empty one, or one that holds nothing but an older site.
        may_replace: whether an older site is replaced.

    Raises:
        KtraceError: it holds anything else, or cannot be written.
    """
    try:
        old = _check(folder, may_replace=may_replace)
        is_new = not folder.exists()
        folder.mkdir(exist_ok=True)
        staging = Path(tempfile.mkdtemp(dir=folder, prefix=".ktrace-report-"))
        try:
            yield Site(staging)
            _put_in_place(folder, staging, old)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
            if is_new:
                with suppress(OSError):  # it is not empty: all went well
                    folder.rmdir()
    except OSError as problem:
        raise KtraceError(
            f"cannot write {folder}",
            why=problem.strerror or str(problem),
            fix="name a folder that can be written to, with room, by `-o`",
        ) from problem


def _check(folder: Path, *, may_replace: bool) -> list[str]:
    """Return the files of the older site that is there."""
    if folder == STDOUT:
        raise UsageError(
            "cannot write a site to standard output",
            why="it is a folder of files",
            fix="name a folder, or `./-` if it shall be called so; "
            "`--step-summary -` writes the summary to standard output",
        )
    if folder.exists() and not folder.is_dir():
        raise KtraceError(
            f"cannot write a site to {folder}",
            why="it is a file",
            fix="name a folder, one that is not there or is empty",
        )
    if not folder.parent.is_dir():
        raise KtraceError(
            f"cannot write {folder}",
            why=f"there is no folder {folder.parent}, and ktrace makes none here",
            fix=f"make it, for example with `mkdir -p {folder.parent}`",
        )
    there = _files(folder) if folder.is_dir() else []
    if not there:
        return []
    listed = _listed(folder)
    if others := [name for name in there if name not in listed]:
        more = f" and {len(others) - _MOST_LISTED} more" if len(others) > _MOST_LISTED else ""
        raise KtraceError(
            f"will not write to {folder}",
            why=f"it holds what `ktrace report` did not write: {', '.join(others[:_MOST_LISTED])}"
            f"{more}",
            fix="name a folder that is not there or is empty",
        )
    if not may_replace:
        raise KtraceError(
            f"{folder} holds a report",
            why="it would be overwritten",
            fix="add `--force`, or name another folder",
        )
    return there


def _listed(folder: Path) -> set[str]:
    """Return the files of the site that a folder says it holds."""
    try:
        document = orjson.loads((folder / LIST).read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return set()
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        return set()
    files = document.get("files")
    return {name for name in files if isinstance(name, str)} if isinstance(files, list) else set()


def _put_in_place(folder: Path, staging: Path, old: list[str]) -> None:
    for name in old:
        (folder / name).unlink()
    inner = {
        parent for name in old for parent in (folder / name).parents if folder in parent.parents
    }
    for path in sorted(inner, reverse=True):  # the innermost first
        with suppress(OSError):  # something else is in it
            path.rmdir()
    for name in _files(staging):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (staging / name).rename(folder / name)


def _files(folder: Path) -> list[str]:
    """Return what is in a folder and the folders in it, but for folders without anything."""
    return sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_symlink() or not path.is_dir()
    )
