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

# Passes of four cycles, as LLVM's scheduling models have them (SISchedule.td).
_PASS: Final = 4
_CDNA3: Final = ("gfx940", "gfx941", "gfx942", "gfx950")
_SHALLOW: Final = 4
"""Products of at most this depth run as fast as they did on gfx90a."""
_SHAPE: Final = re.compile(
    r"^v_(?P<sparse>s?)mf(?:ma|mac)_(?:scale_)?(?:f32|f64|i32)_"
    r"(?P<rows>4|16|32)x\d+x(?P<depth>\d+)_?(?:\d+b_)?(?P<type>[a-z][a-z0-9_]*)$"
)
_FORMAT: Final = re.compile(r"\b(cbsz|blgp):(\d)")
_EIGHT_BITS: Final = 2
"""Formats of f8f6f4 below this have 8 bits."""


@lru_cache(maxsize=4096)
def matrix_cycles(text: str, processor: str) -> int | None:
    """Return for how many cycles a matrix instruction keeps the unit; None if it is not known."""
    passes = _passes(text, processor)
    return None if passes is None else _PASS * passes


def _passes(text: str, processor: str) -> int | None:
    found = _SHAPE.match(_mnemonic(text))
    if not found or processor not in ("gfx90a", *_CDNA3):
        return None
    rows, kind = int(found["rows"]), found["type"]
    if kind == "f8f6f4":
        return _mixed(text, rows) if processor == "gfx950" else None
    if kind == "f64":
        return 4 if rows == 4 else 16 if processor == "gfx950" else 8
    if rows == 4:
        return 2
    is_slow = processor == "gfx90a" or int(found["depth"]) <= _SHALLOW
    is_slow &= not found["sparse"] and kind != "xf32"
    return (8 if is_slow else 4) * (2 if rows == 32 else 1)


def _mixed(text: str, rows: int) -> int:
    """Return the passes of f8f6f4, which takes twice as long if a factor has 8 bits."""
    formats = dict(_FORMAT.findall(text))
    is_wide = any(int(formats.get(name, 0)) < _EIGHT_BITS for name in ("cbsz", "blgp"))
    return (8 if is_wide else 4) * (2 if rows == 32 else 1)


def _mnemonic(text: str) -> str:
    return text.split(" ", 1)[0].removesuffix("_e64")


def wait_states(text: str, processor: str) -> int | None:
    """Return the wait states that LLVM keeps between a matrix instruction and a read of its result.

    None where they are not known, and for f64, whose readers are not all alike.
    """
    passes = _passes(text, processor)
    if passes is None or processor == "gfx90a" or _mnemonic(text).endswith("f64"):
        return None
    if re.search(r"[\d_]f32$", _mnemonic(text)):
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
