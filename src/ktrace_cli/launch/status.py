"""What the processes of a run report about themselves, through files that outlive any crash."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ktrace_cli.trace_file import layout

_LOSSES_OF_NO_LAUNCH = {layout.LossReason.CODE_OBJECT}


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
    is_refused: bool
    """Its configuration was not understood: it ran untraced, and `message` says why."""
    message: str
    """The first trouble, in words."""
    code_objects: int
    annotated_code_objects: int
    annotated_kernels: int
    launches: int
    annotated_launches: int
    dispatches: int
    size: int
    """Bytes of its recording."""
    losses: dict[layout.LossReason, int]
    unselected_launches: int
    """Of annotated kernels that `--kernel` did not choose."""
    unseen_launches: int
    """Of kernels whose code object ktrace never saw."""
    unread_fat_binaries: int
    """Registered, but never read: no other count knows what is in them."""
    claim_launches: int
    """Dispatches with fewer slots than waves."""
    grown_launches: int
    """Dispatches with larger regions than the rule gives, as an earlier launch needed them."""
    dropped_words: int
    """Words that found no room in their wave's region."""
    skipped_launches: int
    """Chosen by name, but outside of the iteration range or the collection period."""
    waited_launches: int
    """Launches that waited for a buffer: `--on-full wait`."""
    waited_ns: int
    """For how long they waited, in all."""
    unfinished_dispatches: int
    """Recorded while they were still running, or when they faulted: `--hang`."""
    saturated_launches: int
    """That lost words under `--full ring`, as their kernel was not built for it."""
    graph_launches: int
    """Kernel nodes of graphs that were launched, also in `launches`."""
    untraced_children: int
    """Programs started with an environment without ktrace."""
    unbound_libraries: int
    """Opened with RTLD_DEEPBIND, which was taken away."""
    unhooked_copies: int
    """Copies of HIP whose calls are not seen: too many in one process."""
    replaced_dispatches: int
    """Among `dispatches`: recorded while still running, and recorded again later."""
    is_bystander: bool = False
    """It never called HIP: only `untraced_children` has a meaning."""

    @property
    def recorded_dispatches(self) -> int:
        """Each once, however often it was recorded."""
        return self.dispatches - self.replaced_dispatches

    @property
    def open_launches(self) -> int:
        """Launches of annotated kernels that are neither recorded, nor lost, nor left out."""
        lost = sum(n for reason, n in self.losses.items() if reason not in _LOSSES_OF_NO_LAUNCH)
        left_out = self.unselected_launches + self.skipped_launches
        return max(self.annotated_launches - self.recorded_dispatches - lost - left_out, 0)


def read_statuses(folder: Path) -> list[ProcessStatus]:
    """Read what every process wrote, in the order of their process ids.

    A file that is too short is of a process that ended while it made it: it has nothing to say. One
    of another size is of an interposer of another version, which says so on standard error itself.
    """
    statuses = []
    for path in sorted(folder.glob("*.status"), key=_process_order):
        raw = path.read_bytes()
        if len(raw) < layout.STATUS.itemsize:
            continue
        row = np.frombuffer(raw, layout.STATUS, count=1)[0]
        if row["magic"] == layout.STATUS_MAGIC and row["size"] == layout.STATUS.itemsize:
            statuses.append(status_of(row))
    return statuses


def _process_order(path: Path) -> tuple[int, ...]:
    """Sort `<pid>.status` and, where a process id was used again, `<pid>.2.status`."""
    return tuple(int(part) for part in path.stem.split(".") if part.isdigit())


def status_of(row: np.void) -> ProcessStatus:
    """Return what a layout.STATUS says."""
    counts, flags = row["counts"], int(row["flags"])
    output = _text(row["output"])
    return ProcessStatus(
        pid=int(row["pid"]),
        program=_text(row["program"]),
        output=Path(output) if output else None,
        is_software=bool(flags & layout.StatusFlag.SOFTWARE_DEVICE),
        is_closed=bool(flags & layout.StatusFlag.CLOSED),
        output_failed=bool(flags & layout.StatusFlag.OUTPUT_FAILED),
        is_refused=bool(flags & layout.StatusFlag.REFUSED),
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
        unselected_launches=int(row["unselected_launches"]),
        unseen_launches=int(row["unseen_launches"]),
        unread_fat_binaries=int(row["unread_fat_binaries"]),
        claim_launches=int(row["claim_launches"]),
        grown_launches=int(row["grown_launches"]),
        dropped_words=int(row["dropped_words"]),
        skipped_launches=int(row["skipped_launches"]),
        waited_launches=int(row["waited_launches"]),
        waited_ns=int(row["waited_ns"]),
        unfinished_dispatches=int(row["unfinished_dispatches"]),
        saturated_launches=int(row["saturated_launches"]),
        graph_launches=int(row["graph_launches"]),
        untraced_children=int(row["untraced_children"]),
        unbound_libraries=int(row["unbound_libraries"]),
        unhooked_copies=int(row["unhooked_copies"]),
        replaced_dispatches=int(row["replaced_dispatches"]),
        is_bystander=bool(flags & layout.StatusFlag.BYSTANDER),
    )


def _text(field: np.bytes_) -> str:
    return bytes(field).split(b"\0", 1)[0].decode("utf-8", "surrogateescape")
