"""The selftest's code objects: NAME.TARGET.co, built from NAME.hip by samples/build_selftest.py."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from ktrace_cli.code_object.reader import read_code_object

MARKERS = "markers"
POLLING = "polling"
"""The same kernels, built with KTRACE_POLL_CLOCK."""
PROBES = "probes"
_PREFIXES = {MARKERS: "selftest_", POLLING: "selftest_polling_", PROBES: "selftest_"}


def symbol(code_object: str, name: str) -> str:
    """Return the symbol of a kernel in one of the code objects."""
    return _PREFIXES[code_object] + name


def targets() -> list[str]:
    """Return the targets that there are code objects for."""
    found = Path(str(files(__package__))).glob(f"{MARKERS}.*.co")
    return sorted(path.name.split(".")[1] for path in found)


def path_of(name: str, target: str) -> Path:
    """Return where a code object is; `target` may have features: gfx942:sramecc+:xnack-."""
    return Path(str(files(__package__)), f"{name}.{target.partition(':')[0]}.co")


def event_ids(target: str, name: str, code_object: str = MARKERS) -> dict[str, int]:
    """Return the ids of the events in a kernel by name."""
    read = read_code_object(path_of(code_object, target).read_bytes())
    found = read.kernel(symbol(code_object, name))
    assert found is not None, name
    return {event.name: event.id for event in read.events_in(found)}
