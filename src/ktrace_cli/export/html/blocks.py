"""The rows of waves, slices, marks, payloads and arrows as blocks of columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.errors import KtraceError
from ktrace_cli.export.html.columns import delta, encode_block
from ktrace_cli.model import Columns, Part, Timeline
from ktrace_cli.timeline.segments import Ints

WAVE_COLUMNS = (
    "dispatch", "x", "y", "z", "wave", "xcc", "se", "cu", "simd", "hardware_slot", "flags",
    "group", "begin", "ns", "ticks", "words", "side_words", "dropped", "overwritten",
)  # fmt: skip
"""Of the first block. `begin` is stored as the difference to the wave before."""

ROW_COLUMNS = (
    "wave.row", "wave.slices", "wave.instants",
    "slice.event", "slice.lane", "slice.depth", "slice.flags", "slice.values",
    "slice.begin_ticks", "slice.ticks", "slice.begin_off", "slice.end_off",
    "instant.event", "instant.values", "instant.ticks", "instant.off",
    "slice.value_type", "slice.value_bits", "instant.value_type", "instant.value_bits",
    "flow.source", "flow.destination", "flow.edge",
)  # fmt: skip
"""Of every other block; docs/reference/html.md says what each is."""

_ROWS_PER_BLOCK = 300_000
_EXACT = 1 << 52  # integers of the page are doubles, and differences have a sign


@dataclass(frozen=True)
class Block:
    """The rows of some waves."""

    data: bytes
    slices: int
    instants: int


def encode_waves(timeline: Timeline, zero: int) -> bytes:
    """Return the block of all waves.

    Raises:
        KtraceError: times are too far apart for the page.
    """
    waves = timeline.waves
    begin = waves["begin_ns"] - zero
    ns, ticks = waves["end_ns"] - waves["begin_ns"], waves["end_ticks"] - waves["begin_ticks"]
    _check_exact(begin, ns, ticks)
    own = {"begin": delta(begin), "ns": ns, "ticks": ticks}
    own |= {axis: waves["block"][:, number] for number, axis in enumerate("xyz")}
    return encode_block([own[n] if n in own else waves[n] for n in WAVE_COLUMNS])


def encode_rows(timeline: Timeline) -> Iterator[Block]:
    """Yield the blocks of all that waves recorded; small parts share one.

    Raises:
        KtraceError: times are too far apart for the page.
    """
    pending: list[Part] = []
    rows = 0
    for part in timeline.parts():
        pending.append(part)
        rows += len(part.slices) + len(part.instants)
        if rows >= _ROWS_PER_BLOCK:
            yield _encode_parts(timeline.waves, pending)
            pending, rows = [], 0
    if pending:
        yield _encode_parts(timeline.waves, pending)


def rates(waves: Columns) -> NDArray[np.float64]:
    """Return nanoseconds per cycle of each wave; the page computes the same doubles."""
    ns, ticks = waves["end_ns"] - waves["begin_ns"], waves["end_ticks"] - waves["begin_ticks"]
    return np.where(ticks > 0, ns / np.maximum(ticks, 1), 0.0)


def _encode_parts(waves: Columns, parts: list[Part]) -> Block:
    rate = rates(waves)
    encoded = [_columns(waves, rate, part) for part in parts]
    slice_at = 0
    for part, columns in zip(parts, encoded, strict=True):
        columns["flow.source"] += slice_at
        slice_at += len(part.slices)
    whole = {name: np.concatenate([columns[name] for columns in encoded]) for name in ROW_COLUMNS}
    for name in ("wave.row", "flow.source"):
        whole[name] = delta(whole[name])
    return Block(
        encode_block(list(whole.values())), len(whole["slice.event"]), len(whole["instant.event"])
    )


def _columns(waves: Columns, rate: NDArray[np.float64], part: Part) -> dict[str, Columns]:
    """Return the columns of ROW_COLUMNS; `wave.row` and `flow.source` are not differences yet."""
    shown, slices, instants = part.wave_rows.astype(np.int64), part.slices, part.instants
    flows = part.flows
    columns = {
        "wave.row": shown,
        "wave.slices": _per_wave(slices["wave"], shown),
        "wave.instants": _per_wave(instants["wave"], shown),
        "flow.source": flows["source"].astype(np.int64),
        "flow.destination": flows["destination"] - flows["source"],
        "flow.edge": flows["edge"],
    }
    columns |= {f"slice.{n}": slices[n] for n in ("event", "lane", "depth", "flags", "values")}
    columns |= {f"instant.{n}": instants[n] for n in ("event", "values")}
    for name, rows in (("slice", slices), ("instant", instants)):
        values = part.values.take(_value_rows(rows))
        columns |= {f"{name}.value_{n}": values[n] for n in ("type", "bits")}
    return columns | _slice_times(waves, rate, slices) | _instant_times(waves, rate, instants)


def _slice_times(waves: Columns, rate: NDArray[np.float64], slices: Columns) -> dict[str, Columns]:
    """Return cycles, and how far nanoseconds are from what the wave's mean rate makes of them."""
    wave = slices["wave"]
    begin = slices["begin_ticks"] - waves["begin_ticks"][wave]
    end = begin + slices["ticks"]
    begin_ns = slices["begin_ns"] - waves["begin_ns"][wave]
    end_ns = begin_ns + slices["ns"]
    _check_exact(begin, end, begin_ns, end_ns)
    step = delta(begin)
    is_first = np.ones(len(slices), np.bool_)
    is_first[1:] = (wave[1:] != wave[:-1]) | (slices["lane"][1:] != slices["lane"][:-1])
    step[is_first] = begin[is_first]
    return {
        "slice.begin_ticks": step,
        "slice.ticks": slices["ticks"],
        "slice.begin_off": begin_ns - _predicted(rate[wave], begin),
        "slice.end_off": end_ns - _predicted(rate[wave], end),
    }


def _instant_times(
    waves: Columns, rate: NDArray[np.float64], instants: Columns
) -> dict[str, Columns]:
    wave = instants["wave"]
    ticks = instants["ticks"] - waves["begin_ticks"][wave]
    ns = instants["ns"] - waves["begin_ns"][wave]
    _check_exact(ticks, ns)
    step = delta(ticks)
    is_first = np.ones(len(instants), np.bool_)
    is_first[1:] = wave[1:] != wave[:-1]
    step[is_first] = ticks[is_first]
    return {"instant.ticks": step, "instant.off": ns - _predicted(rate[wave], ticks)}


def _predicted(rate: NDArray[np.float64], ticks: Ints) -> Ints:
    return np.floor(ticks * rate + 0.5).astype(np.int64)


def _per_wave(wave_of_row: Ints, waves: Ints) -> Ints:
    first, last = (np.searchsorted(wave_of_row, waves, side) for side in ("left", "right"))
    return np.asarray(last - first, np.int64)


def _value_rows(rows: Columns) -> Ints:
    """Return where the payloads of these rows are, row by row."""
    counts = rows["values"].astype(np.int64)
    stops = np.cumsum(counts)
    return np.repeat(rows["first_value"] - (stops - counts), counts) + np.arange(counts.sum())


def _check_exact(*columns: Ints) -> None:
    for column in columns:
        if len(column) and max(int(column.max()), -int(column.min())) >= _EXACT:
            raise KtraceError(
                "cannot write an HTML page",
                why="its times are more than 52 days apart: clocks of the recording are wrong",
                fix="write text with `-f text`, and report the recording's clock samples",
            )
