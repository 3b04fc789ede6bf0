"""Where results go: the one rule on existing files, and compressed files that are reproducible."""

from __future__ import annotations

import shlex
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from ktrace_cli.errors import KtraceError, StandardOutputError, UsageError

try:
    from isal import isal_zlib
except ImportError:  # there are no wheels for some machines
    isal_zlib = None  # type: ignore[assignment] # a module that is not there

STDOUT = Path("-")
_GZIP = 16 + zlib.MAX_WBITS  # with the header of a .gz file, whose date is 0
# isal's level 2 writes four times as fast as zlib's level 1, and less; that one writes three times
# as fast as zlib's default, and a tenth more.
_ISAL_LEVEL, _ZLIB_LEVEL = 2, 1


def check_place(path: Path, *, may_replace: bool) -> None:
    """Refuse to write where nothing can be written, before there is something to write.

    Raises:
        KtraceError: the file exists and must stay, it is a folder, or its folder is missing.
    """
    if path == STDOUT:
        return
    try:
        is_file, is_folder, has_folder = path.is_file(), path.is_dir(), path.parent.is_dir()
    except OSError as problem:
        raise _cannot(path, problem) from problem
    if is_file and not may_replace:
        raise KtraceError(
            f"{path} exists",
            why="it would be overwritten",
            fix="add `--force`, or name another file",
        )
    if is_folder:
        raise KtraceError(
            f"cannot write {path}",
            why="it is a folder",
            fix="name a file, in this folder or another one",
        )
    if not has_folder:
        raise KtraceError(
            f"cannot write {path}",
            why=f"there is no folder {path.parent}, and ktrace makes none here",
            fix=f"`mkdir -p {shlex.quote(str(path.parent))}`, or name another file",
        )


def refuse_inputs(output: Path, inputs: Iterable[Path], what: str = "recording") -> None:
    """Refuse to write over what is read, also through links and with `--force`.

    Args:
        output: where is to be written.
        inputs: what is read.
        what: a word for each of them.

    Raises:
        UsageError: `output` is one of these files.
    """
    for path in inputs:
        if output != STDOUT and _is_same(output, path):
            raise UsageError(
                f"will not write to {output}",
                why=f"it is the {what} {'' if output == path else f'{path} '}itself",
                fix="name another file with `-o`",
            )


def refuse_terminal(output: Path) -> None:
    """Refuse to print to a terminal what is no text.

    Raises:
        UsageError: `output` is stdout, and that is a terminal.
    """
    if output == STDOUT and sys.stdout is not None and sys.stdout.isatty():
        raise UsageError(
            "will not write to a terminal",
            why="what would be written is no text",
            fix="name a file with `-o`, or pipe it to a program",
        )


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:  # one of them is not there, or cannot be looked at
        return False


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
    check_place(path, may_replace=may_replace)
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as out:
                yield out
            return
        with _replaced(path) as out:
            yield out
    except OSError as problem:
        raise _cannot(path, problem) from problem


def _cannot(path: Path, problem: OSError) -> KtraceError:
    return KtraceError(
        f"cannot write {path}",
        why=problem.strerror or str(problem),
        fix="name a file in a folder that can be written to and has room",
    )


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


class Sink(Protocol):
    """What exporters write to."""

    def write(self, data: bytes | memoryview, /) -> object:
        """Take all of `data`, and keep none of it: it is written over later."""


class _Compressing:
    """Compresses on the way to a sink. Unlike GzipFile it writes nothing when it is collected."""

    def __init__(self, out: Sink) -> None:
        self._out = out
        self._compressor = (
            isal_zlib.compressobj(_ISAL_LEVEL, wbits=_GZIP)
            if isal_zlib
            else zlib.compressobj(_ZLIB_LEVEL, wbits=_GZIP)
        )

    def write(self, data: bytes | memoryview, /) -> None:
        self._out.write(self._compressor.compress(data))

    def finish(self) -> None:
        self._out.write(self._compressor.flush())


@contextmanager
def compressed(out: Sink) -> Iterator[Sink]:
    """Compress what is written to `out`; the same content gives the same bytes."""
    stream = _Compressing(out)
    yield stream
    stream.finish()
