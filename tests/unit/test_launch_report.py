"""What a run says at its end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ktrace_cli.launch.filters import check_blocks, check_numbers, check_patterns, check_words
from ktrace_cli.launch.report import notes, recordings, result_line, warnings
from ktrace_cli.launch.run import RunResult
from ktrace_cli.launch.status import ProcessStatus, read_statuses
from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import LossReason


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder from which absolute paths are the shorter ones, whatever pytest's is."""
    monkeypatch.chdir(tmp_path)


def process(
    folder: Path, pid: int = 7, losses: dict[int, int] | None = None, **fields: Any
) -> None:
    """Write one process's status file; names of `counts` go there."""
    row = np.zeros((), layout.STATUS)
    row["magic"], row["size"], row["pid"] = layout.STATUS_MAGIC, layout.STATUS.itemsize, pid
    for name, value in fields.items():
        (row["counts"] if name in layout.END.names else row)[name] = value
    for reason, count in (losses or {}).items():
        row["losses"][reason] = count
    (folder / f"{pid}.status").write_bytes(row.tobytes())


def result(folder: Path, status: int = 0, not_preloaded: str = "") -> RunResult:
    return RunResult(status, tuple(read_statuses(folder)), not_preloaded)


def test_the_recordings_are_named_with_the_next_command(tmp_path: Path) -> None:
    process(tmp_path, 7, dispatches=3, bytes=2048, output=b"/out/a.bin")
    process(tmp_path, 8, dispatches=1, bytes=1024, output=b"/out/a.8.bin")
    process(tmp_path, 9, launches=2)

    assert result_line(result(tmp_path)) == (
        "recorded 4 dispatches in /out/a.bin, /out/a.8.bin (3.0 KiB); "
        "next: `ktrace decode /out/a.bin`"
    )
    assert len(recordings(result(tmp_path))) == 2


def test_a_name_that_the_shell_would_split_is_quoted(tmp_path: Path) -> None:
    process(tmp_path, dispatches=1, bytes=10, output=b"/out/a b.bin")

    assert result_line(result(tmp_path)).endswith("next: `ktrace decode '/out/a b.bin'`")


def test_losses_of_all_processes_are_added_up_in_words(tmp_path: Path) -> None:
    process(tmp_path, 7, {LossReason.CAPTURE: 2, LossReason.CODE_OBJECT: 1})
    process(tmp_path, 8, {LossReason.CAPTURE: 3}, message=b"the disk is full", program=b"app")

    assert warnings(result(tmp_path)) == [
        "process 8 (app): the disk is full",
        "5 launches were not traced: launched during stream capture",
        "1 code object could not be read",
    ]


@pytest.mark.parametrize("reason", [r for r in LossReason if r is not LossReason.CODE_OBJECT])
def test_every_reason_has_words(tmp_path: Path, reason: LossReason) -> None:
    process(tmp_path, losses={reason: 1})

    (line,) = warnings(result(tmp_path))
    assert line.startswith("1 launch was not traced: ")
    assert len(line) > len("1 launch was not traced: ")


def test_what_was_recorded_in_part_is_said(tmp_path: Path) -> None:
    process(tmp_path, dropped_words=1, claim_launches=2, unseen_launches=3, grown_launches=1)

    assert warnings(result(tmp_path)) == [
        "1 word did not fit its wave's region; `--words` makes regions larger",
        "2 launches had more waves than `--memory` holds: the first to start are recorded",
        "3 launches were of kernels whose code object ktrace did not see: not traced",
    ]
    assert notes(result(tmp_path)) == [
        "1 launch got larger regions than the rule gives, because an earlier launch needed them"
    ]


def test_the_hint_to_annotate_is_only_given_where_it_helps(tmp_path: Path) -> None:
    hint = "compile the kernel with ktrace.hpp and -DKTRACE_ENABLE"
    nothing = result_line(result(tmp_path))
    process(tmp_path, launches=2, code_objects=1)
    plain = result_line(result(tmp_path))
    process(tmp_path, launches=2, code_objects=1, unread_fat_binaries=1)
    unread = result_line(result(tmp_path))
    process(tmp_path, launches=2, code_objects=1, unseen_launches=2)
    unseen = result_line(result(tmp_path))
    process(tmp_path)
    no_code = result_line(result(tmp_path))

    assert [hint in line for line in (nothing, plain, unread, unseen, no_code)] == [
        False, True, False, False, False,
    ]  # fmt: skip
    assert "1 registered binary was not looked into" in unread


def test_a_process_that_could_not_be_preloaded_is_said(tmp_path: Path) -> None:
    assert warnings(result(tmp_path, not_preloaded="it is statically linked")) == [
        "the interposer was not loaded into the program: it is statically linked"
    ]


def test_a_status_file_cut_short_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "7.status").write_bytes(b"\0" * 100)
    (tmp_path / "8.status").write_bytes(bytes(layout.STATUS.itemsize))

    assert read_statuses(tmp_path) == []


def test_statuses_come_in_the_order_of_process_ids(tmp_path: Path) -> None:
    for pid in (10, 9, 101):
        process(tmp_path, pid)

    pids: list[int] = [status.pid for status in read_statuses(tmp_path)]
    assert pids == [9, 10, 101]
    assert all(isinstance(status, ProcessStatus) for status in read_statuses(tmp_path))


def test_good_filters_pass() -> None:
    check_words("32")
    check_words("1048576")
    check_numbers("--waves", "0,4-7,31")
    for blocks in ("*", "0", "0:64:8,0", ":4", "2:", "*,*,1:2"):
        check_blocks(blocks)
    check_patterns(["gemm*", "/attn_(fwd|bwd)/", "/"])
