"""Processes that end before everything was copied back: `run` says how many launches it misses."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.reader import read_recording
from support.ktrace_command import ROOT, TRACED, Done, Ktrace, said
from support.stand_in import build_stand_in

# Where a status file counts the dispatches that are in the recording.
DISPATCHES = layout.STATUS.fields["counts"][1] + layout.END.fields["dispatches"][1]
# Three launches are copied back; work that comes after is held by the stand-in.
SCRIPT = f"""
import ctypes, os, struct, sys
from pathlib import Path
from support.graph_host import GraphHost
host = GraphHost(Path({str(TRACED)!r}), ctypes.CDLL(sys.argv[1]))
stream = host.stream()
graph = host.instantiate(host.captured((4, 1, 1), (6, 1, 1)))
for _ in range(3): host.put(stream)
(status,) = Path(os.environ["KTRACE_SESSION_DIR"]).glob("*.status")
while struct.unpack_from("<Q", status.read_bytes(), {DISPATCHES})[0] < 3: os.sched_yield()
host.hip.fake_hold(1)
"""
ENDS = {
    "os.kill(os.getpid(), 9)": 128 + signal.SIGKILL,
    "os.abort()": 128 + signal.SIGABRT,
    "os.execv('/bin/true', ['true'])": 0,
}
WHAT_TO_DO = (
    "not traced; a process that ends by `exit` waits for them, and `--hang` records kernels that "
    "do not end"
)


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_stand_in(tmp_path_factory.mktemp("late"), "graph_hip.cpp")


def run(ktrace: Ktrace, late: Path, end: str, *options: str) -> Done:
    path = os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    program = (sys.executable, "-c", SCRIPT + end, late)
    command = ("run", "--device", "hardware", "-o", "run.bin", *options, "--", *program)
    return ktrace(*command, PYTHONPATH=path)


@pytest.mark.parametrize("end", ENDS)
def test_launches_that_were_not_copied_back_are_said(
    end: str, late: Path, ktrace: Ktrace, tmp_path: Path
) -> None:
    result = run(ktrace, late, f"host.put(stream)\nhost.replay(graph, stream)\n{end}")

    first, last = said(result)
    assert result.returncode == ENDS[end]
    assert first.startswith("warning: process ")
    assert first.endswith(f" ended before 3 launches were copied back: {WHAT_TO_DO}")
    assert last.startswith("recorded 3 dispatches in run.bin")
    assert len(read_recording(tmp_path / "run.bin").dispatches) == 3


@pytest.mark.parametrize("end", ENDS)
def test_a_process_without_launches_under_way_misses_none(
    end: str, late: Path, ktrace: Ktrace
) -> None:
    result = run(ktrace, late, end)

    assert result.returncode == ENDS[end]
    (line,) = said(result)
    assert line.startswith("recorded 3 dispatches in run.bin")


def test_launches_that_were_left_out_are_not_missed(late: Path, ktrace: Ktrace) -> None:
    end = "host.put(stream)\nhost.put(stream)\nhost.put(stream)\nos.abort()"

    result = run(ktrace, late, end, "--kernel-iteration-range", "1-4")

    first, _ = said(result)
    assert " ended before 1 launch was copied back: " in first


def test_what_was_recorded_more_than_once_hides_no_launch(
    late: Path, ktrace: Ktrace, tmp_path: Path
) -> None:
    """The fourth launch is recorded while it runs and when it has ended, the fifth one never."""
    wait = f"while struct.unpack_from('<Q', status.read_bytes(), {DISPATCHES})[0] < "
    end = (
        f"host.put(stream)\n{wait}4: os.sched_yield()\n"
        f"host.hip.fake_hold(0)\n{wait}5: os.sched_yield()\n"
        "host.hip.fake_hold(1)\nhost.put(stream)\nos.kill(os.getpid(), 9)"
    )

    result = run(ktrace, late, end, "--hang", "1")

    lines = [line for line in said(result) if "copied back" in line]
    numbers = [d.number for d in read_recording(tmp_path / "run.bin").dispatches]
    assert sorted(numbers) == [1, 2, 3, 4]
    assert len(lines) == 1
    assert " ended before 1 launch was copied back: " in lines[0]


def test_a_process_that_aborts_under_hang_takes_nothing_with_it(
    late: Path, ktrace: Ktrace, tmp_path: Path
) -> None:
    result = run(ktrace, late, "host.put(stream)\nhost.put(stream)\nos.abort()", "--hang", "60")

    assert not [line for line in said(result) if "copied back" in line]
    assert len(read_recording(tmp_path / "run.bin").dispatches) == 5
