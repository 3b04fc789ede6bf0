"""The user's program: found as a shell would find it, run, its status returned."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

from ktrace_cli.errors import ExitStatus, KtraceError

_ELF_MAGIC = b"\x7fELF"
_PT_INTERP = 3


def find_program(name: str) -> Path:
    """Find the program `name` as execvp does.

    Raises:
        KtraceError: it is not there (status 127), or cannot be executed (126).
    """
    found = shutil.which(name)
    if found is not None:
        return Path(found).absolute()  # a bare name would be looked up in PATH again
    path = Path(name)
    if os.sep not in name or not path.exists():
        fix = "check the spelling and PATH" if os.sep not in name else "check the path"
        raise KtraceError(
            f"cannot run {name}",
            why="there is no such program",
            fix=fix,
            status=ExitStatus.NOT_FOUND,
        )
    if path.is_dir():
        raise KtraceError(
            f"cannot run {name}",
            why="it is a folder",
            fix="name a program in it",
            status=ExitStatus.NOT_EXECUTABLE,
        )
    raise KtraceError(
        f"cannot run {name}",
        why="it is not executable",
        fix=f"run it through its interpreter, or `chmod +x {name}`",
        status=ExitStatus.NOT_EXECUTABLE,
    )


def why_not_preloadable(program: Path) -> str:
    """Say why the dynamic loader will not load the interposer into `program`; "" if it will."""
    try:
        if program.stat().st_mode & 0o6000 and os.geteuid() != 0:
            return "it is setuid or setgid"
        with program.open("rb") as file:
            head = file.read(64 * 1024)
    except OSError:
        return ""
    if head[:4] == _ELF_MAGIC and not _has_interpreter(head):
        return "it is statically linked"
    return ""


def _has_interpreter(head: bytes) -> bool:
    """Read the program headers of a 64-bit little-endian ELF; any other is left to the loader."""
    if head[4:6] != b"\x02\x01" or len(head) < 64:
        return True
    offset = int.from_bytes(head[32:40], "little")
    size = int.from_bytes(head[54:56], "little")
    count = int.from_bytes(head[56:58], "little")
    starts = range(offset, offset + size * count, size or 1)
    return any(head[start : start + 4] == _PT_INTERP.to_bytes(4, "little") for start in starts)


def run_program(program: Path, arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run the program to its end and return its exit status, 128 + n after signal n.

    It keeps our standard streams and our other inherited files. Ctrl-C reaches it through the
    terminal; signals that only reach us are handed on.

    Raises:
        KtraceError: the kernel refuses to start it (126).
    """
    try:
        child = subprocess.Popen(
            arguments, executable=program, env=dict(environment), close_fds=False
        )
    except OSError as error:
        raise KtraceError(
            f"cannot run {program}",
            why=error.strerror or str(error),
            fix="check that it is built for this machine, or name its interpreter",
            status=ExitStatus.NOT_EXECUTABLE,
        ) from error

    def hand_on(number: int, _: FrameType | None) -> None:
        child.send_signal(number)

    previous = {
        number: signal.signal(number, hand_on) for number in (signal.SIGTERM, signal.SIGHUP)
    }
    previous[signal.SIGINT] = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        code = child.wait()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    return 128 - code if code < 0 else code
