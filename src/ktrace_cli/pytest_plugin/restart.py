"""Replaces this pytest by `ktrace run -- pytest …`, with the same arguments, once."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest

from ktrace_cli.launch.environment import OUTPUT_DIR, SESSION_DIR
from ktrace_cli.launch.native import Session

_NAMES = ("pytest", "py.test")


@dataclass(frozen=True)
class Wanted:
    """Where and on what the tests shall run; None: as `ktrace run` does by itself."""

    folder: str | None
    device: str | None


def ensure_traced(wanted: Wanted, arguments: Sequence[str | os.PathLike[str]]) -> None:
    """Return if this process runs under ktrace; else start all over under `ktrace run`.

    Args:
        wanted: what the options say.
        arguments: what pytest was called with.

    Raises:
        pytest.UsageError: it runs under another ktrace than asked for, or cannot be restarted.
    """
    if session := os.environ.get(SESSION_DIR):
        _check_session(wanted, Session(Path(session)))
        return
    _check_restartable([os.fspath(argument) for argument in arguments])
    _restart(wanted)


def usage_error(what: str, why: str, fix: str) -> pytest.UsageError:
    """Word an error as ktrace's commands do."""
    return pytest.UsageError(f"{what}\n  why: {why}\n  try: {fix}")


def _check_session(wanted: Wanted, session: Session) -> None:
    if not session.folder.is_dir():
        raise usage_error(
            "--ktrace: this process does not run under ktrace any more",
            f"{SESSION_DIR} names {session.folder}, which is not there",
            "start it from a shell without ktrace's variables",
        )
    folder = os.environ.get(OUTPUT_DIR, "")
    given = wanted.folder and "%" not in wanted.folder and str(Path(wanted.folder).absolute())
    if given and given != folder:
        raise usage_error(
            f"`--ktrace-out {wanted.folder}` has no meaning here",
            f"pytest runs under a `ktrace run` that records in {folder or 'another folder'}",
            "give the folder to that one, with `-d`",
        )
    is_software = os.environ.get("ROCM_PATH") == str(session.rocm)
    if wanted.device == ("hardware" if is_software else "soft"):
        raise usage_error(
            f"`--ktrace-device {wanted.device}` has no meaning here",
            "pytest runs under a `ktrace run` on the "
            + ("software device" if is_software else "machine's HIP"),
            "give the device to that one, with `--device`",
        )


def _check_restartable(arguments: Sequence[str]) -> None:
    program = Path(sys.argv[0])
    is_pytest = program.name in _NAMES or program.parts[-2:] == ("pytest", "__main__.py")
    if not is_pytest or arguments != sys.argv[1:] or not sys.executable:
        raise usage_error(
            "--ktrace: this pytest cannot be started again under ktrace",
            f"it was called by a program, {sys.argv[0]}",
            f"run that under ktrace: `ktrace run -- {Path(sys.executable).name} {sys.argv[0]} …`",
        )


def _restart(wanted: Wanted) -> NoReturn:
    """Become `ktrace run`: with our process id, our streams and our arguments."""
    safe_path = ["-P"] if sys.version_info >= (3, 11) else []
    run = [sys.executable, *safe_path, "-m", "ktrace_cli", "run"]
    if wanted.folder is not None:
        run += ["-d", wanted.folder]
    if wanted.device is not None:
        run += ["--device", wanted.device]
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [*run, "--", sys.executable, *sys.orig_argv[1:]])
