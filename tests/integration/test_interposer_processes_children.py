"""Programs started without ktrace's environment run as they are, and are counted once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.compile_c import compile_c_library
from support.preloaded import Outcome, run_preloaded, run_script

TRACED = "host = Host(open_hip(), SAXPY)\nassert host.launch() == 0\n"
PROLOGUE = """
import subprocess
c = ctypes.CDLL(None, use_errno=True)
def strings(*values):
    return (ctypes.c_char_p * (len(values) + 1))(*values, None)
ARGUMENTS = strings(b'sh', b'-c', b'exit 3')
SCRUBBED = strings(b'A=1')
KEPT = strings(*(f'{name}={value}'.encode() for name, value in os.environ.items()))
def in_child(work):
    pid = os.fork()
    if pid == 0:
        work()
        os._exit(9)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
def spawned(call, path, environment):
    pid = ctypes.c_int()
    error = call(ctypes.byref(pid), path, None, None, ARGUMENTS, environment)
    return os.waitstatus_to_exitcode(os.waitpid(pid.value, 0)[1]) if error == 0 else -error
"""
# Every way starts `sh -c 'exit 3'`, which ends with 3 if it got its arguments.
WAYS = {
    "execve": "in_child(lambda: c.execve(b'/bin/sh', ARGUMENTS, {}))",
    "execvpe": "in_child(lambda: c.execvpe(b'sh', ARGUMENTS, {}))",
    "execle": "in_child(lambda: c.execle(b'/bin/sh', b'sh', b'-c', b'exit 3', None, {}))",
    "fexecve": "in_child(lambda: c.fexecve(os.open('/bin/sh', os.O_RDONLY), ARGUMENTS, {}))",
    "execveat": "in_child(lambda: c.execveat(-100, b'/bin/sh', ARGUMENTS, {}, 0))",
    "posix_spawn": "spawned(c.posix_spawn, b'/bin/sh', {})",
    "posix_spawnp": "spawned(c.posix_spawnp, b'sh', {})",
}
# These take the environment of the process.
OWN_WAYS = {
    "execv": "in_child(lambda: c.execv(b'/bin/sh', ARGUMENTS))",
    "execvp": "in_child(lambda: c.execvp(b'sh', ARGUMENTS))",
    "execl": "in_child(lambda: c.execl(b'/bin/sh', b'sh', b'-c', b'exit 3', None))",
    "execlp": "in_child(lambda: c.execlp(b'sh', b'sh', b'-c', b'exit 3', None))",
    "system": "c.system(b'exit 3') >> 8",
    "popen": "c.pclose(ctypes.c_void_p(popen(b'exit 3', b'r'))) >> 8",
}
POPEN = "popen = c.popen\npopen.restype = ctypes.c_void_p\n"


def untraced(outcome: Outcome) -> list[int]:
    return [status.untraced_children for status in outcome.statuses]


@pytest.mark.parametrize("way", WAYS)
def test_a_program_with_a_scrubbed_environment_is_counted(way: str, tmp_path: Path) -> None:
    outcome = run_script(f"{PROLOGUE}{TRACED}print({WAYS[way].format('SCRUBBED')})", tmp_path)

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "3\n", "")
    assert untraced(outcome) == [1]


@pytest.mark.parametrize("way", WAYS)
def test_a_program_with_the_whole_environment_is_not_counted(way: str, tmp_path: Path) -> None:
    outcome = run_script(f"{PROLOGUE}{TRACED}print({WAYS[way].format('KEPT')})", tmp_path)

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "3\n", "")
    assert untraced(outcome) == [0]


@pytest.mark.parametrize("way", OWN_WAYS)
def test_a_program_with_its_starter_s_environment_is_looked_at(way: str, tmp_path: Path) -> None:
    outcome = run_script(
        f"{PROLOGUE}{POPEN}{TRACED}print({OWN_WAYS[way]})\nos.environ.pop('LD_PRELOAD')\n"
        f"print({OWN_WAYS[way]})",
        tmp_path,
    )

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "3\n3\n", "")
    assert untraced(outcome) == [1]


@pytest.mark.parametrize("way", [*WAYS, "execl", "popen", "system"])
def test_the_program_s_environment_stays_as_its_starter_made_it(way: str, tmp_path: Path) -> None:
    call = {**WAYS, **OWN_WAYS}[way].format("SCRUBBED").replace("exit 3", "env > seen")
    outcome = run_script(
        PROLOGUE.replace("exit 3", "env > seen")
        + f"{POPEN}{TRACED}os.environ.clear()\nos.environ['A'] = '1'\nprint({call})",
        tmp_path,
    )

    assert (outcome.stdout, outcome.stderr) == ("0\n", "")
    lines = set((tmp_path / "seen").read_text().splitlines())
    assert "A=1" in lines
    assert {line.partition("=")[0] for line in lines} <= {"A", "PWD", "SHLVL", "_", "OLDPWD"}


@pytest.mark.parametrize("without", ["LD_PRELOAD", "KTRACE_SESSION_DIR"])
def test_either_variable_is_needed(without: str, tmp_path: Path) -> None:
    environment = f"{{k: v for k, v in os.environ.items() if k != {without!r}}}"
    outcome = run_script(
        f"{PROLOGUE}{TRACED}subprocess.run(['true'], env={environment}, check=True)", tmp_path
    )

    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert untraced(outcome) == [1]


@pytest.mark.parametrize(
    ("preload", "count"),
    [
        ("{0}", 0),
        ("/none.so:{0}", 0),
        ("{0} /none.so", 0),
        ("/none.so", 1),
        ("/x/not_libktrace_preload.so", 1),
        ("/x/libktrace_preload.so.txt", 1),
        ("", 1),
    ],
)
def test_the_preload_list_is_read_as_the_loader_reads_it(
    preload: str, count: int, tmp_path: Path
) -> None:
    outcome = run_script(
        f"{PROLOGUE}{TRACED}own = os.environ['LD_PRELOAD'].split(':')[0]\n"
        f"preload = {preload!r}.format(own)\n"
        "subprocess.run(['true'], env={**os.environ, 'LD_PRELOAD': preload}, check=True,\n"
        "               stderr=subprocess.DEVNULL)",
        tmp_path,
    )

    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert untraced(outcome) == [count]


@pytest.mark.parametrize(
    "start",
    [
        # subprocess tries each folder of PATH between vfork and exec.
        "subprocess.run(['true'], env={'PATH': '/none:/none2:/usr/bin:/bin'}, check=True)",
        "subprocess.run(['true'], env={'PATH': '/none:/usr/bin:/bin'}, preexec_fn=lambda: None)",
        "os.posix_spawnp('true', ['true'], {'PATH': '/none:/usr/bin:/bin'}); os.wait()",
    ],
)
def test_one_start_counts_once_however_many_paths_are_tried(start: str, tmp_path: Path) -> None:
    outcome = run_script(f"{PROLOGUE}{TRACED}{start}\n{start}", tmp_path)

    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert untraced(outcome) == [2]


def test_a_program_that_does_not_start_is_not_counted(tmp_path: Path) -> None:
    outcome = run_script(
        PROLOGUE + TRACED + "ctypes.set_errno(0)\n"
        "print(c.execve(b'/none', ARGUMENTS, SCRUBBED), ctypes.get_errno())\n"
        "print(c.execveat(-100, b'/none', ARGUMENTS, SCRUBBED, 0), ctypes.get_errno())\n"
        "print(spawned(c.posix_spawn, b'/none', SCRUBBED))\n"
        "print(c.system(None))",
        tmp_path,
    )

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "-1 2\n-1 2\n-2\n1\n", "")
    assert untraced(outcome) == [0]


def test_the_loss_behind_env_i_is_stated_once(tmp_path: Path) -> None:
    outcome = run_preloaded(["sh", "-c", "env -i /bin/sh -c 'exit 3'; echo $?"], tmp_path)

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "3\n", "")
    assert untraced(outcome) == [1]
    assert outcome.status.is_bystander
    assert Path(outcome.status.program).name == "env"
    assert outcome.status.launches == 0


def test_a_bystander_counts_all_its_programs_in_one_file(tmp_path: Path) -> None:
    outcome = run_script(
        PROLOGUE + "for _ in range(3): subprocess.run(['/bin/true'], env={}, check=True)\n"
        "for _ in range(2): spawned(c.posix_spawn, b'/bin/sh', SCRUBBED)\n",
        tmp_path,
    )

    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert untraced(outcome) == [5]


def test_a_bystander_may_call_hip_later(tmp_path: Path) -> None:
    outcome = run_script(
        f"{PROLOGUE}spawned(c.posix_spawn, b'/bin/sh', SCRUBBED)\n{TRACED}"
        "spawned(c.posix_spawn, b'/bin/sh', SCRUBBED)\n",
        tmp_path,
    )

    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert untraced(outcome) == [1, 1]
    assert [status.is_bystander for status in outcome.statuses] == [True, False]
    assert [status.dispatches for status in outcome.statuses] == [0, 1]


def test_without_a_session_nothing_is_looked_at(tmp_path: Path) -> None:
    outcome = run_preloaded(
        ["env", "-i", "/bin/sh", "-c", "exit 3"], tmp_path, environment={"KTRACE_SESSION_DIR": ""}
    )

    assert (outcome.returncode, outcome.stderr) == (3, "")
    assert outcome.statuses == []


def test_a_program_that_empties_its_environment_before_hip_is_told(tmp_path: Path) -> None:
    outcome = run_script(f"os.environ.clear()\n{TRACED}", tmp_path)

    assert outcome.returncode == 0
    assert outcome.stderr == (
        "ktrace: KTRACE_SESSION_DIR was removed from the environment before the first call of HIP: "
        "the program runs untraced\n"
    )
    assert outcome.status.is_refused
    assert outcome.recordings == []


def test_a_pyenv_like_shim_leaves_one_recording(tmp_path: Path) -> None:
    script = tmp_path / "work.py"
    script.write_text(
        "import ctypes, os, sys\nfrom pathlib import Path\nfrom support.hip_host import *\n"
        f"SAXPY = Path({str(Path(__file__).parents[2] / 'samples/saxpy/saxpy.gfx942.co')!r})\n"
        + TRACED
    )
    shim = tmp_path / "python3"
    shim.write_text(
        "#!/bin/bash\nfor i in 1 2 3 4 5 6 7 8; do v=$(echo $i | sed s/1/2/); done\n"
        f'exec {sys.executable} "$@"\n'
    )
    shim.chmod(0o755)

    outcome = run_preloaded([shim, script], tmp_path)

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "", "")
    assert [len(recording.dispatches) for recording in outcome.recordings] == [1]
    assert len(list((tmp_path / "session").iterdir())) == 1
    assert untraced(outcome) == [0]


def test_ktrace_run_states_the_loss_behind_env_i_once(tmp_path: Path) -> None:
    preload, folders = tmp_path / "none.so", f"{tmp_path / 'a'}:{tmp_path / 'b'}"
    script = "env -i /bin/sh -c 'env > scrubbed'; env > kept"
    run = [sys.executable, "-m", "ktrace_cli", "run", "--device", "soft", "--"]
    done = subprocess.run(
        [*run, "sh", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "LD_PRELOAD": str(preload), "LD_LIBRARY_PATH": folders},
        capture_output=True,
        text=True,
        check=False,
    )

    own = [line for line in done.stderr.splitlines() if line.startswith("ktrace: ")]
    assert done.returncode == 0
    assert own[-2:] == [
        "ktrace: warning: 1 program was started with an environment without ktrace's variables: "
        "not traced; pass LD_PRELOAD and KTRACE_* on",
        "ktrace: nothing was recorded: no process called HIP through a library that ktrace can see",
    ]
    kept = dict(line.split("=", 1) for line in (tmp_path / "kept").read_text().splitlines())
    assert kept["LD_PRELOAD"].endswith(f":{preload}")
    assert kept["LD_LIBRARY_PATH"].endswith(folders)
    assert "LD_PRELOAD" not in (tmp_path / "scrubbed").read_text()


# A reporter of crashes: a program with an empty environment, started by a handler that has little
# stack besides what the kernel itself puts there, and a page below it that may not be touched.
REPORTER = """
#define _GNU_SOURCE
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static char* none[] = {0};
static void report(int number) {
  int status;
  pid_t child = START();
  if (child == 0) {
    execle("/bin/sh", "sh", "-c", "echo reported; exit 3", (char*)0, none);
    _exit(9);
  }
  waitpid(child, &status, 0);
  _exit(WIFSIGNALED(status) ? 100 + WTERMSIG(status) : WEXITSTATUS(status));
}
void crash(void) {
  size_t size = getauxval(AT_MINSIGSTKSZ) + 4608;
  char* memory = mmap(0, 1 << 18, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(memory, 1 << 16, PROT_NONE);
  stack_t stack = {.ss_sp = memory + (1 << 16), .ss_size = size};
  struct sigaction action = {.sa_handler = report, .sa_flags = SA_ONSTACK};
  sigaltstack(&stack, 0);
  sigaction(SIGSEGV, &action, 0);
  raise(SIGSEGV);
}
"""


@pytest.mark.parametrize("start", ["fork", "vfork"])
@pytest.mark.parametrize("before", ["", TRACED], ids=["bystander", "traced"])
@pytest.mark.parametrize("traced", [False, True], ids=["plain", "preloaded"])
def test_a_handler_with_a_small_stack_starts_a_reporter(
    start: str, before: str, traced: bool, tmp_path: Path
) -> None:
    library = compile_c_library(REPORTER.replace("START", start), tmp_path / "reporter.so")

    outcome = run_script(
        f"reporter = ctypes.CDLL({str(library)!r})\n{before}reporter.crash()",
        tmp_path,
        traced=traced,
    )

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (3, "reported\n", "")
    assert sum(untraced(outcome)) == traced
