"""Forks under load and with a HIP that does not survive them."""

from pathlib import Path

import pytest

from ktrace_cli.trace_file.layout import LossReason
from support.preloaded import Outcome, run_script
from support.stand_in import build_stand_in

FAKE_HOST = "host = Host(ctypes.CDLL(str(FAKE)), SAXPY)\n"
SOFT_HOST = "host = Host(open_hip(), SAXPY)\n"
CHILD = """
import warnings
warnings.filterwarnings("ignore", "This process .* multi-threaded", DeprecationWarning)
def child(work):
    pid = os.fork()
    if pid == 0:
        work()
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    print("child", os.waitstatus_to_exitcode(status), flush=True)
"""


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_stand_in(tmp_path_factory.mktemp("fake"), "fake_hip.cpp")


def run_fake(fake: Path, script: str, folder: Path, **environment: str) -> Outcome:
    text = f"FAKE = {str(fake)!r}\n{CHILD}{script}"
    return run_script(text, folder, preload_device=False, environment=environment)


def test_a_hip_that_a_fork_left_behind_answers_itself(fake: Path, tmp_path: Path) -> None:
    outcome = run_fake(
        fake,
        f"{FAKE_HOST}host.launch()\nchild(lambda: print(host.launch(), flush=True))\n"
        "print(host.launch())",
        tmp_path,
        FAKE_FORK="dead",
    )

    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert outcome.stdout == "3\nchild 0\n0\n"  # hipErrorNotInitialized in the child
    assert [len(recording.dispatches) for recording in outcome.recordings] == [2]
    parent, child = sorted(outcome.statuses, key=lambda status: -status.dispatches)
    assert (parent.launches, child.launches) == (2, 1)
    assert child.losses == {}  # nothing ran


def test_in_such_a_child_nothing_of_ours_calls_hip(fake: Path, tmp_path: Path) -> None:
    outcome = run_fake(
        fake,
        f"{FAKE_HOST}host.launch()\n"
        "child(lambda: (print(host.launch(), flush=True), host.launch()))",
        tmp_path,
        FAKE_FORK="deadly",
    )

    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert outcome.stdout == "0\nchild 0\n"
    parent, child = sorted(outcome.statuses, key=lambda status: -status.dispatches)
    assert (parent.dispatches, parent.losses) == (1, {})
    assert (child.annotated_launches, child.losses) == (2, {LossReason.FORKED: 2})


def test_a_hip_that_has_not_begun_is_traced_in_the_child(fake: Path, tmp_path: Path) -> None:
    register = (
        "hip = ctypes.CDLL(str(FAKE))\n"
        "hip.__getattr__('__hipRegisterFatBinary')((ctypes.c_int * 8)())\n"
    )
    outcome = run_fake(
        fake,
        f"{register}def work():\n    {FAKE_HOST}    print(host.launch(), flush=True)\nchild(work)",
        tmp_path,
        FAKE_FORK="dead",
    )

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "0\nchild 0\n", "")
    assert [len(recording.dispatches) for recording in outcome.recordings] == [1]


LOAD = """
import threading
assert host.launch() == 0
stop = threading.Event()
def load():
    while not stop.is_set():
        assert host.launch() == 0
threads = [threading.Thread(target=load) for _ in range(THREADS)]
for thread in threads: thread.start()
def work(number):
    if number % 2: return
    for _ in range(2): assert host.launch() == 0
children = []
for number in range(FORKS):
    pid = os.fork()
    if pid == 0:
        try:
            work(number)
            os._exit(0)
        except BaseException as error:
            os.write(2, repr(error).encode())
            os._exit(1)
    children.append(pid)
results = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
stop.set()
for thread in threads: thread.join()
print(set(results))
"""


def test_forks_under_load_end_and_lose_nothing_on_the_software_device(tmp_path: Path) -> None:
    outcome = run_script(f"{CHILD}THREADS, FORKS = 4, 16\n{SOFT_HOST}{LOAD}", tmp_path)

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "{0}\n", "")
    children = [status for status in outcome.statuses if status.output != outcome.path]
    assert [status.dispatches for status in children] == [2] * 8
    assert all(status.dispatches == status.annotated_launches for status in outcome.statuses)
    assert all(status.losses == {} for status in outcome.statuses)
    assert all(status.is_closed for status in outcome.statuses)


def test_forks_under_load_end_where_hip_does_not_survive_them(fake: Path, tmp_path: Path) -> None:
    outcome = run_fake(
        fake, f"THREADS, FORKS = 8, 60\n{FAKE_HOST}{LOAD}", tmp_path, FAKE_FORK="deadly"
    )

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "{0}\n", "")
    children = [status for status in outcome.statuses if LossReason.FORKED in status.losses]
    assert [status.losses for status in children] == [{LossReason.FORKED: 2}] * 30


def test_threads_that_start_programs_under_load_do_not_disturb_each_other(tmp_path: Path) -> None:
    outcome = run_script(
        SOFT_HOST + "import subprocess, threading\n"
        "def starts():\n"
        "    for _ in range(10): subprocess.run(['true'], env={'PATH': '/bin'}, check=True)\n"
        "threads = [threading.Thread(target=starts) for _ in range(4)]\n"
        "for thread in threads: thread.start()\n"
        "while any(thread.is_alive() for thread in threads): assert host.launch() == 0\n",
        tmp_path,
    )

    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert outcome.status.untraced_children == 40
    assert outcome.status.dispatches == outcome.status.launches


def test_a_status_file_holds_what_was_said_while_the_process_forked(tmp_path: Path) -> None:
    outcome = run_script(
        f"{CHILD}{SOFT_HOST}host.launch()\n"
        "child(lambda: (host.launch(), os.makedirs('x', exist_ok=True)))\n",
        tmp_path,
        environment={"KTRACE_OUTPUT": "/proc/none/run.bin"},
    )

    assert (outcome.returncode, outcome.stdout) == (0, "child 0\n")
    assert [status.output_failed for status in outcome.statuses] == [True, True]


def test_what_was_not_copied_back_at_os_exit_is_waited_for(fake: Path, tmp_path: Path) -> None:
    outcome = run_fake(
        fake,
        f"{FAKE_HOST}for _ in range(20): assert host.launch() == 0\nos._exit(0)",
        tmp_path,
        FAKE_POLLS="30",
    )

    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert len(outcome.recording.dispatches) == 20
    assert outcome.recording.damage.not_closed == 0


def test_a_kernel_that_never_ends_does_not_hang_os_exit(fake: Path, tmp_path: Path) -> None:
    outcome = run_fake(
        fake,
        FAKE_HOST + "stream = ctypes.c_void_p()\n"
        "host.hip.hipStreamCreateWithFlags(ctypes.byref(stream), 0)\n"
        "assert host.launch() == 0\nassert host.launch(stream=stream) == 0\n"
        "os._exit(0)",
        tmp_path,
        FAKE_HANGING_STREAM="1",
    )

    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert len(outcome.recording.dispatches) == 1
    assert outcome.status.losses == {LossReason.NOT_FINISHED: 1}
    assert outcome.status.is_closed
