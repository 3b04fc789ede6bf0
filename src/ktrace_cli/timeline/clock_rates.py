"""How fast core clocks run, as far as most waves agree."""

from __future__ import annotations

import numpy as np

from ktrace_cli.timeline.clock_readings import FASTEST, PAIR_TICKS, Floats, Readings

_SLOWEST = 0.001  # cycles per nanosecond: no core clock is slower
# From this length on all pairs tell the rate equally well.
_WEIGHT_TICKS = 1_000


def rate_of(readings: Readings, waves: int, tick_ns: int) -> float:
    """Return how many cycles per nanosecond most waves ran at; 0 if nothing tells.

    Args:
        readings: of one device, by place, then time.
        waves: how many there are at most.
        tick_ns: length of a tick of the reference clock.
    """
    cycles, length = readings.since_begin(waves)
    is_pair = ~readings.is_begin & (cycles > 0) & (length >= 0)
    rate = _median_rate(cycles[is_pair], length[is_pair], tick_ns)
    if rate == 0:  # no wave tells; from one to the next some may
        cycles, length = (np.diff(c).astype(np.float64) for c in (readings.ticks, readings.ns))
        is_pair = (cycles > 0) & (length >= 0)
        rate = _median_rate(cycles[is_pair], length[is_pair], tick_ns)
    return rate


def _median_rate(cycles: Floats, length: Floats, tick_ns: int) -> float:
    is_told = (length > 0) & (cycles >= _SLOWEST * length) & (cycles <= FASTEST * length)
    if not is_told.any():
        return 0.0
    weight = np.minimum(length[is_told], _WEIGHT_TICKS * tick_ns)
    rates = cycles[is_told] / length[is_told]
    order = np.argsort(rates)
    behind = np.cumsum(weight[order])
    median = float(rates[order][np.searchsorted(behind, behind[-1] / 2)])
    # Ticks are whole: the mean of all that agree is better than any one.
    agrees = np.abs(cycles / median - length) <= PAIR_TICKS * tick_ns
    total = float(length[agrees].sum())
    return float(cycles[agrees].sum()) / total if total > 0 else median


def mean_rate(readings: Readings, waves: int) -> float:
    """Return the mean cycles per nanosecond over the waves of `readings`; 0 if none tells."""
    cycles, length = readings.since_begin(waves)
    most = np.zeros((2, waves))
    for row, column in zip(most, (cycles, length), strict=True):
        np.maximum.at(row, readings.wave, column)
    total_cycles, total_ns = most.sum(axis=1)
    return float(total_cycles / total_ns) if total_ns > 0 else 0.0
