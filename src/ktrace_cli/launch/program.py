"""The user's program: found as a shell would find it, run, its status returned."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ktrace_cli.errors import ExitStatus, KtraceError
from ktrace_cli.launch.preloadable import elf_loader, interpreter_of, why_not_preloadable

SignalMask = set[signal.Signals | int]
Streams = Sequence[tuple[int, int]]

_SHELL = "/bin/sh"
_HANDED_ON = {
    signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2,
}  # fmt: skip
_HELD = _HANDED_ON | {signal.SIGCHLD}
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
_FROM_THE_KERNEL = 0  # si_code is larger: the terminal sent it, to every process in the foreground


@dataclass(frozen=True)
class Program:
    """A program that can be started, with its arguments."""

    path: str
    """As a shell would hand it to the kernel, which makes it `$0` of a script."""
    arguments: tuple[str, ...]
    """The first one is the program's name, as it was typed."""
    not_preloadable: str
    """Why the interposer cannot be loaded into it; "" if it can."""


def find_program(command: Sequence[str]) -> Program:
    """Find the program of a command line as execvp does.

    Raises:
        KtraceError: it is not there (status 127), or cannot be executed (126).
    """
    path = _find(command[0])
    return Program(path, tuple(command), why_not_preloadable(Path(path)))


def _find(name: str) -> str:
    found = shutil.which(name)
    if found is not None:
        return found
    path = Path(name)
    if os.sep not in name or not path.exists():
        raise _cannot_run(
            name,
            why="there is no such program",
            fix="check the spelling and PATH" if os.sep not in name else "check the path",
            status=ExitStatus.NOT_FOUND,
        )
    if path.is_dir():
        raise _cannot_run(name, why="it is a folder", fix="name a program in it")
    raise _cannot_run(
        name,
        why="it is not executable",
        fix=f"run it through its interpreter, or `chmod +x {name}`",
    )


@contextmanager
def held_signals() -> Iterator[SignalMask]:
    """Hold back the signals that are meant for the program; yields the mask that it shall have.

    Threads that are started meanwhile hold them back for ever: else they would take them from us.
    """
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
    try:
        yield mask
    finally:
        while signal.sigtimedwait(_HANDED_ON, 0):
            pass  # the program is gone
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def run_program(
    program: Program,
    environment: Mapping[str, str],
    mask: SignalMask,
    streams: Streams = (),
) -> int:
    """Run the program to its end and return its exit status, 128 + n after signal n.

    It keeps our standard streams and our other inherited files. Signals that reach only us are
    handed on; Ctrl-C reaches it through the terminal, as it would without us. They must be held.

    Args:
        program: what to run.
        environment: all of its variables.
        mask: the signals that it shall hold.
        streams: pairs of a descriptor of ours and one of its standard streams, to have it there.

    Raises:
        KtraceError: the kernel refuses to start it (126).
    """
    # Ignored, the system would forget the child's status; a parent may have left it so.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    return _wait(_start(program, environment, mask, streams))


def _start(
    program: Program, environment: Mapping[str, str], mask: SignalMask, streams: Streams
) -> int:
    arguments = list(program.arguments)
    try:
        return _spawn(program.path, arguments, environment, mask, streams)
    except OSError as error:
        if error.errno == errno.ENOEXEC and not _head(program.path).startswith(b"\x7fELF"):
            # A script without a first line that names its interpreter: execvp and shells do this.
            script = [_SHELL, program.path, *arguments[1:]]
            return _spawn(_SHELL, script, environment, mask, streams)
        raise _why_not_started(program, error) from error


def _spawn(
    path: str,
    arguments: list[str],
    environment: Mapping[str, str],
    mask: SignalMask,
    streams: Streams,
) -> int:
    return os.posix_spawn(
        path,
        arguments,
        dict(environment),
        file_actions=[(os.POSIX_SPAWN_DUP2, ours, theirs) for ours, theirs in streams],
        setsigmask=mask,
        setsigdef=_IGNORED_BY_PYTHON,
    )


def _wait(child: int) -> int:
    ended = threading.Event()
    main = threading.get_ident()

    def wait_for_it() -> None:
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        ended.set()
        signal.pthread_kill(main, signal.SIGCHLD)

    # The kernel's own SIGCHLD may go to any thread, this one cannot be missed.
    threading.Thread(target=wait_for_it, daemon=True).start()
    while not ended.is_set():
        received = signal.sigwaitinfo(_HELD)
        if received.si_signo != signal.SIGCHLD and received.si_code <= _FROM_THE_KERNEL:
            os.kill(child, received.si_signo)  # its id is its own until we ask for its status
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return 128 - code if code < 0 else code


def _why_not_started(program: Program, error: OSError) -> KtraceError:
    head = _head(program.path)
    needed = interpreter_of(head) or elf_loader(head)
    if error.errno == errno.ENOENT and needed and not Path(needed).exists():
        return _cannot_run(
            program.path,
            why=f"its interpreter {needed} does not exist",
            fix="install it, or name another interpreter before the program",
        )
    return _cannot_run(
        program.path,
        why=error.strerror or str(error),
        fix="check that it is built for this machine, or name its interpreter",
    )


def _head(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return file.read(64 * 1024)
    except OSError:
        return b""


def _cannot_run(
    name: str, *, why: str, fix: str, status: ExitStatus = ExitStatus.NOT_EXECUTABLE
) -> KtraceError:
    return KtraceError(f"cannot run {name}", why=why, fix=fix, status=status)
