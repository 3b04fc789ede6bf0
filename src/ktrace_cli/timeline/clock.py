"""Core clock cycles (s_memtime) to nanoseconds, through both clocks in every wave's header.

The core clock differs between XCCs and shader engines, its rate changes, and it may begin anew. So
each (device, XCC, SE, uninterrupted time) has its own piecewise line through its waves' anchors.
This is the only place where ticks become nanoseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.errors import KtraceError
from ktrace_cli.model import ClockFit, Columns, Flags
from ktrace_cli.timeline.clock_fits import describe_fits
from ktrace_cli.timeline.clock_pieces import Pieces, fit_pieces
from ktrace_cli.timeline.clock_rates import rate_of
from ktrace_cli.timeline.clock_readings import (
    PAIR_TICKS,
    Floats,
    Readings,
    find_clocks,
    find_contradicting,
    place_of_waves,
    whole_ns,
)
from ktrace_cli.timeline.host_clock import HostClock
from ktrace_cli.timeline.segments import Ints, bisect

# Both clocks are read by two instructions, one behind the other, and a reference clock may go on
# by some ticks at a time: readings are this near to their line, or something is wrong with them.
MISFIT_TICKS = 10

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
    unfitted_waves: int = 0
    """Waves whose anchors contradict each other or those of their neighbours. Each has a clock of
    its own: from its begin on, at the usual rate."""
    misfit_waves: int = 0
    """Other waves that have anchors far off their clock's line."""

    def to_ns(self, wave: Ints, ticks: Ints) -> Ints:
        """Return the host's nanoseconds at `ticks` of the core clock that `wave` ran on."""
        clock = self.clock_of_wave[wave]
        piece = self.first_piece[clock]
        if len(self.ticks) > len(self.first_piece) - 1:
            behind = bisect(self.ticks, piece, self.first_piece[clock + 1], ticks + 1)
            piece = np.maximum(behind - 1, piece)
        return self.ns[piece] + whole_ns((ticks - self.ticks[piece]) * self.slope[piece])


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
        KtraceError: waves ended, but no wave of any device tells the rate of its core clock.
    """
    ns = _to_host(anchors, device, host_clocks)
    place = place_of_waves(waves, device)[anchors["wave"]]
    order = np.lexsort((anchors["ticks"], ns, place))
    readings = Readings(anchors["wave"], anchors["is_begin"], anchors["ticks"], ns)[order]
    place = place[order]
    tick_of_wave = _tick_ns(device, host_clocks)
    first_rates = _usual_rates(readings, device, host_clocks)
    rate, tick_ns = first_rates[readings.wave], tick_of_wave[readings.wave]

    is_unfitted = find_contradicting(readings, len(waves), rate, PAIR_TICKS * tick_ns)
    _refuse_unknown(readings, rate, is_unfitted)
    clock = _tell_clocks_apart(readings, place, (rate, tick_ns), is_unfitted)
    kept, clock = _by_clock(readings, clock)
    rate_of_wave = _usual_rates(kept, device, host_clocks) if is_unfitted.any() else first_rates
    rate_of_wave = np.where(rate_of_wave > 0, rate_of_wave, first_rates)
    tick_ns = tick_of_wave[kept.wave]
    pieces = fit_pieces(kept, clock, rate_of_wave[kept.wave], tick_ns)
    begins = readings[np.flatnonzero(is_unfitted[readings.wave] & readings.is_begin)]
    fitted = _join(pieces, kept, begins, rate_of_wave)
    residual = np.abs(fitted.to_ns(kept.wave, kept.ticks) - kept.ns)
    return replace(
        fitted,
        fits=describe_fits(kept, residual, waves["xcc"][kept.wave], device, host_clocks),
        unfitted_waves=len(begins),
        misfit_waves=len(np.unique(kept.wave[residual > MISFIT_TICKS * tick_ns])),
    )


def _to_host(anchors: Columns, device: Ints, host_clocks: Mapping[int, HostClock]) -> Ints:
    ns = np.zeros(len(anchors), np.int64)
    for number, host_clock in host_clocks.items():
        rows = device[anchors["wave"]] == number
        ns[rows] = host_clock.to_ns(anchors["realtime"][rows])
    return ns


def _tick_ns(device: Ints, host_clocks: Mapping[int, HostClock]) -> Ints:
    """Return the length of a tick of each wave's reference clock."""
    tick_ns = np.ones(len(device), np.int64)
    for number, host_clock in host_clocks.items():
        tick_ns[device == number] = host_clock.tick_ns
    return tick_ns


