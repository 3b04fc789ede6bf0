"""The command and the native libraries of different releases do not work together by accident."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ktrace_cli.launch.native import INTERPOSER, SOFTWARE_DEVICE
from ktrace_cli.libraries import native_library
from support.ktrace_command import Ktrace, said, saxpy

OTHER = "9.9.9"
VERSION = "0.1.0"
REFUSAL = f"libktrace_preload.so is version {OTHER}, `ktrace` is {VERSION}"


@pytest.fixture
def other_release(tmp_path: Path) -> str:
    """A folder of native libraries whose interposer says that it is of another release."""
    folder = tmp_path / "other"
    folder.mkdir()
    shutil.copy(native_library(SOFTWARE_DEVICE), folder)
    own = native_library(INTERPOSER).read_bytes()
    assert VERSION.encode() in own
    (folder / INTERPOSER).write_bytes(own.replace(VERSION.encode(), OTHER.encode()))
    return str(folder)


def test_under_an_interposer_of_another_release_the_program_runs_untraced(
    ktrace: Ktrace, other_release: str
) -> None:
    program = saxpy()

    done = ktrace("run", "--device", "soft", "--", *program, KTRACE_NATIVE_DIR=other_release)

    assert (done.returncode, done.stdout) == (0, "ok\n")
    assert f"{REFUSAL}: the program runs untraced" in said(done)


def test_doctor_tells_of_an_interposer_of_another_release(
    ktrace: Ktrace, other_release: str
) -> None:
    done = ktrace("doctor", KTRACE_NATIVE_DIR=other_release)

    assert done.stdout.splitlines()[:2] == [
        f"problem  interposer: {REFUSAL}",
        "           try: install ktrace again, or unset KTRACE_NATIVE_DIR",
    ]
    assert done.returncode == 1
