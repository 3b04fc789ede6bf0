"""Programs close descriptors and reuse their numbers: what is theirs stays as it is."""

import sys
from pathlib import Path

from ktrace_cli.trace_file.layout import LossReason
from support.preloaded import PROLOGUE, SAXPY, Outcome, run_preloaded, run_script

HOST = """
import resource, signal, warnings
warnings.simplefilter("ignore")
host = Host(open_hip(), SAXPY)
def launch():
    assert host.launch() == 0
def descriptors():
    found = {}
    for number in map(int, os.listdir("/proc/self/fd")):
        try: found[number] = os.readlink(f"/proc/self/fd/{number}")
        except FileNotFoundError: pass
    return found
def ours():
    (number,) = (number for number, path in descriptors().items() if path.endswith("run.bin"))
    return number
def closed_all():
    os.closerange(3, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
def open_app(flags=os.O_RDWR | os.O_CREAT):
    return os.open("app.dat", flags, 0o644)
"""
HANG = {"KTRACE_HANG_MS": "60000"}


def assert_whole(outcome: Outcome, dispatches: int) -> None:
    assert (outcome.returncode, outcome.stderr) == (0, "")
    recording = outcome.recording
    assert len(recording.dispatches) == outcome.status.dispatches == dispatches
    assert (recording.damage.not_closed, recording.damage.torn_bytes) == (0, 0)
    assert outcome.status.losses == {}


def test_a_recording_goes_on_when_its_descriptor_was_closed(tmp_path: Path) -> None:
    outcome = run_script(f"{HOST}launch()\nclosed_all()\nlaunch()\nlaunch()", tmp_path)

    assert_whole(outcome, 3)


def test_the_program_s_file_under_our_number_stays_the_program_s(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}launch()\nnumber = ours()\nos.dup2(open_app(), number)\n"
        "os.write(number, b'precious')\nlaunch()\nlaunch()\nos.write(number, b', still')",
        tmp_path,
    )

    assert (tmp_path / "app.dat").read_text() == "precious, still"
    assert_whole(outcome, 3)


def test_files_opened_after_all_were_closed_stay_the_program_s(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}launch()\nclosed_all()\nfile = open_app()\nos.write(file, b'precious')\n"
        "launch()\nos.write(file, b', still')",
        tmp_path,
    )

    assert (tmp_path / "app.dat").read_text() == "precious, still"
    assert_whole(outcome, 2)


def test_the_program_may_read_the_recording_under_our_number(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}launch()\nnumber = ours()\nos.dup2(os.open('run.bin', os.O_RDONLY), number)\n"
        "launch()\nprint(os.read(number, 7))",
        tmp_path,
    )

    assert outcome.stdout == f"{outcome.path.read_bytes()[:7]!r}\n"
    assert_whole(outcome, 2)


def test_a_closed_recording_that_is_gone_is_a_loss_that_is_said(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}launch()\nnumber = ours()\nos.unlink('run.bin')\nos.dup2(open_app(), number)\n"
        "os.write(number, b'precious')\nlaunch()\nlaunch()",
        tmp_path,
    )

    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert (tmp_path / "app.dat").read_text() == "precious"
    assert (outcome.status.dispatches, outcome.status.output_failed) == (1, True)
    assert outcome.status.losses == {LossReason.WRITE_FAILED: 2}
    assert outcome.status.message == (
        f"cannot write {tmp_path}/run.bin: the program closed it, and it cannot be opened again:"
        " No such file or directory"
    )


def test_another_file_of_the_recording_s_name_is_not_written_to(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}launch()\nos.rename('run.bin', 'moved.bin')\n"
        "Path('run.bin').write_text('precious')\nclosed_all()\nlaunch()",
        tmp_path,
    )

    assert outcome.returncode == 0
    assert outcome.path.read_text() == "precious"
    assert outcome.status.losses == {LossReason.WRITE_FAILED: 1}
    assert outcome.status.message.endswith("opened again: it is another file now")


def test_a_child_of_fork_leaves_the_program_s_file_open(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}launch()\nnumber = ours()\nos.dup2(open_app(), number)\n"
        "if os.fork() == 0:\n    os.write(number, b'child')\n    os._exit(0)\nos.wait()\n",
        tmp_path,
    )

    assert (tmp_path / "app.dat").read_text() == "child"
    assert_whole(outcome, 1)


