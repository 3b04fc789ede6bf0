"""Processes end in every way and have children: what was finished is in a file, once."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ktrace_cli.trace_file.layout import LossReason
from support.preloaded import PROLOGUE, SAXPY, Outcome, run_preloaded, run_script

HOST = "host = Host(open_hip(), SAXPY)\n"
RIGHT = "print('right' if host.is_right() else 'wrong', flush=True)\n"
FORK = """
import warnings
# Of threads at a fork, from Python 3.12 on: the recording is written by one.
warnings.filterwarnings("ignore", "This process .* multi-threaded", DeprecationWarning)
def child(work):
    pid = os.fork()
    if pid == 0:
        work()
        os._exit(0)
    os.waitpid(pid, 0)
def launch():
    assert host.launch() == 0
"""


def numbers(outcome: Outcome) -> list[int]:
    """Dispatches of each recording, in order of their process."""
    recordings = sorted(outcome.recordings, key=lambda recording: recording.process.pid)
    return [len(recording.dispatches) for recording in recordings]


def test_os_exit_loses_nothing_that_was_finished(tmp_path: Path) -> None:
    outcome = run_script(f"{HOST}for _ in range(3): host.launch()\n{RIGHT}os._exit(7)", tmp_path)

    assert (outcome.returncode, outcome.stdout) == (7, "right\n")
    assert len(outcome.recording.dispatches) == 3
    assert outcome.recording.damage.not_closed == 0
    assert outcome.status.is_closed
    assert outcome.status.dispatches == 3


@pytest.mark.parametrize("how", ["SIGKILL", "SIGTERM", "SIGSEGV", "SIGABRT"])
def test_a_signal_loses_nothing_that_was_finished(how: str, tmp_path: Path) -> None:
    outcome = run_script(
        f"import signal\n{HOST}host.launch()\n{RIGHT}os.kill(os.getpid(), signal.{how})", tmp_path
    )

    assert outcome.returncode == -getattr(signal, how)
    assert len(outcome.recording.dispatches) == 1
    assert outcome.recording.damage.torn_bytes == 0


def test_an_exception_ends_the_recording_in_order(tmp_path: Path) -> None:
    outcome = run_script(f"{HOST}host.launch()\nraise SystemExit(3)", tmp_path)

    assert outcome.returncode == 3
    assert outcome.recording.damage.not_closed == 0
    assert outcome.status.is_closed


def test_a_child_of_fork_records_into_a_file_of_its_own(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}host.launch()\n{FORK}"
        "child(lambda: (launch(), launch()))\nhost.launch()\n"
        "host.launches = 2\n" + RIGHT,
        tmp_path,
    )

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    assert numbers(outcome) == [2, 2]
    parent, child = outcome.statuses  # the child ended by _exit
    assert (parent.output, parent.is_closed, child.is_closed) == (outcome.path, True, True)
    assert child.output == tmp_path / f"run.{child.pid}.bin"
    assert outcome.recording.damage.not_closed == 0
    assert [status.launches for status in outcome.statuses] == [2, 2]


def test_a_child_of_fork_that_launches_nothing_leaves_nothing(tmp_path: Path) -> None:
    outcome = run_script(f"{HOST}host.launch()\n{FORK}child(lambda: None)\n{RIGHT}", tmp_path)

    assert (outcome.returncode, outcome.stdout) == (0, "right\n")
    assert numbers(outcome) == [1]
    assert len(outcome.statuses) == 1


def test_a_fork_before_the_first_launch_is_a_process_like_any_other(tmp_path: Path) -> None:
    outcome = run_script(f"{HOST}{FORK}child(launch)\nhost.launch()\n{RIGHT}", tmp_path)

    assert (outcome.returncode, outcome.stdout) == (0, "right\n")
    assert numbers(outcome) == [1, 1]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_all_launches_of_a_pool_are_there(method: str, tmp_path: Path) -> None:
    script = tmp_path / "pool.py"
    script.write_text(
        f"{PROLOGUE}SAXPY = Path({str(SAXPY)!r})\n"
        "import multiprocessing\n"
        "def work(count):\n"
        "    host = Host(open_hip(), SAXPY)\n"
        "    for _ in range(count): host.launch()\n"
        "    return host.is_right()\n"
        "if __name__ == '__main__':\n"
        f"    with multiprocessing.get_context({method!r}).Pool(2) as pool:\n"
        "        print(pool.map(work, [1, 2, 3], chunksize=1))\n"
    )

    outcome = run_preloaded([sys.executable, script], tmp_path)

    assert (outcome.returncode, outcome.stdout) == (0, "[True, True, True]\n")
    assert sum(numbers(outcome)) == 6
    assert all(recording.damage.torn_bytes == 0 for recording in outcome.recordings)


def test_two_processes_with_one_output_write_two_files(tmp_path: Path) -> None:
    again = (
        "subprocess.run([sys.executable, *sys.orig_argv[1:]], env={**os.environ, 'SECOND': '1'})"
    )
    outcome = run_script(
        f"import subprocess\n{HOST}host.launch()\n{RIGHT}if 'SECOND' not in os.environ: {again}\n",
        tmp_path,
    )

    assert (outcome.returncode, outcome.stdout) == (0, "right\nright\n")
    exact, other = (status for status in outcome.statuses)
    assert exact.output == tmp_path / "run.bin"
    assert other.output == tmp_path / f"run.{other.pid}.bin"
    assert numbers(outcome) == [1, 1]


def test_an_existing_file_is_never_written_to(tmp_path: Path) -> None:
    (tmp_path / "run.bin").write_text("precious")

    outcome = run_script(f"{HOST}host.launch()\n{RIGHT}", tmp_path)

    assert (tmp_path / "run.bin").read_text() == "precious"
    assert outcome.status.output == tmp_path / f"run.{outcome.status.pid}.bin"


def test_without_an_exact_output_the_name_has_program_and_process(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}host.launch()\nos.chdir('/')\n",
        tmp_path,
        environment={"KTRACE_OUTPUT": "", "KTRACE_OUTPUT_DIR": "a/b"},
    )

    program = Path(outcome.status.program).name
    assert outcome.status.output == tmp_path / "a" / "b" / f"{program}.{outcome.status.pid}.bin"
    assert outcome.status.output.is_file()


def test_helpers_without_hip_leave_no_file(tmp_path: Path) -> None:
    outcome = run_script(
        "import subprocess\nfor _ in range(3): subprocess.run(['true'], check=True)\n"
        f"{HOST}host.launch()",
        tmp_path,
    )

    assert len(outcome.statuses) == 1


def test_an_execed_program_begins_anew(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}host.launch()\nhost.hip.hipDeviceSynchronize()\n"
        "if 'SECOND' not in os.environ:\n"
        "    os.execve(sys.executable, sys.orig_argv, {**os.environ, 'SECOND': '1'})\n",
        tmp_path,
    )

    assert outcome.returncode == 0
    assert [len(recording.dispatches) for recording in outcome.recordings] == [1, 1]
    assert [status.launches for status in outcome.statuses] == [1, 1]


def test_launches_of_several_threads_are_all_there(tmp_path: Path) -> None:
    outcome = run_script(
        HOST + "import threading\n"
        "threads = [threading.Thread(target=lambda: [host.launch() for _ in range(10)])\n"
        "           for _ in range(4)]\n"
        "for thread in threads: thread.start()\n"
        "for thread in threads: thread.join()\n"
        "host.launches = 40\n" + RIGHT,
        tmp_path,
    )

    assert (outcome.returncode, outcome.stdout) == (0, "right\n")
    records = [dispatch.record for dispatch in outcome.recording.dispatches]
    assert [int(record["dispatch"]) for record in records] == list(range(1, 41))
    assert len({int(record["launch"]) for record in records}) == 40
    assert {int(record["thread_id"]) for record in records} == {0, 1, 2, 3}
    assert LossReason.NOT_FINISHED not in outcome.status.losses


def test_a_session_folder_that_is_gone_is_said_once(tmp_path: Path) -> None:
    missing = tmp_path / "missing"

    outcome = run_script(
        f"{HOST}host.launch()\n{RIGHT}", tmp_path, environment={"KTRACE_SESSION_DIR": str(missing)}
    )

    assert (outcome.returncode, outcome.stdout) == (0, "right\n")
    (line,) = outcome.stderr.splitlines()
    assert line.startswith(f"ktrace: cannot write {missing}/")
    assert line.endswith("No such file or directory: the program runs untraced")


def test_a_killed_run_leaves_a_recording_that_ktrace_reads(tmp_path: Path) -> None:
    run_script(f"{HOST}host.launch()\n{RIGHT}os.kill(os.getpid(), 9)", tmp_path)

    done = subprocess.run(
        [sys.executable, "-m", "ktrace_cli", "summary", "run.bin"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "saxpy" in done.stdout
