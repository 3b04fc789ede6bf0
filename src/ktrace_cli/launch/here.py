"""The status of the process that we are, while it runs: what the interposer has counted so far."""

from __future__ import annotations

import mmap
import os
import time
from pathlib import Path

import numpy as np

from ktrace_cli.launch.status import ProcessStatus, status_of
from ktrace_cli.trace_file import layout

_SHORTEST_PAUSE_S = 0.001
_LONGEST_PAUSE_S = 0.05


class OwnStatus:
    """Finds this process's status file and reads it whenever asked."""

    def __init__(self, session: Path) -> None:
        self._session = Path(os.path.realpath(session))
        self._pid = os.getpid()
        self._data: mmap.mmap | None = None

    def read(self) -> ProcessStatus | None:
        """Return what is counted; None if this process has not called HIP yet."""
        if self._data is None and (path := self._path()):
            with path.open("rb") as file:
                data = mmap.mmap(file.fileno(), layout.STATUS.itemsize, access=mmap.ACCESS_READ)
            self._data = data
        if self._data is None:
            return None
        return status_of(np.frombuffer(self._data, layout.STATUS, count=1)[0].copy())

    def wait_until_copied(self, limit_s: float) -> ProcessStatus | None:
        """Wait until every launch of an annotated kernel is recorded or lost, or time is over."""
        end = time.monotonic() + limit_s
        pause = _SHORTEST_PAUSE_S
        status = self.read()
        while status and status.open_launches and time.monotonic() < end:
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)
            status = self.read()
        return status

    def _path(self) -> Path | None:
        """Find the file by what is mapped: a process id that is used again has several of them."""
        if not (self._session / f"{self._pid}.status").exists():
            return None
        found = None
        for line in Path("/proc/self/maps").read_text("utf-8", "surrogateescape").splitlines():
            path = Path(line.partition("/")[1] + line.partition("/")[2])
            # After a fork the parent's is mapped as well.
            is_ours = path.parent == self._session and path.name.startswith(f"{self._pid}.")
            if is_ours and path.suffix == ".status" and not _is_bystander(path):
                found = path
        return found


def _is_bystander(path: Path) -> bool:
    row = np.frombuffer(path.read_bytes(), layout.STATUS, count=1)[0]
    return bool(row["flags"] & layout.StatusFlag.BYSTANDER)
