"""Processes end in every way: what was copied back is in the file, and nothing hangs or crashes."""

import signal
import time
from pathlib import Path

import pytest

from ktrace_cli.launch.native import SOFTWARE_DEVICE
from ktrace_cli.launch.status import read_statuses
from ktrace_cli.libraries import native_library
from ktrace_cli.trace_file.layout import LossReason
from support.compile_c import compile_c, compile_c_library
from support.preloaded import SAXPY, run_preloaded, run_script

HOST = "host = Host(open_hip(), SAXPY)\nfor _ in range(3): assert host.launch() == 0\n"
C = "c = ctypes.CDLL(None)\n"
# How a process ends, and its exit status; all of these close the recording.
IN_ORDER = {
    "sys.exit(3)": 3,
    "os._exit(3)": 3,
    f"{C}c._Exit(3)": 3,
    f"{C}c._exit(3)": 3,
    f"{C}c.quick_exit(3)": 3,
    f"{C}c.exit(3)": 3,
    "raise ValueError('a')": 1,
    "import threading as t\nt.Thread(target=lambda: os._exit(3)).start()\nt.Event().wait()": 3,
    "import signal\nsignal.signal(15, lambda *_: os._exit(3))\nos.kill(os.getpid(), 15)": 3,
    "import signal\nsignal.signal(15, lambda *_: sys.exit(3))\nos.kill(os.getpid(), 15)": 3,
}  # fmt: skip
AT_ONCE = {
    "os.kill(os.getpid(), 9)": -signal.SIGKILL,
    "os.kill(os.getpid(), 15)": -signal.SIGTERM,
    "os.abort()": -signal.SIGABRT,
    "ctypes.string_at(8)": -signal.SIGSEGV,
    f"{C}c.syscall(231, 3)": 3,  # exit_group
    "os.execv('/bin/true', ['true'])": 0,
}


@pytest.mark.parametrize("end", IN_ORDER)
def test_a_recording_is_closed(end: str, tmp_path: Path) -> None:
    outcome = run_script(HOST + end, tmp_path)

    assert outcome.returncode == IN_ORDER[end]
    assert len(outcome.recording.dispatches) == 3
    assert outcome.recording.damage.not_closed == 0
    assert outcome.status.is_closed
    assert outcome.status.losses == {}


@pytest.mark.parametrize("end", AT_ONCE)
def test_what_was_copied_back_is_there(end: str, tmp_path: Path) -> None:
    outcome = run_script(HOST + end, tmp_path)

    assert outcome.returncode == AT_ONCE[end]
    assert len(outcome.recording.dispatches) == 3
    assert outcome.recording.damage.not_closed == 1
    assert outcome.recording.damage.torn_bytes == 0
    assert (outcome.status.is_closed, outcome.status.dispatches) == (False, 3)


@pytest.mark.parametrize("end", ["sys.exit(0)", "os._exit(0)", "os.kill(os.getpid(), 9)"])
def test_threads_that_still_launch_at_the_end_do_no_harm(end: str, tmp_path: Path) -> None:
    outcome = run_script(
        HOST + "import threading\n"
        "def load():\n"
        "    while True: host.launch()\n"
        "for _ in range(4): threading.Thread(target=load, daemon=True).start()\n"
        f"while host.launches < 60: pass\n{end}",
        tmp_path,
    )

    assert outcome.returncode == (-9 if "kill" in end else 0)
    (status,), recording = read_statuses(outcome.session), outcome.recording
    assert status.open_launches <= 4  # of each thread the last one, which did not return
    assert recording.damage.torn_bytes == 0
    assert recording.damage.not_closed == ("kill" in end)
    # A dispatch is counted once it is in the file: a kill may come in between.
    uncounted = len(recording.dispatches) - status.dispatches
    assert uncounted in ((0, 1) if "kill" in end else (0,))
    assert status.dispatches >= 3
    assert set(status.losses) <= {LossReason.NOT_FINISHED}


def test_an_end_in_a_child_of_vfork_closes_nothing(tmp_path: Path) -> None:
    # subprocess ends its child by _exit after an exec that failed.
    outcome = run_script(
        HOST + "import subprocess\n"
        "for _ in range(3):\n"
        "    try: subprocess.run(['/none'])\n"
        "    except FileNotFoundError: print('none')\n"
        "assert host.launch() == 0",
        tmp_path,
    )

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "none\n" * 3, "")
    assert len(outcome.recording.dispatches) == 4
    assert outcome.status.is_closed


def test_a_child_of_fork_that_ends_by_os_exit_closes_nothing_of_its_parent(tmp_path: Path) -> None:
    outcome = run_script(
        HOST + "import warnings\nwarnings.simplefilter('ignore')\n"
        "for _ in range(3):\n"
        "    if os.fork() == 0: os._exit(0)\n"
        "    os.wait()\n"
        "assert host.launch() == 0",
        tmp_path,
    )

    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert len(outcome.recording.dispatches) == 4
    assert outcome.status.is_closed


def test_a_daemon_s_parent_closes_and_the_daemon_goes_on(tmp_path: Path) -> None:
    outcome = run_script(
        HOST + "import warnings\nwarnings.simplefilter('ignore')\n"
        "read, write = os.pipe()\n"
        "if os.fork():\n"
        "    os.close(write)\n"
        "    os.read(read, 1)\n"  # the daemon's end
        "    os._exit(0)\n"
        "os.setsid()\n"
        "assert host.launch() == 0\n",
        tmp_path,
    )

    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert sorted(len(recording.dispatches) for recording in outcome.recordings) == [1, 3]
    assert all(status.is_closed for status in outcome.statuses)


