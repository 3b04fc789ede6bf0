"""Runs of several processes: helpers, workers, children without our environment."""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path

import pytest

from ktrace_cli.trace_file.reader import read_recording
from support.ktrace_command import PROGRAM, TRACED, Ktrace, said, saxpy

TWO_AT_ONCE = (
    "import subprocess, sys\n"
    "children = [subprocess.Popen(sys.argv[1:]) for _ in range(2)]\n"
    "sys.exit(max(child.wait() for child in children))"
)
POOL = f"""
import multiprocessing, sys
from pathlib import Path

def start(barrier):
    global both_started
    both_started = barrier

def work(_):
    both_started.wait()  # so that each worker gets one
    sys.path.insert(0, {str(PROGRAM.parent)!r})
    import launch_saxpy
    launch_saxpy.main(Path({str(TRACED)!r}), 1)

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    pool = context.Pool(2, start, (context.Barrier(2),))
    pool.map(work, range(2), chunksize=1)
    if sys.argv[2] == "close":
        pool.close()
        pool.join()
    else:
        pool.terminate()  # as at the end of `with Pool()`: workers are killed
"""


def recordings(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.bin"))


def dispatches(folder: Path) -> int:
    return sum(len(read_recording(path).dispatches) for path in folder.glob("*.bin"))


def test_two_processes_write_two_files(ktrace: Ktrace, tmp_path: Path) -> None:
    result = ktrace("run", "-o", "t.bin", "--", sys.executable, "-c", TWO_AT_ONCE, *saxpy(count=2))

    first, second = recordings(tmp_path)
    assert result.returncode == 0
    assert second == "t.bin"
    assert re.fullmatch(r"t\.\d+\.bin", first)
    (line,) = said(result)
    assert line.startswith("recorded 4 dispatches in ")
    assert first in line
    assert second in line


def test_the_same_command_again_replaces_nothing_silently(ktrace: Ktrace, tmp_path: Path) -> None:
    command = ("--", sys.executable, "-c", TWO_AT_ONCE, *saxpy())
    ktrace("run", "-o", "t.bin", *command)
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.bin")}
    beside = min(before)

    refused = ktrace("run", "-o", "t.bin", *command)
    after = {path.name: path.read_bytes() for path in tmp_path.glob("*.bin")}
    forced = ktrace("run", "--force", "-o", "t.bin", *command)

    assert (refused.returncode, refused.stdout) == (125, "")
    assert said(refused)[0] == "error: will not replace t.bin"
    assert after == before
    assert forced.returncode == 0
    assert said(forced)[0] == f"`--force` left recordings of an earlier run: {beside}"
    assert len(recordings(tmp_path)) == 3
    assert (tmp_path / beside).read_bytes() == before[beside]


def test_helper_processes_leave_nothing_behind(ktrace: Ktrace, tmp_path: Path) -> None:
    """As a pyenv shim does: a script that starts 35 programs before the one that is meant."""
    shim = tmp_path / "python3"
    shim.write_text(
        "#!/bin/bash\n"
        "for number in {1..35}; do text=$(cat /dev/null; echo $number) || exit; done\n"
        f'exec {sys.executable} "$@"\n'
    )
    shim.chmod(0o755)

    result = ktrace("run", "--", "./python3", *saxpy()[1:])

    assert (result.returncode, result.stdout) == (0, "ok\n")
    (line,) = said(result)
    assert re.match(r"recorded 1 dispatch in ktrace_out/launch_saxpy\.\d+\.bin ", line)
    assert len(list((tmp_path / "ktrace_out").iterdir())) == 1


@pytest.mark.parametrize("end", ["close", "terminate"])
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_every_worker_of_a_pool_is_recorded(
    ktrace: Ktrace, tmp_path: Path, method: str, end: str
) -> None:
    (tmp_path / "pool.py").write_text(POOL)

    result = ktrace("run", "-o", "p.bin", "--", sys.executable, "pool.py", method, end)

    assert (result.returncode, result.stdout.split()) == (0, ["ok", "ok"])
    assert dispatches(tmp_path) == 2
    assert len(recordings(tmp_path)) == 2
    assert said(result)[-1].startswith("recorded 2 dispatches in ")


def test_a_child_without_our_environment_is_said_once(ktrace: Ktrace, tmp_path: Path) -> None:
    code = (
        "import subprocess, sys\n"
        "for _ in range(2): subprocess.run([sys.executable, '-c', 'pass'], env={}, check=True)"
    )

    result = ktrace("run", "--", sys.executable, "-c", code)

    assert result.returncode == 0
    assert said(result)[0] == (
        "warning: 2 programs were started with an environment without ktrace's variables: not "
        "traced; pass LD_PRELOAD and KTRACE_* on"
    )


def test_a_process_that_goes_on_is_said(ktrace: Ktrace, tmp_path: Path) -> None:
    """The program ends; a child of its, which has called HIP, lives until its input ends."""
    child = (
        "import sys; sys.path.insert(0, sys.argv[1]); import launch_saxpy\n"
        "from pathlib import Path\n"
        "launch_saxpy.main(Path(sys.argv[2]), 1); print('done', flush=True); sys.stdin.read()"
    )
    code = (
        "import os, subprocess, sys\n"
        "end, held = os.pipe()\n"
        "os.set_inheritable(held, True)\n"
        "child = subprocess.Popen([sys.executable, '-c', *sys.argv[1:]], stdin=end,\n"
        "                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,\n"
        "                         pass_fds=[held])\n"
        "child.stdout.readline(); child.stdout.readline()\n"
        "print(child.pid, flush=True); os._exit(0)"
    )
    # The child holds both ends of its own input, so it never ends by itself.

    result = ktrace(
        "run", "-o", "a.bin", "--", sys.executable, "-c", code, child, PROGRAM.parent, TRACED,
        TMPDIR=str(tmp_path),  # the folder of the run stays there
    )  # fmt: skip
    pid = int(result.stdout)
    os.kill(pid, signal.SIGKILL)
    warning = [line for line in said(result) if "still running" in line]

    assert warning == [
        f"warning: process {pid} ({Path(sys.executable).resolve()}) is still running: what it "
        "records from now on is not in this report"
    ]
