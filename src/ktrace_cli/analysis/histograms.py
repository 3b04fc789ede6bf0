"""Histograms in text: a small one in a table's cell, a large one with a bar for each bucket."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ktrace_cli.analysis.buckets import Bucket
from ktrace_cli.analysis.report import Column, Glyphs, Table
from ktrace_cli.units import format_time

_MOST_CELLS = 12
_BAR_WIDTH = 40


@dataclass(frozen=True)
class Scale:
    """The buckets that small histograms of one table share."""

    first: int
    """Bucket 0 is for 0, bucket n + 1 for 2**n and what follows it."""
    last: int
    step: int
    """Buckets in a cell."""

    def describe(self, unit: str) -> str:
        """Say what the small histograms show."""
        low, high = (1 << self.first) >> 1, 1 << (self.first + self.cells * self.step - 1)
        times = 1 << self.step
        return (
            f"histogram: {format_time(low, unit)} to {format_time(high, unit)},"
            f" each character {times} x as long as the one before"
        )

    @property
    def cells(self) -> int:
        """How many characters a small histogram has."""
        return -(-(self.last - self.first + 1) // self.step)

    def draw(self, histogram: Sequence[Bucket], glyphs: Glyphs) -> str:
        """Return a small histogram; its highest level is its own fullest cell."""
        counts = [0] * self.cells
        for bucket in histogram:
            counts[(number_of(bucket) - self.first) // self.step] += bucket.count
        most = max(counts, default=0)
        levels = len(glyphs.levels)
        return "".join(
            glyphs.levels[-(-count * levels // most) - 1] if count else glyphs.blank
            for count in counts
        )


def number_of(bucket: Bucket) -> int:
    """Return the number of a bucket."""
    return bucket.from_ns.bit_length()


def find_scale(histograms: Iterable[Sequence[Bucket]]) -> Scale | None:
    """Return a scale for all of some histograms; None if nothing is in any of them."""
    numbers = [number_of(bucket) for histogram in histograms for bucket in histogram]
    if not numbers:
        return None
    first, last = min(numbers), max(numbers)
    return Scale(first, last, step=-(-(last - first + 1) // _MOST_CELLS))


def draw_bars(histogram: Sequence[Bucket], unit: str, glyphs: Glyphs) -> Table:
    """Return a table with a bar for each bucket."""
    most = max((bucket.count for bucket in histogram), default=0)
    rows = []
    for bucket in histogram:
        length = -(-bucket.count * _BAR_WIDTH // most) if most else 0
        from_, below = (format_time(ns, unit) for ns in (bucket.from_ns, bucket.below_ns))
        rows.append((from_, below, f"{bucket.count:,}", glyphs.bar * length))
    columns = (Column("from"), Column("below"), Column("count"), Column("", is_number=False))
    return Table(columns, tuple(rows))
