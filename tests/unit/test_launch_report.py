"""What a run says at its end."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ktrace_cli.launch.environment import TraceOptions
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
    """Write the status file of a process that has ended; names of `counts` go there."""
    row = np.zeros((), layout.STATUS)
    row["magic"], row["size"], row["pid"] = layout.STATUS_MAGIC, layout.STATUS.itemsize, pid
    row["flags"] = layout.StatusFlag.CLOSED
    for name, value in fields.items():
        (row["counts"] if name in layout.END.names else row)[name] = value
    for reason, count in (losses or {}).items():
        row["losses"][reason] = count
    (folder / f"{pid}.status").write_bytes(row.tobytes())


def result(folder: Path, **fields: Any) -> RunResult:
    return RunResult(0, tuple(read_statuses(folder)), **fields)


def test_the_recordings_are_named_with_the_next_command(tmp_path: Path) -> None:
    process(tmp_path, 7, dispatches=3, bytes=2048, output=b"/out/a.bin")
    process(tmp_path, 8, dispatches=1, bytes=1024, output=b"/out/a.8.bin")
    process(tmp_path, 9, launches=2)

    assert result_line(result(tmp_path)) == (
        "recorded 4 dispatches in /out/a.bin, /out/a.8.bin (3.0 KiB); "
        "next: `ktrace merge /out/a.bin /out/a.8.bin -o merged.pftrace.gz`"
    )
    assert len(recordings(result(tmp_path))) == 2


def test_more_recordings_than_a_line_holds_are_merged_by_name(tmp_path: Path) -> None:
    for pid in range(5):
        process(tmp_path, pid, dispatches=1, bytes=10, output=f"/out/{pid}.bin".encode())

    line = result_line(result(tmp_path))

    assert line.endswith("and 1 more (50 B); next: `ktrace merge FILE... -o merged.pftrace.gz`")


def test_of_dispatches_without_an_end_the_summary_is_next(tmp_path: Path) -> None:
    process(tmp_path, 7, dispatches=1, bytes=10, output=b"/out/a.bin")
    process(tmp_path, 8, dispatches=1, bytes=10, output=b"/out/a b.bin", unfinished_dispatches=1)

    line = result_line(result(tmp_path))

    assert line.endswith("; next: `ktrace summary '/out/a b.bin'`")
    assert "decode" not in line
    assert result_line(result(tmp_path), names_next=False).endswith("(20 B)")


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


def test_launches_that_are_in_no_other_count_are_said(tmp_path: Path) -> None:
    process(tmp_path, 7, {LossReason.CAPTURE: 2}, annotated_launches=9, dispatches=4)
    process(tmp_path, 8, {LossReason.CODE_OBJECT: 5}, annotated_launches=2, dispatches=1)

    assert warnings(result(tmp_path))[-1] == (
        "4 launches were not traced: HIP did not return from the call: the process was "
        "ending, the thread was cancelled, or HIP threw an exception"
    )


@pytest.mark.parametrize("reason", [r for r in LossReason if r is not LossReason.CODE_OBJECT])
def test_every_reason_has_words(tmp_path: Path, reason: LossReason) -> None:
    process(tmp_path, losses={reason: 1})

    (line,) = warnings(result(tmp_path))
    assert line.startswith("1 launch was not traced: ")
    assert len(line) > len("1 launch was not traced: ")


@pytest.mark.parametrize(
    ("counter", "count", "line"),
    [
        ("dropped_words", 1,
         "1 word did not fit its wave's region; `--words` makes regions larger"),
        ("claim_launches", 2,
         "2 launches had more waves than `--memory` holds: the first to start are recorded"),
        ("unseen_launches", 3,
         "3 launches were of kernels whose code object ktrace did not see: not traced"),
        ("saturated_launches", 4,
         "4 launches kept the first words of a full region, not the last: compile the kernel with "
         "-DKTRACE_RING for `--full ring`"),
        ("unfinished_dispatches", 1,
         "1 dispatch was recorded without an end; `ktrace summary` names the open phases"),
        ("untraced_children", 2,
         "2 programs were started with an environment without ktrace's variables: not traced; "
         "pass LD_PRELOAD and KTRACE_* on"),
        ("unhooked_copies", 1,
         "the calls of 1 copy of HIP were not seen: one process loaded more of them than ktrace "
         "can tell apart"),
    ],
)  # fmt: skip
def test_what_is_missing_is_said_with_what_to_do(
    counter: str, count: int, line: str, tmp_path: Path
) -> None:
    process(tmp_path, **{counter: count})

    assert warnings(result(tmp_path)) == [line]
    assert notes(result(tmp_path)) == []


@pytest.mark.parametrize(
    ("counters", "line"),
    [
        ({"grown_launches": 1},
         "1 launch got larger regions than the rule gives, because an earlier launch needed them"),
        ({"waited_launches": 3, "waited_ns": 12_345_678},
         "3 launches waited 12.3 ms in all for a trace buffer; more `--memory` avoids it"),
        ({"unbound_libraries": 1},
         "1 library was opened without the RTLD_DEEPBIND that the program asked for, so that "
         "ktrace sees the calls"),
    ],
)  # fmt: skip
def test_what_ktrace_did_on_its_own_account_is_said(
    counters: dict[str, int], line: str, tmp_path: Path
) -> None:
    process(tmp_path, **counters)

    assert notes(result(tmp_path)) == [line]
    assert warnings(result(tmp_path)) == []


def test_counts_of_all_processes_are_added_up(tmp_path: Path) -> None:
    process(tmp_path, 7, untraced_children=1)
    process(tmp_path, 8, untraced_children=1000)

    assert warnings(result(tmp_path))[0].startswith("1,001 programs were started")


def test_a_run_that_worked_has_nothing_to_say_but_its_result(tmp_path: Path) -> None:
    process(
        tmp_path, dispatches=3, bytes=9, output=b"/out/a.bin", graph_launches=2,
        skipped_launches=4, unselected_launches=5, unread_fat_binaries=1,
    )  # fmt: skip

    assert warnings(result(tmp_path)) == []
    assert notes(result(tmp_path)) == []


def test_what_was_left_out_by_choice_is_said_where_nothing_was_recorded(tmp_path: Path) -> None:
    process(
        tmp_path, code_objects=1, annotated_code_objects=1, annotated_kernels=2, launches=9,
        annotated_launches=8, graph_launches=6, unselected_launches=1, skipped_launches=7,
    )  # fmt: skip

    assert result_line(result(tmp_path)) == (
        "nothing was recorded: saw 1 code object (1 annotated, with 2 annotated kernels) and "
        "9 launches (8 of annotated kernels, 6 in graphs); the filters of kernels left out "
        "1 launch, the range of iterations or the collection period left out 7 launches"
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kernel_iterations": "2"}, "the range of iterations left out 7 launches"),
        ({"periods": "1:1:1"}, "the collection period left out 7 launches"),
        ({"kernel_iterations": "2", "periods": "1:1:1"},
         "the range of iterations or the collection period left out 7 launches"),
    ],
)  # fmt: skip
def test_the_option_that_left_launches_out_is_named(
    options: dict[str, str], words: str, tmp_path: Path
) -> None:
    process(tmp_path, code_objects=1, annotated_code_objects=1, skipped_launches=7)

    line = result_line(result(tmp_path, options=TraceOptions(**options)))  # type: ignore[arg-type]
    assert line.endswith(f"; {words}")


def test_kernels_that_the_filters_left_out_are_named(tmp_path: Path) -> None:
    process(tmp_path, code_objects=1, annotated_code_objects=1, unselected_launches=12)

    assert result_line(result(tmp_path, not_chosen=("add", "tpl<3>"))).endswith(
        "; the filters of kernels left out 12 launches (annotated kernels here: add, tpl<3>)"
    )


def test_a_file_that_was_not_replaced_is_named(tmp_path: Path) -> None:
    process(tmp_path, launches=1)

    assert result_line(result(tmp_path, not_replaced=Path("a.bin"))).endswith(
        "; a.bin is still the one of an earlier run"
    )


@pytest.mark.parametrize(
    ("without", "line"),
    [
        (12, "no wave was recorded: `--blocks 99 --xcc 9` chose none of any dispatch"),
        (1, "1 dispatch has no wave: `--blocks 99 --xcc 9` chose none of theirs"),
    ],
)
def test_filters_that_left_no_wave_are_named(without: int, line: str, tmp_path: Path) -> None:
    process(tmp_path, dispatches=12, output=b"/out/a.bin")
    options = TraceOptions(blocks="99", xcc="9")

    assert warnings(result(tmp_path, options=options, without_waves=without)) == [line]


def test_a_run_that_decodes_says_nothing_of_decoding(tmp_path: Path) -> None:
    process(tmp_path, dispatches=3, bytes=2048, output=b"/out/a.bin")

    assert result_line(result(tmp_path), names_next=False) == (
        "recorded 3 dispatches in /out/a.bin (2.0 KiB)"
    )


def test_a_folder_that_had_to_stay_is_named(tmp_path: Path) -> None:
    assert notes(result(tmp_path, kept_session=Path("/tmp/ktrace-x"))) == [
        "processes of the run outlive it, and what they start needs /tmp/ktrace-x: remove it when "
        "they have ended"
    ]


def test_a_process_that_outlives_the_program_is_named(tmp_path: Path) -> None:
    process(tmp_path, os.getpid(), program=b"server", flags=0)
    process(tmp_path, os.getpid() + 1_000_000_000, program=b"gone", flags=0)

    assert warnings(result(tmp_path)) == [
        f"process {os.getpid()} (server) is still running: what it records from now on is not in "
        "this report"
    ]


WHAT_TO_DO = (
    "not traced; a process that ends by `exit` waits for them, and `--hang` records kernels that "
    "do not end"
)


def test_launches_that_a_process_took_with_it_are_said(tmp_path: Path) -> None:
    gone = {"flags": 0, "program": b"gone", "annotated_launches": 100}
    process(
        tmp_path, 1_000_000_007, {LossReason.CAPTURE: 5, LossReason.CODE_OBJECT: 50}, **gone,
        launches=1000, dispatches=60, replaced_dispatches=4, unselected_launches=20,
        skipped_launches=10, claim_launches=3, unfinished_dispatches=2, graph_launches=40,
    )  # fmt: skip
    process(tmp_path, 1_000_000_008, **gone, dispatches=99)

    lines = [line for line in warnings(result(tmp_path)) if line.startswith("process ")]

    assert lines == [
        "process 1000000007 (gone) ended before 9 launches were copied back: " + WHAT_TO_DO,
        "process 1000000008 (gone) ended before 1 launch was copied back: " + WHAT_TO_DO,
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"flags": 0, "dispatches": 5},
        {"flags": 0, "dispatches": 3, "losses": {LossReason.NOT_FINISHED: 2}},
        {"flags": 0, "dispatches": 4, "losses": {LossReason.NOT_FINISHED: 2}},  # lost and recorded
        {"flags": layout.StatusFlag.CLOSED, "dispatches": 3},
    ],
)
def test_nothing_is_said_of_a_process_that_took_no_launch_with_it(
    fields: dict[str, Any], tmp_path: Path
) -> None:
    process(tmp_path, 1_000_000_007, annotated_launches=5, **fields)

    assert not [line for line in warnings(result(tmp_path)) if "copied back" in line]


def test_a_process_that_is_running_took_no_launch_with_it(tmp_path: Path) -> None:
    process(tmp_path, os.getpid(), flags=0, annotated_launches=5)

    (line,) = warnings(result(tmp_path))
    assert "is still running" in line


def test_what_a_process_was_before_exec_has_ended(tmp_path: Path) -> None:
    process(tmp_path, os.getpid(), program=b"before", flags=0, annotated_launches=5, dispatches=4)
    (tmp_path / f"{os.getpid()}.status").rename(tmp_path / f"{os.getpid()}.1.status")
    process(tmp_path, os.getpid(), program=b"after", flags=0)
    (tmp_path / f"{os.getpid()}.status").rename(tmp_path / f"{os.getpid()}.2.status")

    before, after = warnings(result(tmp_path))

    assert before.startswith(f"process {os.getpid()} (before) ended before 1 launch was copied ")
    assert after.startswith(f"process {os.getpid()} (after) is still running")


def test_recordings_that_were_not_replaced_are_named(tmp_path: Path) -> None:
    left = tuple(Path(f"/out/a.{number}.bin") for number in range(6))
    nothing = notes(result(tmp_path, left_beside=left))
    process(tmp_path, dispatches=1, output=b"/out/a.bin")

    assert nothing == []
    assert notes(result(tmp_path, left_beside=left)) == [
        "`--force` left recordings of an earlier run: /out/a.0.bin, /out/a.1.bin, /out/a.2.bin, "
        "/out/a.3.bin and 2 more"
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
