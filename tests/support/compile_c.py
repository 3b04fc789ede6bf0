"""Compile a C program or library that runs on this machine."""

import shutil
import subprocess
from pathlib import Path

import pytest


def compile_c(text: str, output: Path, *options: str) -> Path:
    """Compile `text`; skips the test where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("clang") or shutil.which("clang-19")
    if not compiler:
        pytest.skip("no C compiler")
    source = output.with_name(f"{output.name}.c")
    source.write_text(text)
    subprocess.run([compiler, "-O1", "-w", source, "-o", output, *options], check=True)
    return output


def compile_c_library(text: str, output: Path) -> Path:
    """Compile `text` as a shared library; skips the test where there is no compiler."""
    return compile_c(text, output, "-fPIC", "-shared")
