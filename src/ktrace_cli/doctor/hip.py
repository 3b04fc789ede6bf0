"""Which copies of HIP are installed: told from their files, none is loaded."""

from __future__ import annotations

import mmap
import re
from pathlib import Path

from ktrace_cli.doctor.findings import Finding, State
from ktrace_cli.doctor.machine import Machine

_MOST_COPIES = 4  # in a process, that the interposer follows
_WITH_TABLE = (6, 1)
_NAME = re.compile(r"libamdhip64\.so\.([0-9.]+)$")
_SONAME = re.compile(rb"\0libamdhip64\.so\.(\d+)\0")


def hip_libraries(machine: Machine) -> list[Finding]:
    """Look for HIP where programs find it."""
    found = [_library(machine, path) for path in machine.libraries("libamdhip64.so*")]
    if not found:
        text = "no library of it is where programs look; a program that brings its own is traced"
        return [Finding("HIP", State.NOTE, text)]
    if len(found) > _MOST_COPIES:
        text = f"{len(found)} copies; of those in one process, {_MOST_COPIES} are traced"
        found.append(Finding("HIP", State.NOTE, text, facts={"copies": len(found)}))
    return found


def _library(machine: Machine, path: Path) -> Finding:
    version = _version(path)
    shown = machine.shown(path)
    facts = {"path": shown, "version": version}
    numbers = tuple(int(part) for part in version.split(".")[:2] if part)
    if not numbers:
        return Finding("HIP", State.NOTE, f"{shown} does not tell its version", facts=facts)
    text = f"{version}, {shown}"
    if (len(numbers) == len(_WITH_TABLE) and numbers < _WITH_TABLE) or numbers[0] < _WITH_TABLE[0]:
        text += ": it has no API table, so that its calls are seen by the names of its functions"
        return Finding("HIP", State.NOTE, text, facts=facts)
    return Finding("HIP", State.OK, text, facts=facts)


def _version(path: Path) -> str:
    """Read the version in the file's name; the first number of it may stand in the file alone."""
    if match := _NAME.match(path.name):
        return match[1]
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            inside = _SONAME.search(data)
            return inside[1].decode() if inside else ""
    except (OSError, ValueError):
        return ""  # not ours to read, or empty