def _usual_rates(readings: Readings, device: Ints, host_clocks: Mapping[int, HostClock]) -> Floats:
    """Return the usual cycles per nanosecond of each wave's device."""
    rate = np.zeros(len(device))
    for number, host_clock in host_clocks.items():
        is_own = device[readings.wave] == number
        own = readings if is_own.all() else readings[is_own]
        rate[device == number] = rate_of(own, len(device), host_clock.tick_ns)
    return rate


def _refuse_unknown(readings: Readings, rate: Floats, is_unfitted: Flags) -> None:
    """Refuse to go on where all waves contradict themselves and no rate is known."""
    if not len(readings) or rate.any() or not is_unfitted[readings.wave].all():
        return
    cycles, length = readings.since_begin(len(is_unfitted))
    longest = int(np.argmax(cycles))
    raise KtraceError(
        "cannot tell the core clock's rate of any device",
        why=f"no core clock does what the waves say, such as {cycles[longest]:.0f} cycles within"
        f" {length[longest]:.0f} ns of the reference clock",
        fix="record waves that run longer than one tick of the reference clock",
    )


def _tell_clocks_apart(
    readings: Readings, place: Ints, rate_and_tick: tuple[Floats, Ints], is_unfitted: Flags
) -> Ints:
    """Return the clock of each reading, -1 for those of unfitted waves; `is_unfitted` gets more.

    A wave is unfitted, too, if it has readings on no clock, or on another one than its begin.
    """
    rate, tick_ns = rate_and_tick
    clock = np.full(len(readings), -1, np.int64)
    rows = np.flatnonzero(~is_unfitted[readings.wave])
    some = readings if len(rows) == len(readings) else readings[rows]
    clock[rows], is_wrong = find_clocks(some, place[rows], rate[rows], tick_ns[rows])
    of_wave = np.full(len(is_unfitted), -1, np.int64)
    of_wave[some.wave[some.is_begin]] = clock[rows[some.is_begin]]
    is_unfitted[some.wave[is_wrong | (of_wave[some.wave] != clock[rows])]] = True
    clock[is_unfitted[readings.wave]] = -1
    return clock


def _by_clock(readings: Readings, clock: Ints) -> tuple[Readings, Ints]:
    """Return readings that are on a clock by clock, and their clocks."""
    if len(clock) and clock[0] >= 0 and np.all(clock[1:] >= clock[:-1]):
        return readings, clock
    order = np.argsort(clock, kind="stable")
    order = order[np.searchsorted(clock[order], 0) :]
    return readings[order], clock[order]


def _join(pieces: Pieces, kept: Readings, begins: Readings, rate: Floats) -> ClockMap:
    """Put a clock of its own for each unfitted wave behind all others."""
    clock_of_wave = np.full(len(rate), -1, np.int64)
    clock_of_wave[kept.wave[kept.is_begin]] = pieces.clock[kept.is_begin]
    clock_of_wave[begins.wave] = len(pieces.first_piece) - 1 + np.arange(len(begins))
    usual = rate[begins.wave]
    own = np.divide(1, usual, out=np.zeros(len(begins)), where=usual > 0)
    behind = pieces.first_piece[-1] + 1 + np.arange(len(begins))
    return ClockMap(
        clock_of_wave=clock_of_wave,
        first_piece=np.append(pieces.first_piece, behind),
        ticks=np.append(pieces.ticks, begins.ticks),
        ns=np.append(pieces.ns, begins.ns),
        slope=np.append(pieces.slope, own),
        fits=(),
    )
