"""Programs and libraries for this machine that tests share: built once, kept by their content.

They lie in a temporary folder, for all workers and all sessions of a test run.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_HEADERS = ("preload/include", "preload/interposer", "tests/native", "tests/support")


def built_once(parts: Sequence[str], files: Iterable[Path], build: Callable[[Path], None]) -> Path:
    """Return the file or folder that `build` makes at the path that it is given, or made before.

    Args:
        parts: the text that the result depends on: commands, versions.
        files: the files that it depends on besides the headers of the interposer and the tests.
    """
    digest = _digest(parts, [*files, *_headers()])
    result = _folder() / digest
    with (_folder() / f"{digest}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # whoever else wants the same waits, and has it then
        if not result.exists():
            with tempfile.TemporaryDirectory(dir=_folder()) as scratch:
                made = Path(scratch) / "made"
                build(made)
                made.replace(result)
    return result


def compile_once(
    sources: Sequence[Path], output: Path, *options: str, compiler: str | None = None
) -> Path:
    """Compile C++ sources to `output`; skip the test without a compiler.

    The result must not depend on where `output` is, nor on files that only options name.
    """
    compiler = compiler or find_cpp_compiler() or pytest.skip("no C++ compiler")
    command = [compiler, *map(str, sources), *options]  # libraries come last

    def build(made: Path) -> None:
        subprocess.run([*command, "-o", made], check=True)

    made = built_once([version_of(compiler), *command], sources, build)
    shutil.copy2(made, output)
    return output


def find_cpp_compiler() -> str | None:
    """Name the C++ compiler of this machine."""
    return shutil.which("c++") or shutil.which("clang++") or shutil.which("clang++-19")


@functools.cache
def version_of(compiler: str) -> str:
    command = [compiler, "--version"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@functools.cache
def _headers() -> tuple[Path, ...]:
    return tuple(
        path
        for folder in _HEADERS
        for pattern in ("*.h", "*.hpp")
        for path in sorted((ROOT / folder).rglob(pattern))
    )


def _digest(parts: Sequence[str], files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode() + b"\0")
    for path in files:
        digest.update(str(path).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:32]


def _folder() -> Path:
    folder = Path(tempfile.gettempdir()) / f"ktrace-test-programs-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder
