"""Which processes, threads and devices the pids and tids of a PyTorch trace are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ktrace_cli.importers.builder import Builder
from ktrace_cli.importers.chrome_events import Rows, Sorted
from ktrace_cli.importers.host_trace import HostTrack, Kind

KIND_BY_CATEGORY = {
    "kernel": Kind.KERNEL,
    "gpu_memcpy": Kind.COPY,
    "gpu_memset": Kind.COPY,
    "gpu_user_annotation": Kind.SPAN,
}
OF_HOST = ("cuda_runtime", "cuda_driver", "hip_runtime", "cpu_op", "user_annotation")
_NEVER_ON_A_DEVICE = (*OF_HOST, "python_function", "cpu_instant_event", "Trace", "overhead")
_ANNOTATION = "gpu_user_annotation"


@dataclass(frozen=True)
class Owner:
    """The process that the devices worked for."""

    pid: int
    host: str
    rank: str
    """`rank 3`, or ""."""


def main_process(rows: Rows) -> int:
    """Return the process that the devices worked for: the one with most calls."""
    pids = Counter(
        pid
        for pid, category in zip(rows.pid, rows.category, strict=True)
        if category in OF_HOST and isinstance(pid, int) and pid > 0
    )
    return max(pids, key=lambda pid: pids[pid]) if pids else 0


def rank_of(header: Mapping[str, Any]) -> str:
    """Return `rank 3` if the trace tells its rank."""
    distributed = header.get("distributedInfo")
    rank = distributed.get("rank") if isinstance(distributed, Mapping) else None
    return f"rank {rank}" if isinstance(rank, int) else ""


class Places:
    """Which process and track something is shown on."""

    def __init__(self, builder: Builder, events: Sorted, owner: Owner) -> None:
        self._builder, self._events, self._owner = builder, events, owner
        self._devices = {
            pid
            for pid, category in zip(events.rows.pid, events.rows.category, strict=True)
            if category in KIND_BY_CATEGORY and isinstance(pid, int)
        }

    def kind_of_place(self, pid: object, category: str) -> str:
        """Return what tells tracks of one pid and tid apart: "" for the host.

        PyTorch numbers devices as it numbers processes: GPU 1 and a container's process 1 are one
        pid, and so are GPU 0 and the functions of Python, which have none.
        """
        if category in _NEVER_ON_A_DEVICE or pid not in self._devices:
            return ""
        return "annotations" if category == _ANNOTATION else "stream"

    def track(self, pid: object, tid: object, kind: str) -> HostTrack:
        """Return the track of a Chrome pid and tid; `kind` is of `kind_of_place`."""
        if kind:
            label = self._events.process_labels.get(pid) or f"GPU {pid}"
            name = f"stream {tid}" + (" annotations" if kind == "annotations" else "")
            return HostTrack(self._process(self._owner.pid), name, device=label)
        name = self._events.thread_names.get((pid, tid), "")
        if not isinstance(pid, int) or pid <= 0:
            owner = f"{pid} · " if isinstance(pid, str) and pid else ""
            return HostTrack(self._process(self._owner.pid), f"{owner}{name or tid}" or "trace")
        thread = tid if isinstance(tid, int) and tid > 0 else 0
        return HostTrack(self._process(pid), name or f"thread {tid}", thread=thread)

    def _process(self, pid: int) -> int:
        name = self._events.process_names.get(pid, "")
        parts = [
            part for part in (name, self._owner.rank if pid == self._owner.pid else "") if part
        ]
        return self._builder.process(pid, " · ".join(parts), self._owner.host)
