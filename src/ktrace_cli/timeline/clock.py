"""Core clock cycles (s_memtime) to nanoseconds, through both clocks in every wave's header.

The core clock differs between XCCs and shader engines, its rate changes, and it may begin anew. So
each (device, XCC, SE, uninterrupted time) has its own piecewise line through its waves' anchors.
This is the only place where ticks become nanoseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.errors import KtraceError
from ktrace_cli.model import ClockFit, Columns
from ktrace_cli.timeline.host_clock import HostClock
from ktrace_cli.timeline.segments import Ints, bisect, run_numbers, run_starts, run_stops

# Anchors are known to one tick of the reference clock, so pieces last a thousand of them.
_TICKS_PER_PIECE = 1_000
_MOST_PIECES = 1_000
# A core clock that is this far behind an earlier reading has begun anew (1 ms at 2 GHz).
_RESTART = np.int64(1) << 21

ANCHOR = np.dtype(
    [
        ("wave", "<i8"),  # row of the waves that `fit_clock` gets
        ("is_begin", "?"),  # of its wave
        ("ticks", "<i8"),  # s_memtime
        ("realtime", "<i8"),  # s_memrealtime
    ]
)


@dataclass(frozen=True)
class ClockMap:
    """Pieces of lines; those of one clock are neighbours, in order of time."""

    clock_of_wave: Ints
    """-1 for waves without an anchor."""
    first_piece: Ints
    """Of each clock, and one more entry behind the last."""
    ticks: Ints
    """Where each piece begins."""
    ns: Ints
    slope: NDArray[np.float64]
    """Nanoseconds per cycle."""
    fits: tuple[ClockFit, ...]

    def to_ns(self, wave: Ints, ticks: Ints) -> Ints:
        """Return the host's nanoseconds at `ticks` of the core clock that `wave` ran on."""
        clock = self.clock_of_wave[wave]
        piece = self.first_piece[clock]
        if len(self.ticks) > len(self.first_piece) - 1:
            behind = bisect(self.ticks, piece, self.first_piece[clock + 1], ticks + 1)
            piece = np.maximum(behind - 1, piece)
        offset = np.rint((ticks - self.ticks[piece]) * self.slope[piece]).astype(np.int64)
        return self.ns[piece] + offset


def fit_clock(
    anchors: Columns, waves: Columns, device: Ints, host_clocks: Mapping[int, HostClock]
) -> ClockMap:
    """Fit the lines of all core clocks.

    Args:
        anchors: ANCHOR.
        waves: model.WAVE.
        device: HIP device index of each wave.
        host_clocks: by HIP device index.

    Raises:
        KtraceError: waves ended, but all anchors of their device are identical.
    """
    ns = _to_host(anchors, device, host_clocks)
    place = _places(waves, device)[anchors["wave"]]
    order = np.lexsort((anchors["ticks"], ns, place))
    anchors, ns, place = anchors[order], ns[order], place[order]
    starts = _clock_starts(anchors["ticks"], place)
    del place, order
    clock = run_numbers(starts, len(anchors))
    clock_of_wave = np.full(len(waves), -1, np.int64)
    begins = anchors["is_begin"]
    clock_of_wave[anchors["wave"][begins]] = clock[begins]
    del clock, begins

    of_device = device[anchors["wave"][starts]] if len(starts) else np.zeros(0, np.int64)
    rates = _rates(anchors, ns, starts, of_device)
    pieces = [
        _pieces(anchors["ticks"][a:b], ns[a:b], rates[int(d)], host_clocks[int(d)].tick_ns)
        for a, b, d in zip(starts, run_stops(starts, len(anchors)), of_device, strict=True)
    ]
    unfitted = _join(clock_of_wave, pieces)
    residual = np.abs(unfitted.to_ns(anchors["wave"], anchors["ticks"]) - ns)
    xcc, own_device = waves["xcc"][anchors["wave"]], device[anchors["wave"]]
    fits = []
    for number, host_clock in sorted(host_clocks.items()):
        own = own_device == number
        by_xcc = _largest_by_xcc(residual[own], xcc[own])
        fits.append(
            ClockFit(
                device=number,
                method=host_clock.method,
                core_hz=rates.get(number, 0.0) * 1e9,
                residual_ns=max((largest for _, largest in by_xcc), default=0.0),
                residual_by_xcc=by_xcc,
                skew_by_xcc=_skews(anchors["ticks"][own], ns[own], xcc[own], rates.get(number)),
            )
        )
    return replace(unfitted, fits=tuple(fits))


