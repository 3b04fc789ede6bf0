"""Where a run records: never over a file that nobody asked to replace."""

from __future__ import annotations

import contextlib
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
        KtraceError: the file exists, and may not be replaced or is no regular file.
    """
    file = output_here(output)
    if file is None or not os.path.lexists(file):
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


@contextmanager
def free_output(output: Path | None, token: str) -> Iterator[tuple[Path, ...]]:
    """Free the recording's name for a run, and keep the old file if no process recorded.

    Processes take the name with O_EXCL. Yields the recordings that other processes of an earlier
    run left beside the old file: they stay.

    Args:
        output: the recording, or None where its name is not known beforehand.
        token: a name that nothing else in the folder has.

    Raises:
        KtraceError: the old file cannot be moved.
    """
    if output is not None and "%" not in str(output.parent):
        # Where that fails, the program still runs, and its processes say why they did not record.
        with contextlib.suppress(OSError):
            output.parent.mkdir(parents=True, exist_ok=True)
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
