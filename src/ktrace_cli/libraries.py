"""Where this installation's native libraries are."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

from ktrace_cli.errors import ExitStatus, KtraceError


def native_library(name: str, status: ExitStatus = ExitStatus.FAILED) -> Path:
    """Find a native library of this installation.

    Args:
        name: of its file.
        status: what the command exits with if there is none.

    Raises:
        KtraceError: the installation has none.
    """
    for folder in (os.environ.get("KTRACE_NATIVE_DIR"), str(files("ktrace_cli") / "native")):
        if folder and (path := Path(folder, name)).is_file():
            return path.resolve()
    raise KtraceError(
        f"this installation of ktrace has no {name}",
        why="its native part was not built",
        fix="in a clone: `pip install --force-reinstall .`; Linux on x86-64 only",
        status=status,
    )
