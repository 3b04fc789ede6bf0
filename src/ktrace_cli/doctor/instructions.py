"""Which instructions of its targets the software device does not execute: its own tables say it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ktrace_cli.doctor.findings import Finding, State
from ktrace_cli.launch.device import Arch
from ktrace_cli.launch.native import SOFTWARE_DEVICE
from ktrace_cli.libraries import native_library

_SUBJECT = "software device"
# In a process of its own, like all that doctor loads: a line for each target.
_ASK = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
for target in sys.argv[2:]:
    names = ctypes.create_string_buffer(1 << 16)
    count = library.ktrace_softdev_missing(target.encode(), names, ctypes.c_size_t(len(names)))
    print(count, *names.value.decode().split())
"""


def instructions() -> list[Finding]:
    """Name what the software device does not execute, for each of its targets.

    Raises:
        KtraceError: this installation has no software device.
    """
    targets = [arch.value for arch in Arch]
    said = _ask(native_library(SOFTWARE_DEVICE), targets)
    if len(said) != len(targets):
        text = "it does not tell which instructions it executes"
        return [Finding(_SUBJECT, State.NOTE, text, "install ktrace again")]
    return [_finding(target, line) for target, line in zip(targets, said, strict=True)]


def _finding(target: str, line: str) -> Finding:
    count, *missing = line.split()
    known = int(count)
    facts: dict[str, str | int] = {
        "target": target,
        "instructions": known,
        "executed": known - len(missing),
        "missing": " ".join(missing),
    }
    if not missing:
        text = f"it executes all {known} instructions of {target}"
        return Finding(_SUBJECT, State.OK, text, facts=facts)
    executed = f"it executes {known - len(missing)} of the {known} instructions of {target}"
    text = f"{executed}; a kernel stops at {', '.join(missing)}"
    return Finding(_SUBJECT, State.NOTE, text, facts=facts)


def _ask(library: Path, targets: list[str]) -> list[str]:
    command = [sys.executable, "-I", "-S", "-c", _ASK, str(library), *targets]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return done.stdout.splitlines() if done.returncode == 0 else []
