"""`ktrace decode` to a stdout that is full, closed, or left by its reader."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from support.recording import Wave
from support.timelines import TILE, builder
from support.words import span


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """More than what fits the buffers on the way to stdout, compressed or not."""
    made, kernel = builder()
    spans = [span(TILE, 2_000 + 37 * i * i, 2_000 + 37 * i * i + i * 7919 % 30) for i in range(100)]
    for _ in range(20):
        made.add_dispatch(kernel, [Wave(main=spans, end=1_000_000)], region_log2=11)
    return made.write(tmp_path / "many.bin")


@pytest.mark.parametrize("options", [["-f", "text"], ["-o", "-"]])
@pytest.mark.parametrize(
    ("redirection", "why"), [(">/dev/full", "No space left on device"), (">&-", "it is closed")]
)
def test_a_stdout_that_takes_nothing_is_an_error_without_a_traceback(
    many: Path, options: list[str], redirection: str, why: str
) -> None:
    line = shlex.join([sys.executable, "-m", "ktrace_cli", "decode", str(many), *options])

    done = subprocess.run(
        f"{line} {redirection}", shell=True, stderr=subprocess.PIPE, text=True, check=False
    )

    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "ktrace: error: cannot write to standard output",
        f"  why: {why}",
        "  try: redirect it to where there is room",
    ]


@pytest.mark.parametrize("options", [["-f", "text"], ["-o", "-"]])
def test_a_reader_that_leaves_is_no_error_to_speak_of(many: Path, options: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)

    done = subprocess.run(
        [sys.executable, "-m", "ktrace_cli", "decode", str(many), *options],
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )

    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")
