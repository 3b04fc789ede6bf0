"""Builds a stand-in HIP from sources of tests/support: a library with HIP's name."""

import shutil
import subprocess
from pathlib import Path

import pytest

from support.preloaded import ROOT


def build_stand_in(folder: Path, *sources: str) -> Path:
    """Compile `sources` to `folder`/libamdhip64.so.7; skip the test without a compiler."""
    compiler = shutil.which("c++") or shutil.which("clang++") or shutil.which("clang++-19")
    if not compiler:
        pytest.skip("no C++ compiler")
    path = folder / "libamdhip64.so.7"
    include = f"-I{ROOT / 'preload' / 'include'}"
    command = [compiler, "-std=c++17", "-O1", "-fPIC", "-shared", include, "-o", str(path)]
    command += [str(ROOT / "tests" / "support" / source) for source in sources]
    subprocess.run(command, check=True)
    return path
