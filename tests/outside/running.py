"""Run programs that nobody here wrote by `ktrace run --device soft`, as their users would."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from support.ktrace_command import ktrace_command

PROGRAMS = Path(__file__).parent / "programs"
REQUIREMENTS = Path(__file__).with_name("requirements.txt").read_text()
VERSIONS = dict(line.split("==") for line in REQUIREMENTS.splitlines() if "==" in line)
TARGETS = ("gfx942", "gfx950")

Results = dict[str, npt.NDArray[Any]]


def need(*packages: str) -> None:
    """Skip the test where a package is absent or of another version: `nox -s outside` has them."""
    for package in packages:
        try:
            version = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pytest.skip(f"no {package}: `nox -s outside` installs it")
        if version.split("+")[0] != VERSIONS[package]:
            pytest.skip(f"{package} is {version}, and not {VERSIONS[package]}")


class Outside:
    """Runs programs of this folder in the interposer, each in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(
        self,
        target: str,
        program: str,
        *arguments: object,
        options: tuple[str, ...] = (),
        **more: str,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program under `ktrace run`; it must succeed."""
        soft = ("--device", "soft", "--arch", target, "-o", self.folder / "run.bin")
        command = (sys.executable, PROGRAMS / program, *arguments)
        done = subprocess.run(
            ktrace_command("run", *soft, *options, "--", *command),
            cwd=self.folder,
            env={**os.environ, "COLUMNS": "500", **more},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done

    def results(self, target: str, program: str, *arguments: object, **more: str) -> Results:
        """Run a program that saves arrays to the file that its last argument names."""
        saved = self.folder / "results.npz"
        self.run(target, program, *arguments, saved, **more)
        with np.load(saved) as arrays:
            return dict(arrays)
