"""Where a wave is: its launch, its workgroup, its role and the hardware that it began on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ktrace_cli.model import NONE, Columns, Timeline
from ktrace_cli.timeline.segments import Ints


@dataclass(frozen=True)
class WaveRef:
    """One wave of a recording."""

    dispatch: int
    """Number of the traced launch in its process, from 1."""
    workgroup: tuple[int, int, int]
    wave: int
    """In its workgroup."""
    group: str
    """`KTRACE_GROUP`; "" without one."""
    device: int
    xcd: int
    se: int
    cu: int
    simd: int


def describe_wave(timeline: Timeline, row: int) -> WaveRef:
    """Say which wave a row of Timeline.waves is."""
    wave = timeline.waves[row]
    dispatch = timeline.dispatches[wave["dispatch"]]
    x, y, z = wave["block"].tolist()
    return WaveRef(
        dispatch=int(dispatch["number"]),
        workgroup=(x, y, z),
        wave=int(wave["wave"]),
        group=group_name(timeline, int(wave["group"])),
        device=int(dispatch["device"]),
        xcd=int(wave["xcc"]),
        se=int(wave["se"]),
        cu=int(wave["cu"]),
        simd=int(wave["simd"]),
    )


def group_name(timeline: Timeline, event: int) -> str:
    """Return the role that an event names."""
    return "" if event == NONE else timeline.events[event].name


def number_rows(columns: tuple[Columns, ...]) -> tuple[Ints, Ints]:
    """Number distinct rows in their order.

    Args:
        columns: at least one; equally long.

    Returns:
        A row of each number, and the number of each row.
    """
    number = np.zeros(len(columns[0]), np.int64)
    first = number[:1]
    for column in columns:
        _, code = np.unique(column, return_inverse=True)
        size = int(code.max(initial=0)) + 1
        _, first, number = np.unique(
            number * size + code.reshape(-1), return_index=True, return_inverse=True
        )
        number = number.reshape(-1)
    return first, number
