"""Which phase of which kernel each event is: kernels and markers of one name are one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from ktrace_cli.model import NONE, Flags, Kernel, Timeline
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.trace_file.layout import Kind

WAITS = ("*wait*", "*barrier*", "*sync*")
"""Shell patterns: phases in which a wave waits for something else."""
_KINDS = {int(kind): kind.name.lower() for kind in Kind}


@dataclass(frozen=True)
class PhaseKey:
    """What slices of one phase have in common."""

    kernel: int
    """Timeline.kernels: the first one of its name."""
    name: str
    kind: str
    """range, push, start or phase: how it is marked in the source."""
    lane: str
    """As in the source, else a token's name; "" is the waves' own, where slices nest."""


@dataclass(frozen=True)
class PhaseTable:
    """All phases of a timeline."""

    keys: tuple[PhaseKey, ...]
    of_event: Ints
    """Row of `keys` of each row of Timeline.events."""
    lanes: tuple[tuple[int, str], ...]
    """Kernel and name of all lanes but the waves' own."""
    lane: Ints
    """Row of `lanes` of each of `keys`; NONE: the waves' own."""
    is_wait: Flags
    """Which of `keys` are waits."""
    kernel_of_wave: Ints
    """Timeline.kernels, the first one of its name, for each of Timeline.waves."""
    kernel_of_dispatch: Ints


def list_phases(timeline: Timeline, waits: Sequence[str] = WAITS) -> PhaseTable:
    """Find all phases.

    Args:
        timeline: what to look at.
        waits: shell patterns for names of phases that count as waiting.
    """
    kernels = _first_of_name(timeline.kernels)
    keys = [
        PhaseKey(
            kernel=int(kernels[event.kernel]),
            name=event.name,
            kind=_KINDS[event.kind],
            lane=event.lane or (event.name if event.kind == Kind.START else ""),
        )
        for event in timeline.events
    ]
    distinct = tuple(dict.fromkeys(keys))
    row_by_key = {key: row for row, key in enumerate(distinct)}
    lanes = tuple(dict.fromkeys((key.kernel, key.lane) for key in distinct if key.lane))
    row_by_lane = {lane: row for row, lane in enumerate(lanes)}
    of_dispatch = kernels[timeline.dispatches["kernel"]]
    return PhaseTable(
        keys=distinct,
        of_event=np.array([row_by_key[key] for key in keys], np.int64),
        lanes=lanes,
        lane=np.array([row_by_lane.get((k.kernel, k.lane), NONE) for k in distinct], np.int64),
        is_wait=np.array([matches_any(key.name, waits) for key in distinct], np.bool_),
        kernel_of_wave=of_dispatch[timeline.waves["dispatch"]],
        kernel_of_dispatch=of_dispatch,
    )


def matches_any(name: str, patterns: Sequence[str]) -> bool:
    """Tell whether a name matches a shell pattern, in upper or lower case."""
    return any(fnmatchcase(name.lower(), pattern.lower()) for pattern in patterns)


def _first_of_name(kernels: Sequence[Kernel]) -> Ints:
    """Return for each kernel the first one of its name: one may come from many code objects."""
    first: dict[str, int] = {}
    keys = [first.setdefault(k.mangled, row) for row, k in enumerate(kernels)]
    return np.array(keys, np.int64)
