"""What a program's environment needs so that FlyDSL traces, and its names are found."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

HOOK = Path(__file__).with_name("sitecustomize.py")
HOOK_FOLDER = "python"
"""In the session's folder: its path has no colon, at which PYTHONPATH is split."""
BUFFER_BYTES = 256 << 20
"""Of the device's memory: 32,760 waves between two readings."""

_ENABLE, _BUFFER_BYTES = "FLYDSL_KTRACE_ENABLE", "FLYDSL_KTRACE_BUFFER_BYTES"


def put_hook(session: Path) -> Path:
    """Put a link to the hook into the folder of a run; return where PYTHONPATH must lead."""
    folder = session / HOOK_FOLDER
    folder.mkdir()
    (folder / HOOK.name).symlink_to(HOOK)
    return folder


def flydsl_environment(inherited: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return the variables to set; what the user has set stays as it is.

    Args:
        inherited: the user's environment.
        folder: of the hook.
    """
    if inherited.get(_ENABLE, "1").strip().lower() not in ("1", "true", "yes", "on"):
        return {}
    theirs = inherited.get("PYTHONPATH", "")
    return {
        _ENABLE: inherited.get(_ENABLE, "1"),
        _BUFFER_BYTES: inherited.get(_BUFFER_BYTES, str(BUFFER_BYTES)),
        "PYTHONPATH": f"{folder}:{theirs}" if theirs else str(folder),
    }
