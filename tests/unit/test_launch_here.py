"""The status of the process that we are: found by what is mapped, read while it changes."""

from __future__ import annotations

import mmap
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ktrace_cli.launch.here import OwnStatus
from ktrace_cli.trace_file import layout


def map_status(path: Path, *, flags: int = 0, launches: int = 0) -> tuple[mmap.mmap, Any]:
    """Make a status file and map it, as the interposer does."""
    row = np.zeros(1, layout.STATUS)
    row["magic"], row["size"], row["flags"] = layout.STATUS_MAGIC, layout.STATUS.itemsize, flags
    row["counts"]["launches"] = row["counts"]["annotated_launches"] = launches
    path.write_bytes(row.tobytes())
    with path.open("r+b") as file:
        mapped = mmap.mmap(file.fileno(), 0)
    return mapped, np.frombuffer(mapped, layout.STATUS)


@pytest.fixture
def mapped(tmp_path: Path) -> Iterator[Any]:
    kept, row = map_status(tmp_path / f"{os.getpid()}.status", launches=2)
    yield row
    del row
    assert kept is not None


def test_a_process_that_has_not_called_hip_has_no_status(tmp_path: Path) -> None:
    assert OwnStatus(tmp_path).read() is None


def test_what_changes_is_read_anew(tmp_path: Path, mapped: Any) -> None:
    own = OwnStatus(tmp_path)

    first = own.read()
    mapped["counts"]["launches"] = 7
    second = own.read()

    assert first is not None
    assert second is not None
    assert (first.launches, second.launches) == (2, 7)


def test_the_session_may_be_named_through_a_link(tmp_path: Path, mapped: Any) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path)

    status = OwnStatus(link).read()

    assert status is not None
    assert status.launches == mapped["counts"]["launches"][0] == 2


def test_of_several_files_of_a_process_id_the_mapped_one_counts(tmp_path: Path) -> None:
    earlier, _ = map_status(tmp_path / f"{os.getpid()}.status", launches=2)
    kept = map_status(tmp_path / f"{os.getpid()}.2.status", launches=3)
    bystander = map_status(tmp_path / f"{os.getpid()}.3.status", flags=layout.StatusFlag.BYSTANDER)
    del _
    earlier.close()

    status = OwnStatus(tmp_path).read()

    assert status is not None
    assert status.launches == 3
    assert (kept, bystander) is not None


def test_waiting_ends_when_every_launch_is_recorded(tmp_path: Path, mapped: Any) -> None:
    def record() -> None:
        mapped["counts"]["dispatches"] = 2

    timer = threading.Timer(0.05, record)
    timer.start()
    status = OwnStatus(tmp_path).wait_until_copied(60)
    timer.join()

    assert status is not None
    assert (status.dispatches, status.open_launches) == (2, 0)


def test_waiting_ends_when_time_is_over(tmp_path: Path, mapped: Any) -> None:
    mapped["counts"]["dispatches"] = 1

    status = OwnStatus(tmp_path).wait_until_copied(0.01)

    assert status is not None
    assert status.open_launches == 1