def test_a_program_gets_the_numbers_that_it_gets_without_us(tmp_path: Path) -> None:
    script = f"{HOST}lowest = open_app()\nos.close(lowest)\nlaunch()\nprint(open_app() - lowest)"

    outcome = run_script(script, tmp_path)

    assert outcome.stdout == "0\n"
    assert_whole(outcome, 1)


def test_what_a_program_without_stderr_says_is_not_in_the_recording(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}os.close(2)\nlaunch()\n"
        "try: print(os.write(2, b'said'))\nexcept OSError as error: print(error.strerror)\n"
        "os.dup2(1, 2)\nlaunch()",
        tmp_path,
    )

    assert outcome.stdout == "Bad file descriptor\n"
    assert_whole(outcome, 2)


def test_few_descriptors_are_enough(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))\nlaunch()\n"
        "print(3 < ours() < 40)\nlaunch()",
        tmp_path,
    )

    assert outcome.stdout == "True\n"
    assert_whole(outcome, 2)


def test_the_thread_for_hanging_kernels_has_no_descriptor(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}before = descriptors()\nlaunch()\n"
        "print(sorted(os.path.basename(path) for number, path in descriptors().items()\n"
        "             if before.get(number) != path and not path.startswith('/proc')))",
        tmp_path,
        environment=HANG,
    )

    assert outcome.stdout == "['run.bin']\n"
    assert_whole(outcome, 1)


def test_nested_children_of_fork_gather_no_descriptors(tmp_path: Path) -> None:
    outcome = run_script(
        f"{HOST}launch()\ncount = len(descriptors())\n"
        "for level in range(4):\n"
        "    if os.fork():\n        os.wait()\n        os._exit(0)\n"
        "    launch()\n"
        "print(len(descriptors()) - count, flush=True)",
        tmp_path,
        environment=HANG,
    )

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "0\n", "")
    assert [len(recording.dispatches) for recording in outcome.recordings] == [1] * 5


def test_the_program_s_pipes_are_not_touched_by_a_signal(tmp_path: Path) -> None:
    # Before the program's handler is called, the thread for hanging kernels is asked, and answers.
    outcome = run_script(
        f"{HOST}signal.signal(signal.SIGTERM, lambda *_: print('handled'))\n"
        "launch()\nclosed_all()\npipes = [os.pipe() for _ in range(6)]\n"
        "for _, end in pipes: os.write(end, b'x')\n"
        "signal.raise_signal(signal.SIGTERM)\nlaunch()\n"
        "for end, _ in pipes:\n    os.set_blocking(end, False)\n    print(os.read(end, 9))",
        tmp_path,
        environment=HANG,
    )

    assert outcome.stdout == "handled\n" + "b'x'\n" * 6
    assert_whole(outcome, 2)


def test_the_thread_for_hanging_kernels_waits_when_all_are_closed(tmp_path: Path) -> None:
    # Its time on the processor: where it waits, as good as none.
    outcome = run_script(
        f"{HOST}launch()\nclosed_all()\n"
        "(task,) = (task for task in Path('/proc/self/task').iterdir()\n"
        "           if (task / 'comm').read_text() == 'ktrace-hang\\n')\n"
        "def ran(): return int((task / 'schedstat').read_text().split()[0])\n"
        "begin = ran()\n"
        "while host.launches < 40: launch()\n"
        "print(ran() - begin < 2_000_000)",
        tmp_path,
        environment=HANG,
    )

    assert outcome.stdout == "True\n"
    assert_whole(outcome, 40)


def test_a_program_that_is_replaced_leaves_us_nothing_open(tmp_path: Path) -> None:
    listing = "import os; print(sorted(map(int, os.listdir('/proc/self/fd')))[-1] < 20)"
    script = f"{HOST}launch()\nos.execv(sys.executable, [sys.executable, '-c', {listing!r}])"

    outcome = run_script(script, tmp_path, environment=HANG)

    assert (outcome.returncode, outcome.stdout) == (0, "True\n")


def test_a_program_without_any_descriptor_is_recorded(tmp_path: Path) -> None:
    script = tmp_path / "silent.py"
    script.write_text(
        PROLOGUE + "os.closerange(0, 4096)\n"
        f"host = Host(open_hip(), Path({str(SAXPY)!r}))\n"
        "os._exit(host.launch() + host.launch() + 5)\n"
    )

    outcome = run_preloaded([sys.executable, script], tmp_path)

    assert outcome.returncode == 5
    assert len(outcome.recording.dispatches) == 2
    assert outcome.recording.damage.torn_bytes == 0
