"""What the processes of a run report about themselves, through files that outlive any crash."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ktrace_cli.trace_file import layout


@dataclass(frozen=True)
class ProcessStatus:
    """One process that called HIP."""

    pid: int
    program: str
    output: Path | None
    """Its recording, if it began one."""
    is_software: bool
    is_closed: bool
    output_failed: bool
    message: str
    code_objects: int
    annotated_code_objects: int
    annotated_kernels: int
    launches: int
    annotated_launches: int
    dispatches: int
    size: int
    """Bytes of its recording."""
    losses: dict[layout.LossReason, int]


def read_statuses(folder: Path) -> list[ProcessStatus]:
    """Read what every process wrote, in the order of their process ids.

    A file that is too short is of a process that ended while it made it: it has nothing to say.
    """
    statuses = []
    for path in sorted(folder.glob("*.status"), key=_process_order):
        raw = path.read_bytes()
        if len(raw) < layout.STATUS.itemsize:
            continue
        row = np.frombuffer(raw, layout.STATUS, count=1)[0]
        if row["magic"] == layout.STATUS_MAGIC:
            statuses.append(_status(row))
    return statuses


def _process_order(path: Path) -> tuple[int, ...]:
    """Sort `<pid>.status` and, where a process id was used again, `<pid>.2.status`."""
    return tuple(int(part) for part in path.stem.split(".") if part.isdigit())


def _status(row: np.void) -> ProcessStatus:
    counts, flags = row["counts"], int(row["flags"])
    output = _text(row["output"])
    return ProcessStatus(
        pid=int(row["pid"]),
        program=_text(row["program"]),
        output=Path(output) if output else None,
        is_software=bool(flags & layout.StatusFlag.SOFTWARE_DEVICE),
        is_closed=bool(flags & layout.StatusFlag.CLOSED),
        output_failed=bool(flags & layout.StatusFlag.OUTPUT_FAILED),
        message=_text(row["message"]),
        code_objects=int(counts["code_objects"]),
        annotated_code_objects=int(counts["annotated_code_objects"]),
        annotated_kernels=int(counts["annotated_kernels"]),
        launches=int(counts["launches"]),
        annotated_launches=int(counts["annotated_launches"]),
        dispatches=int(counts["dispatches"]),
        size=int(row["bytes"]),
        losses={
            reason: count for reason in layout.LossReason if (count := int(row["losses"][reason]))
        },
    )


def _text(field: np.bytes_) -> str:
    return bytes(field).split(b"\0", 1)[0].decode("utf-8", "surrogateescape")
