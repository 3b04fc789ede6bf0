"""Reference clock ticks (s_memrealtime) to host nanoseconds, through samples of both clocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.errors import KtraceError
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.trace_file.layout import ClockMethod
from ktrace_cli.trace_file.recording import DeviceRecord

_SECOND = 1_000_000_000
# Longer times come from damage only; so sums and differences of times stay within 64 bits.
_MOST_NS = 1 << 61
# Two samples tell a rate if the time between them is long against what one is known by.
_SAMPLE_DISTANCE_NS = 1_000_000
_UNCERTAINTIES = 1_000


@dataclass(frozen=True)
class HostClock:
    """A line through clock samples."""

    method: str
    """layout.ClockMethod in lower case: software, hsa, kfd or bounds."""
    ticks: Ints
    """Of the reference clock, ascending; at least one."""
    host_ns: Ints
    hz: int
    """Nominal rate; used where there is only one sample."""
    uncertainty_ns: int

    def to_ns(self, ticks: Ints) -> Ints:
        """Return the host's nanoseconds at `ticks` of the reference clock."""
        if len(self.ticks) == 1:
            return _scale(ticks - self.ticks[0], _SECOND, self.hz) + int(self.host_ns[0])
        at = np.clip(np.searchsorted(self.ticks, ticks, "right") - 1, 0, len(self.ticks) - 2)
        result = np.empty(len(ticks), np.int64)
        for segment in np.unique(at):
            rows = at == segment
            length = int(self.ticks[segment + 1] - self.ticks[segment])
            ns = int(self.host_ns[segment + 1]) - int(self.host_ns[segment])
            offset = _scale(ticks[rows] - self.ticks[segment], ns, length)
            result[rows] = self.host_ns[segment] + offset
        return result

    @property
    def slack_ns(self) -> int:
        """How far a time may be off: what samples are known by, and a tick at both ends."""
        return self.uncertainty_ns + 2 * self.tick_ns

    @property
    def tick_ns(self) -> int:
        """How long one tick of the reference clock is, rounded up."""
        if len(self.ticks) == 1:
            return -(-_SECOND // self.hz)
        span = int(self.ticks[-1] - self.ticks[0])
        return -((int(self.host_ns[0]) - int(self.host_ns[-1])) // span)


def fit_host_clock(
    samples: NDArray[Any], device: DeviceRecord, dispatches: NDArray[Any]
) -> HostClock:
    """Tie the reference clock of `device` to the host's.

    Args:
        samples: layout.CLOCK of this device.
        device: its nominal rate is used where samples do not tell one.
        dispatches: first and last tick of the reference clock, launched_ns and completed_ns of each
            dispatch, shape (n, 4); they bound the clock where there is no sample.

    Raises:
        KtraceError: neither the device nor its samples tell the clock's rate.
    """
    samples = samples[samples["method"] != ClockMethod.BOUNDS]
    is_hsa = samples["method"] == ClockMethod.HSA
    if is_hsa.any():  # other tools' kernel times go through it, too
        samples = samples[is_hsa]
    samples = samples[np.argsort(samples["realtime"], kind="stable")]
    uncertainty = int(samples["uncertainty_ns"].max(initial=0))
    ticks, ns = _distant_samples(samples, uncertainty)
    if len(ticks) < 2 and device.realtime_hz == 0:
        raise KtraceError(
            f"cannot tell times of device {device.device} ({device.target})",
            why=f"its reference clock's rate is recorded as 0 Hz, and {len(ticks)} usable clock"
            " samples are too few to measure it; 2 are needed",
            fix="record again on a device whose driver reports the rate",
        )
    if not len(ticks):
        return _bounded_clock(device.realtime_hz, dispatches)
    method = ClockMethod(int(samples["method"][0])).name.lower()
    return HostClock(method, ticks, ns, device.realtime_hz, uncertainty)


def _distant_samples(samples: NDArray[Any], uncertainty: int) -> tuple[Ints, Ints]:
    ticks = samples["realtime"].astype(np.int64)
    ns = np.minimum(samples["host_ns"], np.uint64(_MOST_NS)).astype(np.int64)
    distance = max(_SAMPLE_DISTANCE_NS, _UNCERTAINTIES * uncertainty)
    kept: list[int] = []
    for row in range(len(samples)):
        if not kept or (ns[row] - ns[kept[-1]] >= distance and ticks[row] > ticks[kept[-1]]):
            kept.append(row)
    return ticks[kept], ns[kept]


def _bounded_clock(hz: int, dispatches: NDArray[Any]) -> HostClock:
    """No dispatch starts before its launch: let the one that is closest start at its launch."""
    if not len(dispatches):
        zero = np.zeros(1, np.int64)
        return HostClock("bounds", zero, zero, hz, 0)
    first, last, launched, completed = dispatches.T.astype(np.int64)
    base = int(first.min())
    earliest = int((launched - _scale(first - base, _SECOND, hz)).max())
    latest = int((completed - _scale(last - base, _SECOND, hz)).min())
    return HostClock(
        "bounds",
        np.array([base], np.int64),
        np.array([earliest], np.int64),
        hz,
        max(latest - earliest, 0),
    )


def _scale(values: Ints, numerator: int, denominator: int) -> Ints:
    """Return values * numerator / denominator, rounded, and within what times may be."""
    most = _MOST_NS * denominator // max(numerator, 1)
    whole, rest = np.divmod(np.clip(values, -most, most), denominator)
    scaled: Ints = whole * numerator + np.rint(rest * (numerator / denominator)).astype(np.int64)
    return scaled
