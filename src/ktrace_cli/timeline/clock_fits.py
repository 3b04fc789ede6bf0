"""How well core clocks were fitted, for each device and XCC."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ktrace_cli.model import ClockFit
from ktrace_cli.timeline.clock_rates import mean_rate, rate_of
from ktrace_cli.timeline.clock_readings import Readings
from ktrace_cli.timeline.host_clock import HostClock
from ktrace_cli.timeline.segments import Ints


def describe_fits(
    kept: Readings,
    residual: Ints,
    xcc: Ints,
    device: Ints,
    host_clocks: Mapping[int, HostClock],
) -> tuple[ClockFit, ...]:
    """Tell how well each device's clocks were fitted.

    Args:
        kept: readings that count.
        residual: how far each is from its clock's line, in nanoseconds.
        xcc: of each reading.
        device: HIP device index of each wave.
        host_clocks: by HIP device index.
    """
    fits = []
    for number, host_clock in sorted(host_clocks.items()):
        rows = np.flatnonzero(device[kept.wave] == number)
        own = kept if len(rows) == len(kept) else kept[rows]
        rate = mean_rate(own, len(device)) or rate_of(own, len(device), host_clock.tick_ns)
        by_xcc = _largest_by_xcc(residual[rows], xcc[rows])
        fits.append(
            ClockFit(
                device=number,
                method=host_clock.method,
                core_hz=rate * 1e9,
                residual_ns=max((largest for _, largest in by_xcc), default=0.0),
                residual_by_xcc=by_xcc,
                skew_by_xcc=_skews(own, xcc[rows], rate),
            )
        )
    return tuple(fits)


def _skews(readings: Readings, xcc: Ints, rate: float) -> tuple[tuple[int, float], ...]:
    """Return how far each XCC's clock is ahead of the lowest one's, by the anchors in the middle.

    Each XCC's anchor that is nearest to one in the middle of the lowest is carried there.
    """
    if not rate or not len(readings):
        return ()
    ticks, ns = readings.ticks, readings.ns
    moment = (int(ns.min()) + int(ns.max())) // 2
    numbers = np.unique(xcc)
    at_moment: list[int] = []
    for number in numbers:
        rows = np.flatnonzero(xcc == number)
        nearest = rows[np.argmin(np.abs(ns[rows] - moment))]
        moment = moment if at_moment else int(ns[nearest])
        at_moment.append(int(ticks[nearest]) + round(int(moment - ns[nearest]) * rate))
    return tuple(
        (int(number), (at - at_moment[0]) / rate)
        for number, at in zip(numbers, at_moment, strict=True)
    )


def _largest_by_xcc(residual: Ints, xcc: Ints) -> tuple[tuple[int, float], ...]:
    return tuple((int(x), float(residual[xcc == x].max())) for x in np.unique(xcc))
