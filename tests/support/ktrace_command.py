"""Run `ktrace` as its users do, on programs that launch a sample."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "tests" / "support" / "launch_saxpy.py"
TRACED = ROOT / "samples" / "saxpy" / "saxpy.gfx942.co"
UNTRACED = ROOT / "samples" / "saxpy" / "saxpy.gfx942.untraced.co"

Done = subprocess.CompletedProcess[str]
Ktrace = Callable[..., Done]


def ktrace_command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "ktrace_cli", *map(str, arguments)]


def ktrace_environment(changes: Mapping[str, str]) -> dict[str, str]:
    return {**os.environ, "COLUMNS": "500", **changes}


def run_ktrace(folder: Path, *arguments: object, **environment: str) -> Done:
    return subprocess.run(
        ktrace_command(*arguments),
        cwd=folder,
        env=ktrace_environment(environment),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def saxpy(code_object: Path = TRACED, count: int = 1) -> list[object]:
    """A program that launches saxpy `count` times and says ok."""
    return [sys.executable, PROGRAM, code_object, count]


def gemm() -> list[object]:
    return [sys.executable, ROOT / "samples/gemm/run.py", "--size", "128", "--launches", "1"]


def said(result: Done) -> list[str]:
    """Return ktrace's own lines after the announcement of the software device."""
    lines = [line for line in result.stderr.splitlines() if "no AMD GPU here" not in line]
    return [line.removeprefix("ktrace: ") for line in lines]
