"""The command and the native libraries of different releases do not work together by accident."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.ktrace_command import Ktrace, said, saxpy

OTHER = "9.9.9"
VERSION = "0.1.0"
REFUSAL = f"libktrace_preload.so is version {VERSION}, `ktrace` is {OTHER}"


@pytest.fixture
def other_release(tmp_path: Path) -> str:
    """A PYTHONPATH on which ktrace says that it is of another release than its libraries."""
    metadata = tmp_path / "packages" / f"ktrace-{OTHER}.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text(f"Metadata-Version: 2.1\nName: ktrace\nVersion: {OTHER}\n")
    return os.pathsep.join([str(tmp_path / "packages"), os.environ.get("PYTHONPATH", "")])


def test_under_an_interposer_of_another_release_the_program_runs_untraced(
    ktrace: Ktrace, other_release: str
) -> None:
    program = saxpy()

    done = ktrace("run", "--device", "soft", "--", *program, PYTHONPATH=other_release)

    assert (done.returncode, done.stdout) == (0, "ok\n")
    assert f"{REFUSAL}: the program runs untraced" in said(done)


def test_doctor_tells_of_an_interposer_of_another_release(
    ktrace: Ktrace, other_release: str
) -> None:
    done = ktrace("doctor", PYTHONPATH=other_release)

    assert done.stdout.splitlines()[:2] == [
        f"problem  interposer: {REFUSAL}",
        "           try: install ktrace again, or unset KTRACE_NATIVE_DIR",
    ]
    assert done.returncode == 1
