"""Where a run records: never over a file that nobody asked to replace."""

from __future__ import annotations

import errno
import itertools
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ktrace_cli.errors import ExitStatus, KtraceError
from ktrace_cli.launch.placeholders import name_here


def output_here(output: Path | None) -> Path | None:
    """Return the file that `output` names in this process; None if no name is known beforehand."""
    name = name_here(str(output), os.environ) if output else ""
    return Path(name) if name else None


def refuse_output(output: Path | None, *, may_replace: bool) -> None:
    """Refuse to record over what is there.

    Raises:
        KtraceError: the file exists, and may not be replaced or is no regular file; or its name or
            folder cannot be used.
    """
    if output is not None:
        refuse_folder(f"record to {output}", output.parent)
    file = output_here(output)
    if file is None or not _is_there(file):
        return
    if file.is_symlink() or not file.is_file():
        raise KtraceError(
            f"cannot record to {file}",
            why="it exists and is no regular file",
            fix=f"name a file: `-o {file / 'run.bin' if file.is_dir() else 'run.bin'}`",
            status=ExitStatus.RUN_FAILED,
        )
    if not may_replace:
        raise KtraceError(
            f"will not replace {file}",
            why="the file exists",
            fix="give another name to `-o`, or `--force` to replace it",
            status=ExitStatus.RUN_FAILED,
        )


def refuse_folder(what: str, folder: Path) -> None:
    """Refuse a folder that is none, or that nothing can be written to, as far as its name is known.

    Args:
        what: what cannot be done then.
        folder: it may be missing.

    Raises:
        KtraceError: it cannot be used.
    """
    known = Path(*itertools.takewhile(lambda part: "%" not in part, folder.parts))
    for path in (known, *known.parents):
        if not _is_there(path, what):
            continue
        if not path.exists():
            raise _cannot(what, f"{path} is a link to nothing")
        if not path.is_dir():
            raise _cannot(what, f"{path} is no folder")
        if not os.access(path, os.W_OK | os.X_OK):
            raise _cannot(what, f"{path} cannot be written to")
        return


def _is_there(path: Path, what: str = "") -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        fix = "give a shorter name" if error.errno == errno.ENAMETOOLONG else "name another folder"
        raise _cannot(what or f"record to {path}", error.strerror or str(error), fix) from error
    return True


def _cannot(what: str, why: str, fix: str = "name another folder") -> KtraceError:
    return KtraceError(f"cannot {what}", why=why, fix=fix, status=ExitStatus.RUN_FAILED)


@contextmanager
def free_output(output: Path | None, token: str) -> Iterator[tuple[Path, ...]]:
    """Free the recording's name for a run, and keep the old file if no process recorded.

    Processes take the name with O_EXCL. Yields the recordings that other processes of an earlier
    run left beside the old file: they stay.

    Args:
        output: the recording, or None where its name is not known beforehand.
        token: a name that nothing else in the folder has.

    Raises:
        KtraceError: the old file cannot be moved, or the folder cannot be made.
    """
    if output is not None and "%" not in str(output.parent):
        _make(output)
    file = output_here(output)
    if file is None or not file.exists():
        yield ()
        return
    beside = _recordings_beside(file)
    kept = file.with_name(f".{token}")
    _rename(file, kept)
    try:
        yield beside
    finally:
        if file.exists():
            kept.unlink()
        else:
            kept.rename(file)


def _make(output: Path) -> None:
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = f"the folder {output.parent} cannot be made: {error.strerror or error}"
        raise _cannot(f"record to {output}", why) from error


def _rename(file: Path, kept: Path) -> None:
    try:
        file.rename(kept)
    except OSError as error:
        raise KtraceError(
            f"cannot replace {file}",
            why=error.strerror or str(error),
            fix="record into a folder that you may write to",
            status=ExitStatus.RUN_FAILED,
        ) from error


def _recordings_beside(file: Path) -> tuple[Path, ...]:
    """Find `<name>.<pid>.bin` and `<name>.<pid>.2.bin` of `<name>.bin`."""
    name = rf"{re.escape(file.stem)}(\.\d+){{1,2}}{re.escape(file.suffix)}"
    return tuple(sorted(path for path in file.parent.iterdir() if re.fullmatch(name, path.name)))
