"""Start the program that measures, once without the interposer and once under it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import orjson

from ktrace_cli.launch.environment import TraceOptions, traced_environment
from ktrace_cli.launch.native import make_session
from ktrace_cli.launch.program import find_program
from ktrace_cli.launch.run import run_traced
from ktrace_cli.launch.status import ProcessStatus
from ktrace_cli.selftest.answer import Answer, read_answer
from ktrace_cli.selftest.settings import WORDS, Settings

PROGRAM = "ktrace_cli.selftest.program"


@dataclass(frozen=True)
class TracedAnswer:
    """What the program found under the interposer."""

    answer: Answer
    recording: Path
    process: ProcessStatus | None
    """What the interposer counted; None if it told nothing."""


def run_bare(folder: Path, settings: Settings) -> Answer:
    """Run the program without the interposer."""
    folder.mkdir()
    with make_session(software_device=settings.is_software) as session:
        environment = traced_environment(
            TraceOptions(inherited=dict(os.environ)),
            session,
            version("ktrace"),
            software_device=settings.is_software,
        )
        preloads = environment["LD_PRELOAD"].split(":")
        environment["LD_PRELOAD"] = ":".join(p for p in preloads if p != str(session.interposer))
        done = subprocess.run(_command("bare", folder, settings), env=environment, check=False)
    return read_answer(folder, done.returncode)


def run_under_interposer(folder: Path, part: str, settings: Settings) -> TracedAnswer:
    """Run a part of the program as `ktrace run` does.

    Raises:
        KtraceError: the installation is not whole.
    """
    folder.mkdir()
    recording = folder / "selftest.bin"
    result = run_traced(
        find_program(_command(part, folder, settings)),
        TraceOptions(output=recording, words=str(WORDS)),
        version("ktrace"),
        software_device=settings.is_software,
    )
    own = [process for process in result.processes if process.output == recording]
    answer = read_answer(folder, result.status)
    return TracedAnswer(answer, recording, own[0] if own else None)


def _command(part: str, folder: Path, settings: Settings) -> list[str]:
    text = orjson.dumps(asdict(settings)).decode()
    return [sys.executable, "-m", PROGRAM, part, str(folder), text]