def test_an_end_in_a_handler_that_interrupts_a_launch_is_bounded(tmp_path: Path) -> None:
    # The handler runs in C, at any moment: also while the launch holds locks.
    library = compile_c_library(
        "#include <signal.h>\n#include <sys/time.h>\n#include <unistd.h>\n"
        "static void end(int number) { (void)number; _exit(3); }\n"
        "void arm(void) {\n"
        "  signal(SIGALRM, end);\n"
        "  struct itimerval time = {{0, 0}, {0, 50000}};\n"
        "  setitimer(ITIMER_REAL, &time, 0);\n"
        "}\n",
        tmp_path / "handler.so",
    )
    begin = time.monotonic()

    outcome = run_script(
        f"handler = ctypes.CDLL({str(library)!r})\n{HOST}handler.arm()\nwhile True: host.launch()",
        tmp_path,
    )

    assert outcome.returncode == 3
    assert time.monotonic() - begin < 20
    assert outcome.recording.damage.torn_bytes == 0
    (status,) = read_statuses(outcome.session)
    assert status.open_launches <= 1  # the one that was interrupted
    assert status.dispatches == len(outcome.recording.dispatches)


def test_our_threads_take_no_signal_of_the_program(tmp_path: Path) -> None:
    outcome = run_script(
        HOST + "import signal\n"
        "for task in os.listdir('/proc/self/task'):\n"
        "    lines = Path('/proc/self/task', task, 'status').read_text().splitlines()\n"
        "    facts = dict(line.split(':\\t', 1) for line in lines)\n"
        "    if facts['Name'].startswith('ktrace'): print(facts['Name'], facts['SigBlk'])\n",
        tmp_path,
    )

    lines = set(outcome.stdout.splitlines())
    # All but SIGKILL and SIGSTOP, which cannot be, and the two of the C library's own.
    blocked = "fffffffe7ffbfeff"
    aside = {f"ktrace-aside {blocked}"}  # where it has not quite ended yet
    assert lines - aside == {f"ktrace-writer {blocked}", f"ktrace-closer {blocked}"}


OWN_THREADS = (
    "print([name for task in os.listdir('/proc/self/task')\n"
    "       if (name := Path('/proc/self/task', task, 'comm').read_text()).startswith('ktrace')])\n"
)


def test_a_program_without_hip_leaves_no_thread_and_no_file(tmp_path: Path) -> None:
    outcome = run_script(OWN_THREADS, tmp_path)

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "[]\n", "")
    assert outcome.statuses == []
    assert outcome.recordings == []


def test_a_program_without_annotated_kernels_gets_no_thread(tmp_path: Path) -> None:
    script = (
        "hip = open_hip()\nhip.hipInit(0)\nhip.hipMalloc(ctypes.byref(ctypes.c_void_p()), 8)\n"
        + OWN_THREADS
    )

    outcome = run_script(script, tmp_path)

    assert (outcome.returncode, outcome.stdout) == (0, "[]\n")


def test_a_launch_from_a_library_s_constructor_does_not_hang(tmp_path: Path) -> None:
    # dlopen holds the loader's lock meanwhile, which the first call of HIP in a new thread takes.
    library = compile_c_library(
        "#include <stdlib.h>\n"
        "__attribute__((constructor)) static void begin(void) {\n"
        '  ((void (*)(void))strtoull(getenv("CALLBACK"), NULL, 10))();\n'
        "}\n",
        tmp_path / "constructor.so",
    )

    outcome = run_script(
        "host = Host(open_hip(), SAXPY)\n"
        "work = ctypes.CFUNCTYPE(None)(lambda: print(host.launch(), flush=True))\n"
        "os.environ['CALLBACK'] = str(ctypes.cast(work, ctypes.c_void_p).value)\n"
        f"ctypes.CDLL({str(library)!r})\nprint(host.is_right())",
        tmp_path,
    )

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "0\nTrue\n", "")
    assert len(outcome.recording.dispatches) == 1
    assert outcome.status.is_closed


# Registered before HIP is called, and so run after everything that HIP and its device registered.
LAUNCHES_AT_THE_END = """
#include <stdio.h>
#include <stdlib.h>
int hipModuleLoad(void**, const char*), hipModuleGetFunction(void**, void*, const char*);
int hipMalloc(void**, size_t), hipSetDevice(int), hipGetDevice(int*);
int hipModuleLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, void*, void**, void**);
static void *module, *function, *memory, *sink;
static int n = 0;
static float a = 2;
static void *places[] = {&n, &a, &memory, &memory, &sink};
static void launch(const char* when) {
  int device = -1;
  hipGetDevice(&device);
  int status = hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, 0, places, 0);
  printf("%s %d on %d\\n", when, status, device);
  fflush(stdout);
}
static void late(void) { launch("late"); }
__attribute__((destructor)) static void destructed(void) { launch("destructed"); }
int main(int count, char** values) {
  atexit(late);
  hipSetDevice(1);
  hipModuleLoad(&module, values[1]);
  hipModuleGetFunction(&function, module, "saxpy");
  hipMalloc(&memory, 4096);
  launch("main");
  return 0;
}
"""


def test_launches_after_the_end_of_main_run_and_are_counted(tmp_path: Path) -> None:
    hip = str(native_library(SOFTWARE_DEVICE))
    program = compile_c(LAUNCHES_AT_THE_END, tmp_path / "program", hip)

    outcome = run_preloaded([program, SAXPY], tmp_path, environment={"KTRACE_SOFT_DEVICES": "2"})

    lines = "main 0 on 1\nlate 0 on 1\ndestructed 0 on 1\n"
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, lines, "")
    assert (outcome.status.launches, outcome.status.dispatches) == (3, 1)
    assert outcome.status.losses == {LossReason.NOT_FINISHED: 2}
