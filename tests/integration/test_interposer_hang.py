"""Kernels that never end (--hang): what their waves recorded is in the file, come what may."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ktrace_cli.analysis.summary import summarize
from ktrace_cli.analysis.unfinished import UnfinishedDispatch
from ktrace_cli.model import Timeline
from ktrace_cli.timeline.build import build_timeline
from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import DispatchFlag, LossReason, WaveState
from ktrace_cli.trace_file.recording import Recording
from support.hanging import PROGRAM, hanging_code_object
from support.preloaded import Outcome, run_preloaded

FAULT = 719  # hipErrorLaunchFailure: its budget of instructions is used up
UNFINISHED = layout.STATUS.fields["unfinished_dispatches"][1]
FLAGS = DispatchFlag.UNFINISHED | DispatchFlag.EAGER
# The launch does not return on the software device, so that it needs a thread of its own.
IN_A_THREAD = (
    "threading.Thread(target=launch, daemon=True).start()\n"
    "import struct, time\n"
    "status = Path(os.environ['KTRACE_SESSION_DIR'], f'{os.getpid()}.status')\n"
    "def unfinished():\n"
    f"    return struct.unpack_from('<Q', status.read_bytes(), {UNFINISHED})[0]\n"
)
UNTIL_RECORDED = "while unfinished() == 0: os.sched_yield()\n"
DEFAULT_SIGINT = "signal.signal(signal.SIGINT, signal.SIG_DFL)\n"
# Two of three waves of each of two workgroups wait.
STACKS = (("mainloop", "wait_barrier"), ("mainloop", "wait_flag", "poll"))


def run(script: str, folder: Path, hang_ms: int, target: str = "gfx942", **more: str) -> Outcome:
    program = [sys.executable, "-c", PROGRAM + script, hanging_code_object(target=target)]
    environment = {"KTRACE_HANG_MS": str(hang_ms), "KTRACE_SOFT_ARCH": target, **more}
    return run_preloaded(program, folder, environment=environment)


def still_runs(outcome: Outcome) -> str:
    return (
        "ktrace: kernel `spin` (dispatch 1) still runs after 100 ms: what its waves recorded so "
        f"far is in {outcome.path}; it is not stopped\n"
    )


def stacks_of(recording: Recording) -> UnfinishedDispatch:
    (dispatch,) = summarize(build_timeline(recording)).unfinished
    return dispatch


def assert_names_what_is_open(recording: Recording) -> None:
    (dispatch,) = recording.dispatches
    assert DispatchFlag(int(dispatch.record["flags"])) == FLAGS
    found = stacks_of(recording)
    assert (found.kernel, found.dispatch, found.waves) == ("spin", 1, 6)
    assert (found.unfinished_waves, found.missing_waves) == (4, 0)
    assert tuple(stack.names for stack in found.open) == STACKS
    assert [(stack.waves, stack.full_waves) for stack in found.open] == [(2, 0), (2, 0)]
    ended = dispatch.headers["state"] == WaveState.ENDED
    assert ended.tolist() == [False, False, True] * 2


@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
def test_an_interrupt_writes_what_never_ended_and_then_ends_the_program(
    target: str, tmp_path: Path
) -> None:
    script = (
        DEFAULT_SIGINT + "def interrupt():\n"
        "    wait_until_it_hangs()\n    os.kill(os.getpid(), signal.SIGINT)\n"
        "threading.Thread(target=interrupt).start()\nlaunch()\n"
    )

    outcome = run(script, tmp_path, 60_000, target)

    assert outcome.returncode == -signal.SIGINT
    assert_names_what_is_open(outcome.recording)
    assert outcome.status.unfinished_dispatches == 1
    assert outcome.status.losses == {}


def test_the_limit_writes_what_never_ended(tmp_path: Path) -> None:
    script = IN_A_THREAD + UNTIL_RECORDED + "os.kill(os.getpid(), signal.SIGKILL)\n"

    outcome = run(script, tmp_path, 100)

    assert (outcome.returncode, outcome.stderr) == (-signal.SIGKILL, still_runs(outcome))
    assert_names_what_is_open(outcome.recording)
    assert outcome.status.unfinished_dispatches == 1


def test_a_dispatch_that_ends_after_all_is_whole(tmp_path: Path) -> None:
    script = (
        "runner = threading.Thread(target=launch)\n"
        + IN_A_THREAD.replace("threading.Thread(target=launch, daemon=True)", "runner")
        + UNTIL_RECORDED
        + "words[0] = 1\nrunner.join()\n"
        "while unfinished() == 1: os.sched_yield()\n"
    )

    outcome = run(script, tmp_path, 100)

    assert (outcome.returncode, outcome.stderr) == (0, still_runs(outcome))
    recording = outcome.recording
    (dispatch,) = recording.dispatches
    assert DispatchFlag(int(dispatch.record["flags"])) == DispatchFlag.EAGER
    assert dispatch.headers["state"].tolist() == [WaveState.ENDED] * 6
    assert int(recording.end["dispatches"]) >= 2  # chunks
    assert (outcome.status.unfinished_dispatches, outcome.status.losses) == (0, {})
    assert (outcome.status.recorded_dispatches, outcome.status.message) == (1, "")
    timeline = build_timeline(recording)
    # As waves sleep, the model's clock runs ahead of the host's: on a slow host their wait is
    # longer than the 32-bit clock can tell, which is counted then, and only then.
    cycles = dispatch.headers["memtime_end"] - dispatch.headers["memtime_begin"]
    lost = {"long_gaps"} if (cycles >= 2**32).any() else set()
    assert set(timeline.losses.counted()) == lost
    assert sorted(name for name in names_of(timeline) if name != "k_tile") == sorted(
        ["mainloop"] * 6 + ["wait_flag"] * 2 + ["poll"] * 2 + ["wait_barrier"] * 2
    )


def names_of(timeline: Timeline) -> list[str]:
    return [timeline.events[row].name for row in timeline.slices["event"].tolist()]


@pytest.mark.parametrize("way", ["sys.exit(5)", "os._exit(5)"])
def test_an_exit_writes_what_still_runs(way: str, tmp_path: Path) -> None:
    outcome = run(f"{IN_A_THREAD}wait_until_it_hangs()\n{way}\n", tmp_path, 60_000)

    assert outcome.returncode == 5
    assert_names_what_is_open(outcome.recording)
    assert outcome.status.losses == {}


def test_the_program_s_own_handler_is_called(tmp_path: Path) -> None:
    script = (
        "def stop(number, frame):\n    print('stopped by', number, flush=True)\n    os._exit(9)\n"
        "signal.signal(signal.SIGTERM, stop)\n"
        + IN_A_THREAD
        + "wait_until_it_hangs()\nos.kill(os.getpid(), signal.SIGTERM)\n"
        "while True: signal.pause()\n"
    )

    outcome = run(script, tmp_path, 60_000)

    assert (outcome.returncode, outcome.stdout) == (9, "stopped by 15\n")
    assert_names_what_is_open(outcome.recording)


def test_a_crash_writes_what_still_runs(tmp_path: Path) -> None:
    script = f"{IN_A_THREAD}wait_until_it_hangs()\nctypes.string_at(0)\n"

    outcome = run(script, tmp_path, 60_000)

    assert outcome.returncode == -signal.SIGSEGV
    assert_names_what_is_open(outcome.recording)


def test_what_the_program_ignores_does_not_end_it(tmp_path: Path) -> None:
    script = (
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        + IN_A_THREAD
        + UNTIL_RECORDED
        + "os.kill(os.getpid(), signal.SIGHUP)\nprint('alive')\nos._exit(0)\n"
    )

    outcome = run(script, tmp_path, 100)

    assert (outcome.returncode, outcome.stdout) == (0, "alive\n")


def test_a_child_of_fork_ends_by_a_signal_at_once(tmp_path: Path) -> None:
    script = (
        "import time\nwords[0] = 1\nlaunch()\n"
        "def end():\n"
        "    child = os.fork()\n"
        "    if child == 0:\n        signal.pause()\n"
        "    begin = time.monotonic()\n    os.kill(child, signal.SIGTERM)\n"
        "    return os.waitpid(child, 0)[1], time.monotonic() - begin\n"
        # Whoever waits for the thread that a child lacks waits for a second, in each of them.
        "ends = [end() for _ in range(3)]\n"
        "print(*(how for how, _ in ends), min(seconds for _, seconds in ends) < 0.9)\n"
    )

    outcome = run(script, tmp_path, 60_000)

    assert (outcome.returncode, outcome.stdout) == (0, "15 15 15 True\n")


@pytest.mark.parametrize("hang_ms", [100, 60_000])
def test_a_kernel_that_faults_leaves_its_records_and_is_counted_once(
    hang_ms: int, tmp_path: Path
) -> None:
    outcome = run("launch()\n", tmp_path, hang_ms, KTRACE_SOFT_BUDGET="20000000")

    assert outcome.returncode == 1
    assert f"HIP error {FAULT}" in outcome.stderr
    assert_names_what_is_open(outcome.recording)
    assert [int(d.record["status"]) for d in outcome.recording.dispatches] == [FAULT]
    status = outcome.status
    assert (status.losses, status.unfinished_dispatches, status.recorded_dispatches) == ({}, 1, 1)
    assert status.message == (
        "kernel `spin` (dispatch 1) faulted (hipErrorLaunchFailure): what its waves recorded until "
        "then is kept"
    )


def test_a_kernel_that_faults_without_hang_is_lost_and_the_words_say_what_keeps_it(
    tmp_path: Path,
) -> None:
    script = "words[0] = 1\nlaunch()\nwords[0] = 0\nlaunch()\n"  # the first one ends
    program = [sys.executable, "-c", PROGRAM + script, hanging_code_object()]

    outcome = run_preloaded(program, tmp_path, environment={"KTRACE_SOFT_BUDGET": "2000000"})

    assert outcome.status.losses == {LossReason.FAULTED: 1}
    assert [loss.explanation for loss in outcome.recording.losses] == [
        "the kernel faulted (hipErrorLaunchFailure): its records are lost; `--hang` keeps them"
    ]


def test_the_same_signal_once_more_ends_a_program_that_waits_for_its_launch(tmp_path: Path) -> None:
    script = (
        IN_A_THREAD.partition("\n")[2] + "def interrupt():\n"
        "    wait_until_it_hangs()\n    os.kill(os.getpid(), signal.SIGINT)\n"
        "    while unfinished() == 0: os.sched_yield()\n    os.kill(os.getpid(), signal.SIGINT)\n"
        "threading.Thread(target=interrupt, daemon=True).start()\nlaunch()\n"
    )

    outcome = run(script, tmp_path, 60_000)

    assert (outcome.returncode, outcome.stderr) == (
        -signal.SIGINT,
        "ktrace: the launch of a kernel has not returned, and the program may not react before it "
        "does; the same signal once more ends it\n",
    )
    assert_names_what_is_open(outcome.recording)


def test_ktrace_run_and_its_summary_say_what_never_ended(tmp_path: Path) -> None:
    script = IN_A_THREAD + UNTIL_RECORDED + "os._exit(3)\n"
    program = [sys.executable, "-c", PROGRAM + script, hanging_code_object()]
    output = tmp_path / "run.bin"
    ktrace = [sys.executable, "-m", "ktrace_cli"]
    environment = {name: value for name, value in os.environ.items() if name != "KTRACE_DEVICE"}

    traced = subprocess.run(
        [*ktrace, "run", "--device", "soft", "--hang", "0.1", "-o", output, "--", *program],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    shown = subprocess.run([*ktrace, "summary", output], capture_output=True, text=True, check=True)

    assert traced.returncode == 3
    assert "1 dispatch was recorded without an end" in traced.stderr
    assert "ktrace: recorded 1 dispatch in" in traced.stderr
    assert shown.stdout.split("\n\n")[-1].splitlines()[0] == (
        "spin dispatch 1: 4 of 6 waves unfinished"
    )
    assert shown.stdout.splitlines()[-4:] == [
        "  2 waves in `mainloop` > `wait_barrier` (open since its last record)",
        "    workgroup 0,0,0 wave 1; workgroup 1,0,0 wave 1",
        "  2 waves in `mainloop` > `wait_flag` > `poll` (open since its last record)",
        "    workgroup 0,0,0 wave 0; workgroup 1,0,0 wave 0",
    ]
