"""Linux before 6.11, which answers no question after one mapping, for programs of tests."""

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("old_linux.cpp")


def build_library(path: Path, *arguments: str | Path) -> Path:
    """Compile C++ sources to a shared library; skip the test without a compiler."""
    compiler = shutil.which("c++") or shutil.which("clang++") or shutil.which("clang++-19")
    if not compiler:
        pytest.skip("no C++ compiler")
    flags = ("-std=c++17", "-fPIC", "-shared", "-pthread")
    subprocess.run([compiler, *flags, *arguments, "-o", path, "-ldl"], check=True)
    return path


def old_linux(folder: Path) -> Path:
    """Give what a program is started with as LD_PRELOAD; it says how much it refused."""
    return build_library(folder / "old_linux.so", SOURCE)
