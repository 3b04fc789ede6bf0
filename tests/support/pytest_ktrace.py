"""Run pytest with ktrace's plugin in a folder of its own, on tests that launch samples."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from support.ktrace_command import ROOT, Done, ktrace_environment

BEGIN = f"""
import os, signal, subprocess, sys
from pathlib import Path
import pytest
sys.path.insert(0, {str(ROOT / "tests")!r})
from support.hip_host import Host, open_hip
CODE_OBJECT = Path({str(ROOT / "samples/saxpy/saxpy.gfx942.co")!r})

def launch(count):
    host = Host(open_hip(), CODE_OBJECT)
    for _ in range(count):
        host.launch()
    assert host.is_right()
"""

_PYTEST = ("-m", "pytest", "-p", "no:cacheprovider")
# hypothesis takes a second of CPU at the end of every pytest, whether a test needs it or not.
WITHOUT_HYPOTHESIS = {"PYTEST_ADDOPTS": "-p no:hypothesispytest"}


def run_pytest(folder: Path, *arguments: object, before: tuple[object, ...] = ()) -> Done:
    """Run `pytest`, by a command that begins with `before` if there is any."""
    return subprocess.run(
        [*map(str, before), sys.executable, *_PYTEST, *map(str, arguments)],
        cwd=folder,
        env=ktrace_environment(WITHOUT_HYPOTHESIS),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def write_tests(folder: Path, text: str, name: str = "test_it.py") -> None:
    (folder / name).write_text(BEGIN + text)


def recordings(folder: Path) -> list[Path]:
    return sorted((folder / "ktrace_out").glob("*.bin"))


def ending(done: Done) -> list[str]:
    """Return the plugin's part of the terminal summary; process ids and sizes are named so."""
    match = re.search(
        r"^=+ ktrace =+\n(.*?)^(?:=+ |\d+ \w+)", done.stdout, re.MULTILINE | re.DOTALL
    )
    text = match[1] if match else ""
    text = re.sub(r"\bpy(?:test|thon[\d.]*)\.(\d+)\.bin", "PYTHON.bin", text)
    return re.sub(r"[\d.]+ KiB", "SIZE", text).splitlines()


def failure(done: Done, test: str) -> str:
    """Return why a test failed, as pytest shows it."""
    match = re.search(rf"^_+ {re.escape(test)} _+\n(.*?)^[_=-]{{5}}", done.stdout, re.M | re.S)
    return match[1].rstrip("\n") if match else ""
