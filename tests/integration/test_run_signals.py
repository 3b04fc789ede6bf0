"""Signals during a run: to the terminal, to ktrace alone, and what is left afterwards."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ktrace_cli.trace_file.reader import read_recording
from support.ktrace_command import PROGRAM, TRACED, ktrace_command, ktrace_environment

NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1")
HEAD = f"""
import signal, sys
from pathlib import Path
numbers = {{signal.Signals[name] for name in {NAMES}}} | {{signal.SIGUSR2}}
"""
LAUNCH = f"""
sys.path.insert(0, {str(PROGRAM.parent)!r})
import launch_saxpy
launch_saxpy.main(Path({str(TRACED)!r}), 1)
print("ready", flush=True)
"""
DEFAULT = HEAD + LAUNCH + "signal.pause()"
# Blocked before there are other threads, which would take them. Says which signals came, in turn.
WAITING = (
    HEAD
    + "signal.pthread_sigmask(signal.SIG_BLOCK, numbers)"
    + LAUNCH
    + """
for _ in range(2):
    print(signal.Signals(signal.sigwait(numbers)).name, flush=True)
print("and", len(signal.sigpending()), "more")
"""
)


class Started:
    """A `ktrace run` on a terminal of its own, past the program's `ready`."""

    def __init__(self, folder: Path, program: str) -> None:
        self.terminal, theirs = pty.openpty()
        temporary = folder / "temporary"
        temporary.mkdir()
        self.process = subprocess.Popen(
            [
                sys.executable, "-c",
                # The terminal becomes the one that controls this session, so that it sends Ctrl-C.
                "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
                "os.execv(sys.argv[1], sys.argv[1:])",
                *ktrace_command("run", "-o", "a.bin", "--device", "soft", "--"),
                sys.executable, "-u", "-c", program,
            ],
            cwd=folder,
            env=ktrace_environment({"TMPDIR": str(temporary)}),
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        self.temporary = temporary
        assert [self.line(), self.line()] == ["ok\n", "ready\n"]

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def type(self, key: bytes) -> None:
        os.write(self.terminal, key)

    def end(self) -> tuple[int, str, str]:
        output, errors = self.process.communicate(timeout=60)
        os.close(self.terminal)
        assert list(self.temporary.iterdir()) == []
        return self.process.returncode, output, errors


@pytest.mark.parametrize(("key", "name"), [(b"\x03", "SIGINT"), (b"\x1c", "SIGQUIT")])
def test_a_key_at_the_terminal_reaches_the_program_once(
    tmp_path: Path, key: bytes, name: str
) -> None:
    """A second signal would arrive before the one that ktrace is sent afterwards."""
    run = Started(tmp_path, WAITING)

    run.type(key)
    first = run.line()
    run.process.send_signal(signal.SIGUSR2)

    status, output, errors = run.end()
    assert (status, first, output) == (0, f"{name}\n", "SIGUSR2\nand 0 more\n")
    assert errors.startswith("ktrace: recorded 1 dispatch in a.bin ")


def test_ctrl_c_ends_a_program_that_does_nothing_about_it(tmp_path: Path) -> None:
    run = Started(tmp_path, DEFAULT)

    run.type(b"\x03")

    status, _, errors = run.end()
    assert status == 130
    assert "KeyboardInterrupt" in errors  # the program's own
    assert errors.splitlines()[-1].startswith("ktrace: recorded 1 dispatch in a.bin ")
    assert len(read_recording(tmp_path / "a.bin").dispatches) == 1


@pytest.mark.parametrize("name", NAMES)
def test_a_signal_to_ktrace_alone_is_handed_on_once(tmp_path: Path, name: str) -> None:
    run = Started(tmp_path, WAITING)

    run.process.send_signal(signal.Signals[name])
    first = run.line()
    run.process.send_signal(signal.SIGUSR2)

    status, output, errors = run.end()
    assert (status, first, output) == (0, f"{name}\n", "SIGUSR2\nand 0 more\n")
    assert errors.startswith("ktrace: recorded 1 dispatch in a.bin ")


@pytest.mark.parametrize(("name", "status"), [("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_program_that_a_signal_ends_is_reported(tmp_path: Path, name: str, status: int) -> None:
    run = Started(tmp_path, DEFAULT)

    run.process.send_signal(signal.Signals[name])

    returned, output, errors = run.end()
    assert (returned, output) == (status, "")
    assert errors.startswith("ktrace: recorded 1 dispatch in a.bin ")
    assert len(read_recording(tmp_path / "a.bin").dispatches) == 1
