"""What is told about waves, dispatches and slices when one clicks on them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntFlag

import numpy as np

from ktrace_cli.export.details import (
    DISPATCH_FLAGS,
    DISPATCH_NUMBERS,
    SLICE_FLAGS,
    WAVE_COUNTS,
    WAVE_FLAGS,
    WAVE_NUMBERS,
)
from ktrace_cli.export.encoder_layout import COLUMN, FLAG, NUMBER
from ktrace_cli.export.interning import Interned
from ktrace_cli.model import Columns, Timeline
from ktrace_cli.timeline.segments import Ints

Arguments = dict[str, tuple[int, Ints]]
"""By name, their kind for the encoder, and the number of each row; -1: it has none."""


def slice_flag_names(interned: Interned) -> dict[int, int]:
    """Return the number of each flag's name."""
    return {int(flag): interned.argument(name) for flag, name in SLICE_FLAGS.items()}


def wave_arguments(timeline: Timeline, waves: Columns) -> Arguments:
    """Return what is told about waves."""
    told: Arguments = {"dispatch": (NUMBER, timeline.dispatches["number"][waves["dispatch"]])}
    _add_axes(told, "workgroup", waves["block"])
    for name in WAVE_NUMBERS:
        told[name] = NUMBER, waves[name]
    for name in WAVE_COUNTS:
        told[name] = NUMBER, _or_absent(waves[name])
    _add_flags(told, WAVE_FLAGS, waves["flags"])
    return told


def dispatch_arguments(dispatches: Columns) -> Arguments:
    """Return what is told about dispatches."""
    told: Arguments = {name: (NUMBER, dispatches[name]) for name in DISPATCH_NUMBERS}
    _add_flags(told, DISPATCH_FLAGS, dispatches["flags"])
    for name in ("grid", "block"):
        _add_axes(told, name, dispatches[name])
    return told


def as_columns(told: Arguments, interned: Interned) -> tuple[Columns, Ints]:
    """Return COLUMN and the numbers, shape (rows, columns), as the encoder takes them."""
    heads = [(interned.argument(name), kind) for name, (kind, _) in told.items()]
    numbers = np.empty((len(next(iter(told.values()))[1]), len(told)), np.int64)
    for place, (_, column) in enumerate(told.values()):
        numbers[:, place] = column
    return np.array(heads, COLUMN), numbers


def _add_axes(told: Arguments, name: str, sizes: Columns) -> None:
    for axis in range(3):
        told[f"{name}.{'xyz'[axis]}"] = NUMBER, sizes[:, axis]


def _add_flags(told: Arguments, names: Mapping[IntFlag, str], flags: Columns) -> None:
    for flag, name in names.items():
        told[name] = FLAG, _or_absent((flags & int(flag)) != 0)


def _or_absent(counts: Columns) -> Ints:
    return np.where(counts, counts.astype(np.int64), -1)
