"""Finds rocprofv3 and runs a job with it; what it says passes on to stderr and is kept."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ktrace_cli.errors import ExitStatus, KtraceError
from ktrace_cli.launch.program import Program, find_program, held_signals, run_program
from ktrace_cli.rocprof.jobs import Job, write_job

_NAME = "rocprofv3"
_ROCM = "/opt/rocm"
_STDOUT, _STDERR = 1, 2
_JOIN_S = 2.0
_HELP_S = 60.0
_INSTALL = "install ROCm's rocprofiler-sdk, or put the folder of rocprofv3 into PATH"


@dataclass(frozen=True)
class Tool:
    """An installed rocprofv3."""

    path: str

    @cached_property
    def help(self) -> str:
        """What it says of its options.

        Raises:
            KtraceError: it does not run.
        """
        try:
            done = subprocess.run(
                [self.path, "--help"],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_HELP_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            why = getattr(problem, "strerror", None) or str(problem)
            raise KtraceError(f"cannot run {self.path}", why=why, fix=_INSTALL) from problem
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines() or ["it says nothing"]
            raise KtraceError(
                f"cannot run {self.path}",
                why=f"`rocprofv3 --help` exits with {done.returncode}: {said[-1]}",
                fix=_INSTALL,
            )
        return done.stdout

    def require(self, option: str, what: str) -> None:
        """Refuse a release that lacks an option.

        Raises:
            KtraceError: it does.
        """
        if option not in self.help:
            raise KtraceError(
                f"{self.path} cannot {what}",
                why=f"it has no option {option}",
                fix="use the rocprofv3 of a newer ROCm: 7.0 or later",
            )


@dataclass(frozen=True)
class Outcome:
    """How a job ended."""

    status: int
    """Of the program, 128 + n after signal n; of rocprofv3 if that failed."""
    log: tuple[str, ...]
    """Lines that rocprofv3 and the program wrote to stderr."""
    folder: Path

    def said(self, text: str) -> str:
        """Return the first line with `text` in it, whatever its case; "" if there is none."""
        return next((line.strip() for line in self.log if text.lower() in line.lower()), "")


def find_rocprofv3() -> Tool:
    """Find rocprofv3 in PATH, else in ROCm's folder.

    Raises:
        KtraceError: it is not there.
    """
    rocm = Path(os.environ.get("ROCM_PATH") or _ROCM) / "bin" / _NAME
    found = shutil.which(_NAME) or shutil.which(str(rocm))
    if found is None:
        raise KtraceError(
            "cannot find rocprofv3",
            why=f"it is neither in PATH nor at {rocm}",
            fix=_INSTALL,
            status=ExitStatus.NOT_FOUND,
        )
    return Tool(found)


def run_job(
    tool: Tool, job: Job, command: Sequence[str], folder: Path, added: Mapping[str, str]
) -> Outcome:
    """Run a program under rocprofv3. What it writes to stdout goes to stderr: stdout is ours.

    Args:
        tool: rocprofv3.
        job: what it shall do.
        command: the program and its arguments.
        folder: where the job's file and log go; it exists.
        added: variables of the environment.

    Raises:
        KtraceError: the program is not there, or rocprofv3 cannot be started.
    """
    find_program(command)
    file = folder / "job.json"
    write_job(job, file)
    program = Program(tool.path, (_NAME, "-i", str(file.resolve()), "--", *command), "")
    pump = _Pump()
    with held_signals() as mask:
        pump.start()
        try:
            streams = ((_STDERR, _STDOUT), (pump.write_end, _STDERR))
            status = run_program(program, {**os.environ, **added}, mask, streams)
        finally:
            pump.close()
    (folder / "rocprofv3.log").write_bytes(pump.data)
    text = pump.data.decode(errors="replace")
    return Outcome(status, tuple(text.splitlines()), folder)


class _Pump:
    """Hands on what comes through a pipe to stderr, and keeps it."""

    def __init__(self) -> None:
        self.data = b""
        self._read_end, self.write_end = os.pipe()
        self._thread = threading.Thread(target=self._hand_on, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _hand_on(self) -> None:
        while piece := os.read(self._read_end, 1 << 16):
            self.data += piece
            os.write(_STDERR, piece)

    def close(self) -> None:
        """Wait until all was handed on; a process that stays in the background may hold its end."""
        os.close(self.write_end)
        self._thread.join(_JOIN_S)
        if not self._thread.is_alive():
            os.close(self._read_end)
