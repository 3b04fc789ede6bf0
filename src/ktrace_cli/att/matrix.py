"""Matrix instructions of a trace: how long each keeps its SIMD's unit, and how much of the time."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.att.wave_files import Ints, Wave

# Operations a cycle of one SIMD's matrix unit, by type of the factors. From peak rates.
_RATES_GFX90A: Final = {"f32": 64, "f64": 64, "f16": 256, "bf16": 128, "bf16_1k": 256, "i8": 256}
_RATES_GFX942: Final = {
    "f32": 64, "f64": 64, "f16": 512, "bf16": 512, "bf16_1k": 512, "i8": 1024, "f8": 1024,
    "xf32": 256,
}  # fmt: skip
_RATES_GFX950: Final = {**_RATES_GFX942, "f64": 32}
_RATES: Final = {
    "gfx90a": _RATES_GFX90A, "gfx940": _RATES_GFX942, "gfx941": _RATES_GFX942,
    "gfx942": _RATES_GFX942, "gfx950": _RATES_GFX950,
}  # fmt: skip
# gfx950 has shapes that are twice as deep and take as long as those of before.
_DEEP: Final = {("f16", 512), ("bf16", 512), ("i8", 1024)}
_SHORT_DEPTH: Final = {"f32": 1, "f16": 4, "bf16": 2, "bf16_1k": 4, "i8": 4, "f64": 4}
_SHAPE: Final = re.compile(
    r"^v_(?P<sparse>s?)mf(?:ma|mac)_(?:scale_)?(?:f32|f64|i32)_"
    r"(?P<m>\d+)x(?P<n>\d+)x(?P<k>\d+)_?(?:(?P<blocks>\d+)b_)?(?P<type>[a-z][a-z0-9_]*)$"
)
_FORMAT: Final = re.compile(r"\b(cbsz|blgp):(\d)")
_EIGHT_BITS: Final = 2
"""Formats of f8f6f4 below this have 8 bits."""


@lru_cache(maxsize=4096)
def matrix_cycles(text: str, processor: str) -> int | None:
    """Return for how many cycles a matrix instruction keeps the unit; None if it is not known."""
    mnemonic = text.split(" ", 1)[0].removesuffix("_e64")
    found = _SHAPE.match(mnemonic)
    rates = _RATES.get(processor)
    if not found or rates is None:
        return None
    rows, columns, depth = (int(found[name]) for name in "mnk")
    kind = found["type"]
    if kind == "f8f6f4":
        return _mixed(text, rows, processor)
    kind = "f8" if kind.startswith(("fp8", "bf8")) else kind
    rate = rates.get(kind, 0)
    if not rate:
        return None
    blocks = int(found["blocks"] or _blocks(rows, depth, kind, is_sparse=bool(found["sparse"])))
    products = rows * columns * depth * blocks
    rate *= 2 if found["sparse"] else 1
    if (
        processor == "gfx950"
        and (kind, rates[kind]) in _DEEP
        and _is_deep(rows, depth, kind, found)
    ):
        rate *= 2
    least = 16 if kind == "f64" else 8
    return max(2 * products // rate, least)


def _mixed(text: str, rows: int, processor: str) -> int | None:
    if processor != "gfx950":
        return None
    formats = dict(_FORMAT.findall(text))
    is_wide = any(int(formats.get(name, 0)) < _EIGHT_BITS for name in ("cbsz", "blgp"))
    return (32 if is_wide else 16) * (2 if rows == 32 else 1)


def _blocks(rows: int, depth: int, kind: str, *, is_sparse: bool) -> int:
    """Return how many products an instruction computes whose name does not tell."""
    if is_sparse or depth != _SHORT_DEPTH.get(kind):
        return 1
    if kind == "f64":
        return 4 if rows == 4 else 1
    return {32: 2, 16: 4, 4: 16}.get(rows, 1)


def _is_deep(rows: int, depth: int, kind: str, found: re.Match[str]) -> bool:
    deep = {32: 16, 16: 32}.get(rows, 0) * (2 if kind == "i8" else 1)
    return bool(deep) and depth == deep * (2 if found["sparse"] else 1)


def wait_states(text: str, processor: str) -> int | None:
    """Return the wait states between a matrix instruction and a read of its result by others."""
    cycles = matrix_cycles(text, processor)
    if cycles is None or processor == "gfx90a":
        return None
    passes = cycles // 4
    if re.search(r"x\d+_?(?:\d+b_)?f(?:32|64)$", text.split(" ", 1)[0]):
        return passes + 2
    return passes + 3 + (processor == "gfx950" and passes != 2)


@dataclass(frozen=True)
class Busy:
    """When the matrix unit of one SIMD was busy: the union over its waves."""

    begin: Ints
    end: Ints
    """Of each stretch, ascending and apart."""

    def until(self, times: Ints) -> NDArray[np.float64]:
        """Return how many cycles the unit was busy before each time."""
        if not self.begin.size:
            return np.zeros(len(times))
        points = np.stack((self.begin, self.end), axis=1).ravel()
        worked = np.cumsum(self.end - self.begin)
        values = np.stack((np.concatenate(([0], worked[:-1])), worked), axis=1).ravel()
        return np.asarray(np.interp(times, points, values), np.float64)


def busy_units(waves: Sequence[Wave], cycles: Ints) -> Mapping[tuple[int, int, int], Busy]:
    """Unite what the waves of each SIMD issued: from issue, for as long as the unit takes.

    Args:
        waves: all traced waves.
        cycles: of each row of code.json; 0 for other than matrix instructions.
    """
    pieces: dict[tuple[int, int, int], list[tuple[Ints, Ints]]] = {}
    for wave in waves:
        took = cycles[wave.line]
        is_matrix = took > 0
        begin = wave.issue[is_matrix]
        pieces.setdefault(wave.place, []).append((begin, begin + took[is_matrix]))
    return {place: _union(found) for place, found in pieces.items()}


def _union(pieces: Sequence[tuple[Ints, Ints]]) -> Busy:
    begin = np.concatenate([one for one, _ in pieces])
    end = np.concatenate([one for _, one in pieces])
    order = np.argsort(begin, kind="stable")
    begin, reached = begin[order], np.maximum.accumulate(end[order]) if end.size else end
    if not begin.size:
        return Busy(begin, begin)
    is_first = np.concatenate(([True], begin[1:] > reached[:-1]))
    is_last = np.concatenate((is_first[1:], [True]))
    return Busy(begin[is_first], reached[is_last])
