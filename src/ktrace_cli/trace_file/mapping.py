"""Maps a file into memory. Knows nothing of what is in it."""

from __future__ import annotations

import mmap
import stat
from pathlib import Path

from ktrace_cli.errors import KtraceError

Bytes = bytes | mmap.mmap


def forget(data: Bytes) -> None:
    """Give back the memory of what was read: it is read again when it is looked at again."""
    if isinstance(data, mmap.mmap):
        data.madvise(mmap.MADV_DONTNEED)


def map_file(path: Path, error: type[KtraceError]) -> Bytes:
    """Return a file's content without reading it yet.

    Raises:
        error: the file cannot be opened, or is a pipe or device.
    """
    try:
        mode = path.stat().st_mode
        # A folder is left to `open`, which words it; a pipe would be waited for.
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise error(
                f"cannot read {path}",
                why="it is no regular file, and is read from several places at once",
                fix="write it to a file first",
            )
        with path.open("rb") as file:
            # An empty file cannot be mapped.
            head = file.read(1)
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if head else b""
    except OSError as problem:
        raise error(
            f"cannot read {path}", why=problem.strerror or str(problem), fix="check the path"
        ) from problem