def _skews(ticks: Ints, ns: Ints, xcc: Ints, rate: float | None) -> tuple[tuple[int, float], ...]:
    """Return how far each XCC's clock is ahead of the lowest one's, by the anchors in the middle.

    Each XCC's anchor that is nearest to the middle is carried there by the mean rate.
    """
    if not rate:
        return ()
    middle = (int(ns.min()) + int(ns.max())) // 2
    numbers = np.unique(xcc)
    at_middle = []
    for number in numbers:
        rows = np.flatnonzero(xcc == number)
        nearest = rows[np.argmin(np.abs(ns[rows] - middle))]
        at_middle.append(int(ticks[nearest]) + round(int(middle - ns[nearest]) * rate))
    return tuple(
        (int(number), (at - at_middle[0]) / rate)
        for number, at in zip(numbers, at_middle, strict=True)
    )


def _largest_by_xcc(residual: Ints, xcc: Ints) -> tuple[tuple[int, float], ...]:
    return tuple((int(x), float(residual[xcc == x].max())) for x in np.unique(xcc))


def _join(
    clock_of_wave: Ints, pieces: Sequence[tuple[Ints, Ints, NDArray[np.float64]]]
) -> ClockMap:
    """Put the pieces of all clocks one behind the other."""
    counts = np.array([len(piece[0]) for piece in pieces], np.int64)
    return ClockMap(
        clock_of_wave=clock_of_wave,
        first_piece=np.append(0, np.cumsum(counts)),
        ticks=np.concatenate([np.zeros(0, np.int64), *(piece[0] for piece in pieces)]),
        ns=np.concatenate([np.zeros(0, np.int64), *(piece[1] for piece in pieces)]),
        slope=np.concatenate([np.zeros(0), *(piece[2] for piece in pieces)]),
        fits=(),
    )


def _to_host(anchors: Columns, device: Ints, host_clocks: Mapping[int, HostClock]) -> Ints:
    ns = np.zeros(len(anchors), np.int64)
    for number, host_clock in host_clocks.items():
        rows = device[anchors["wave"]] == number
        ns[rows] = host_clock.to_ns(anchors["realtime"][rows])
    return ns


def _places(waves: Columns, device: Ints) -> Ints:
    place: Ints = (device << 32) | (waves["xcc"].astype(np.int64) << 16) | waves["se"]
    return place


def _clock_starts(ticks: Ints, place: Ints) -> Ints:
    """Return where clocks begin: at a new place, and where a core clock has begun anew."""
    if not len(ticks):
        return np.zeros(0, np.int64)
    starts = run_starts(place)
    is_start = np.zeros(len(ticks), np.bool_)
    is_start[starts] = True
    is_start[1:] |= ticks[1:] < ticks[:-1] - _RESTART
    return np.flatnonzero(is_start)


def _rates(anchors: Columns, ns: Ints, starts: Ints, of_device: Ints) -> dict[int, float]:
    """Return the mean cycles per nanosecond of each device; 0 where nothing tells."""
    rates: dict[int, float] = {}
    if not len(starts):
        return rates
    stops = run_stops(starts, len(anchors)) - 1
    cycles = np.maximum.reduceat(anchors["ticks"], starts)
    cycles = cycles - anchors["ticks"][starts]
    length = ns[stops] - ns[starts]
    for number in np.unique(of_device):
        rows = of_device == number
        all_cycles, all_ns = int(cycles[rows].sum()), int(length[rows].sum())
        if all_cycles > 0 and all_ns <= 0:
            raise KtraceError(
                f"cannot tell the core clock's rate of device {number}",
                why=f"its core clock went on by {all_cycles} cycles while all readings of its"
                " reference clock are identical",
                fix="record waves that run longer than one tick of the reference clock",
            )
        rates[int(number)] = all_cycles / all_ns if all_ns > 0 else 0.0
    return rates


def _pieces(
    ticks: Ints, ns: Ints, rate: float, tick_ns: int
) -> tuple[Ints, Ints, NDArray[np.float64]]:
    """Return begin and slope of the lines through one clock's anchors."""
    distance = max(_TICKS_PER_PIECE * tick_ns, int(ns[-1] - ns[0]) // _MOST_PIECES)
    knots = _knots(ticks, ns, distance)
    if len(knots) < 2:
        # Too short to tell its rate: the device's mean rate, through the middle of all anchors.
        slope = 1 / rate if rate else 0.0
        middle = float(np.mean((ns - ns[0]) - (ticks - ticks[0]) * slope))
        return ticks[:1], ns[:1] + round(middle), np.array([slope])
    at, value = ticks[knots], ns[knots]
    return at[:-1], value[:-1], np.diff(value) / np.diff(at)


def _knots(ticks: Ints, ns: Ints, distance_ns: int) -> list[int]:
    """Return anchors at least `distance_ns` apart, the last anchor among them."""
    knots = [0]
    while True:
        at = int(np.searchsorted(ns, ns[knots[-1]] + distance_ns))
        while at < len(ns) and ticks[at] <= ticks[knots[-1]]:
            at += 1
        if at == len(ns):
            break
        knots.append(at)
    last = len(ns) - 1
    if len(knots) > 1 and knots[-1] != last and ticks[last] > ticks[knots[-2]]:
        knots[-1] = last
    return knots
