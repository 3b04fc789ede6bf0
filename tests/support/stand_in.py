"""Builds a stand-in HIP from a source of tests/support: a library with HIP's name."""

import shutil
import subprocess
from pathlib import Path

import pytest

from support.preloaded import ROOT


def build_stand_in(source: str, folder: Path, *options: str) -> Path:
    """Compile `source` to `folder`/libamdhip64.so.7; skip the test without a compiler."""
    compiler = shutil.which("c++") or shutil.which("clang++") or shutil.which("clang++-19")
    if not compiler:
        pytest.skip("no C++ compiler")
    path = folder / "libamdhip64.so.7"
    include = f"-I{ROOT / 'preload' / 'include'}"
    command = [compiler, "-std=c++17", "-O1", "-fPIC", "-shared", include, *options]
    subprocess.run([*command, ROOT / "tests" / "support" / source, "-o", path], check=True)
    return path
