"""A letter and a colour for each phase, so that neither is the only signal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from string import ascii_lowercase

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.timeline.segments import Ints

# In the order of the legend. Far apart for people with any colour vision, and still different where
# a terminal has 16 colours only.
COLOURS = ("#e6a500", "#5fc8f0", "#008c4b", "#f078e6", "#dc3c32", "#5060ff", "#f5f56e")
_OTHER_LETTER = "*"
_OTHER_STYLE = "dim"


@dataclass(frozen=True)
class Symbol:
    """How a phase is shown, and what the legend says of it."""

    letter: str
    style: str
    name: str
    lane: str
    time_ns: float


@dataclass(frozen=True)
class Symbols:
    """Symbols, most time first; the last may stand for all phases that have none of their own."""

    all: tuple[Symbol, ...]
    of_phase: Ints


def choose_symbols(
    phases: Sequence[tuple[str, str]], time_ns: NDArray[np.float64], most: int = 26
) -> Symbols:
    """Give the phases with most time a letter of their own.

    Args:
        phases: name and lane of each.
        time_ns: of each.
        most: letters to give, at most 26.
    """
    order = sorted(range(len(phases)), key=lambda i: (-time_ns[i], phases[i]))
    own, rest = order[:most], order[most:]
    letters = choose_letters(phases[i][0] for i in own)
    symbols = [
        Symbol(letter, COLOURS[n % len(COLOURS)], *phases[i], float(time_ns[i]))
        for n, (i, letter) in enumerate(zip(own, letters, strict=True))
    ]
    if rest:
        time = float(time_ns[rest].sum())
        symbols.append(Symbol(_OTHER_LETTER, _OTHER_STYLE, f"{len(rest)} others", "", time))
    of_phase = np.full(len(phases), len(own), np.int64)
    of_phase[own] = np.arange(len(own))
    return Symbols(tuple(symbols), of_phase)


def choose_letters(names: Iterable[str]) -> list[str]:
    """Give each of at most 26 names a letter: one of its own, the first that is free."""
    letters: list[str] = []
    for name in names:
        wanted = [*name.lower(), *ascii_lowercase]
        letters.append(next(c for c in wanted if c in ascii_lowercase and c not in letters))
    return letters
