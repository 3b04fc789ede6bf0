"""XCC skew: by how much the reference clocks of XCCs differ.

A workgroup asks one on each XCC for the time. The clock there was read between asking and hearing,
so each answer bounds the difference, and all answers together bound it more closely.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.selftest.judging.measured import Judgement, Measured, failed, skipped
from ktrace_cli.selftest_file.result import Check
from ktrace_cli.units import significant

NAME = "xcc_skew"
_ONE_TICK = 1
"""Readings are cut to whole ticks."""


@dataclass(frozen=True)
class _Bounds:
    """What all answers of an XCC allow its clock to be ahead by, in ticks."""

    xcc: int
    least: int
    most: int

    @property
    def middle(self) -> float:
        return (self.least + self.most) / 2

    @property
    def half(self) -> float:
        return abs(self.most - self.least) / 2

    @property
    def contradiction(self) -> int:
        """By how much answers allow nothing."""
        return max(self.least - self.most - _ONE_TICK, 0)

    @property
    def ahead(self) -> int:
        """By how much the clocks differ at least."""
        return max(self.least - _ONE_TICK, -self.most - _ONE_TICK, 0)


def judge_xcc(measured: Measured) -> Check:
    """Judge what workgroups on each XCC answered."""
    if trouble := measured.trouble(bare="xcc_skew"):
        return failed(NAME, trouble)
    if not measured.facts["xcc_count"]:
        return skipped(NAME, "HIP does not tell how many XCCs the device has")
    if measured.facts["xcc_count"] == 1:
        return skipped(NAME, "the device has one XCC, so that there is nothing to compare")
    if measured.tick_ns is None:
        return skipped(NAME, "HIP does not tell the rate of s_memrealtime")
    times = measured.bare.arrays["xcc_times"].astype(np.int64)
    found = [_bounds(xcc, rounds) for xcc, rounds in enumerate(times) if rounds[:, 2].any()]
    disorder = max((max(bounds.contradiction, bounds.ahead) for bounds in found), default=0)
    if disorder and measured.is_software:
        apart = f"{significant(disorder * measured.tick_ns, 4)} ns"
        return skipped(
            NAME,
            f"the software device has one reference clock, and runs its CUs apart by up to {apart}"
            " (modelled): an answer may precede its question, so that no difference can be told",
        )
    return _judge(measured, found, len(times), measured.tick_ns)


def _judge(measured: Measured, found: Sequence[_Bounds], xccs: int, tick_ns: float) -> Check:
    judgement = Judgement(NAME)
    silent = sorted({*range(xccs)} - {bounds.xcc for bounds in found})
    judgement.expect("XCCs that did not answer", silent, [])
    own = int(measured.bare.arrays["xcc_state"][1])
    for bounds in found:
        if bounds.contradiction:
            text = f"by {bounds.contradiction} ticks"
            judgement.fail(f"XCC {bounds.xcc}: its answers contradict each other {text}")
        elif bounds.ahead:
            middle, half = (significant(n * tick_ns, 4) for n in (bounds.middle, bounds.half))
            text = f"{middle} ns, ± {half}"
            judgement.fail(f"XCC {bounds.xcc}: its clock is ahead by {text}")
        text = "has workgroup 0: its own clock" if bounds.xcc == own else ""
        unit = f"ns, ± {significant(bounds.half * tick_ns, 4)}"
        judgement.device(f"XCC {bounds.xcc}", bounds.middle * tick_ns, unit, text)
    if found:
        largest = max(abs(bounds.middle) for bounds in found) * tick_ns
        judgement.device("largest difference", largest, "ns", "from workgroup 0's clock")
        coarsest = max(bounds.half for bounds in found) * tick_ns
        judgement.device("resolution", coarsest, "ns", "half the time between asking and hearing")
    return judgement.check("no difference between the reference clocks of XCCs is seen")


def _bounds(xcc: int, rounds: NDArray[np.int64]) -> _Bounds:
    """Take all answers together: each was given between asking and hearing."""
    asked, replied, heard = rounds[rounds[:, 2] != 0].T
    return _Bounds(xcc, int((replied - heard).max()), int((replied - asked).min()))
