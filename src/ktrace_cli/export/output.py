"""Where results go: the one rule on existing files, and compressed files that are reproducible."""

from __future__ import annotations

import gzip
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

from ktrace_cli.errors import KtraceError, StandardOutputError

STDOUT = Path("-")
# Level 1 writes three times as fast as zlib's default and a tenth more.
_COMPRESSION = 1


@contextmanager
def open_output(path: Path, *, may_replace: bool) -> Iterator[BinaryIO]:
    """Open `path` for writing; the file appears, whole, when the block ends without an error.

    Args:
        path: a file, something else that can be written to (a pipe), or `-` for stdout.
        may_replace: whether an existing file is replaced.

    Raises:
        KtraceError: the file exists and must stay, or it or stdout cannot be written.
    """
    if path == STDOUT:
        with _stdout() as out:
            yield out
        return
    if path.is_file() and not may_replace:
        raise KtraceError(
            f"{path} exists",
            why="it would be overwritten",
            fix="add `--force`, or name another file",
        )
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as out:
                yield out
            return
        with _replaced(path) as out:
            yield out
    except OSError as problem:
        raise KtraceError(f"cannot write {path}", why=problem.strerror or str(problem)) from problem


@contextmanager
def _stdout() -> Iterator[BinaryIO]:
    if sys.stdout is None:
        raise StandardOutputError("it is closed")
    try:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except BrokenPipeError:  # a reader that left (`| head`) is no error of ours
        raise
    except OSError as problem:
        raise StandardOutputError(problem.strerror or str(problem)) from problem


@contextmanager
def _replaced(path: Path) -> Iterator[BinaryIO]:
    with tempfile.NamedTemporaryFile(
        dir=path.parent, prefix=f".{path.name[:64]}.", delete=False
    ) as out:
        temporary = Path(out.name)
        try:
            yield cast(BinaryIO, out)
        except BaseException:
            with suppress(FileNotFoundError):
                temporary.unlink()
            raise
    # Temporary files are private; a result is as readable as any new file.
    temporary.chmod(0o666 & ~_umask())
    temporary.replace(path)


def _umask() -> int:
    with Path("/proc/self/status").open() as status:
        for line in status:
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    return 0o022


@contextmanager
def compressed(out: BinaryIO) -> Iterator[BinaryIO]:
    """Compress what is written to `out`; the same content gives the same bytes."""
    with gzip.GzipFile(
        filename="", mode="wb", compresslevel=_COMPRESSION, fileobj=out, mtime=0
    ) as stream:
        yield cast(BinaryIO, stream)
