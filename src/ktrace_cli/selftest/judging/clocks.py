"""Clocks: whether they go forward, by which steps, how fast, and whether decoding allows for it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.selftest.judging.measured import Judgement, Measured, failed
from ktrace_cli.selftest_file.result import Check
from ktrace_cli.timeline.clock import MISFIT_TICKS
from ktrace_cli.timeline.clock_readings import FASTEST
from ktrace_cli.trace_file.layout import ClockMethod
from ktrace_cli.units import significant

NAME = "clocks"
_MOST_DEVIATION = 0.001
"""Of the reference clock's rate from what HIP says: times would be off by as much."""
_MOST_MISFITS = 0.01
"""Of all waves: decoding counts them, and their times are a little off."""
_MOST_STEPS = 3
_XCC, _CORE_BEGIN, _REFERENCE_BEGIN, _CORE_END, _REFERENCE_END = range(5)

Ints = NDArray[np.int64]


def judge_clocks(measured: Measured) -> Check:
    """Judge readings of s_memtime and s_memrealtime."""
    if trouble := measured.trouble(bare="clocks", traced="pattern"):
        return failed(NAME, trouble)
    judgement, arrays = Judgement(NAME), measured.bare.arrays
    _judge_steps(judgement, "s_memtime", "cycles", arrays["clock_core"].astype(np.int64))
    reference = arrays["clock_reference"].astype(np.int64)
    step = _judge_steps(judgement, "s_memrealtime", "ticks", reference)
    if step > MISFIT_TICKS:
        judgement.fail(f"s_memrealtime steps by {step} ticks; decoding assumes {MISFIT_TICKS}")
    _judge_rates(judgement, measured, arrays["clock_pairs"].astype(np.int64))
    _judge_reference(judgement, measured)
    _judge_fit(judgement, measured)
    return judgement.check("both clocks go forward, by steps and at rates that decoding allows for")


def _judge_steps(judgement: Judgement, clock: str, unit: str, readings: Ints) -> int:
    """Judge readings of one wave; return the step by which the clock goes on."""
    steps = np.diff(readings)
    backwards = int(np.count_nonzero(steps < 0))
    judgement.expect(f"{clock} went backwards", backwards, 0)
    forward = steps[steps > 0]
    if not len(forward):
        judgement.fail(f"{clock} did not go on in {len(readings):,} readings")
        return 0
    step = int(np.gcd.reduce(forward))
    judgement.device(f"{clock}: step", step, unit, "all differences are multiples of it")
    judgement.device(
        f"{clock}: least difference", int(forward.min()), unit, "above 0, of neighbouring readings"
    )
    judgement.device(f"{clock}: differences", _distribution(steps), unit, "the most frequent ones")
    return step


def _distribution(steps: Ints) -> str:
    values, counts = np.unique(steps, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:_MOST_STEPS]
    shares = counts[order] / len(steps)
    return ", ".join(f"{v} ({s:.0%})" for v, s in zip(values[order].tolist(), shares, strict=True))


def _judge_rates(judgement: Judgement, measured: Measured, pairs: Ints) -> None:
    """Judge both clocks at begin and end of many waves."""
    core = pairs[:, _CORE_END] - pairs[:, _CORE_BEGIN]
    reference = pairs[:, _REFERENCE_END] - pairs[:, _REFERENCE_BEGIN]
    silent = int(np.count_nonzero((core <= 0) | (reference <= 0)))
    judgement.expect(f"of {len(pairs):,} waves, those whose clocks did not go forward", silent, 0)
    if silent:
        return
    ratios = [core[own].sum() / reference[own].sum() for own in _by_xcc(pairs)]
    judgement.device("s_memtime / s_memrealtime", float(core.sum() / reference.sum()), "")
    if len(ratios) > 1:
        spread = (max(ratios) - min(ratios)) / min(ratios)
        judgement.device("… spread over XCCs", 100 * float(spread), "%", "each is fitted by itself")
    if measured.tick_ns is None:
        judgement.fail("HIP does not tell the rate of s_memrealtime, so that no time can be told")
        return
    per_ns = float(core.sum() / reference.sum()) / measured.tick_ns
    judgement.device("core clock", 1000 * per_ns, "MHz", "mean over all waves")
    if not per_ns < FASTEST:
        judgement.fail(f"the core clock has {per_ns:g} cycles per ns; decoding assumes {FASTEST:g}")


def _by_xcc(pairs: Ints) -> list[NDArray[np.bool_]]:
    return [pairs[:, _XCC] == number for number in np.unique(pairs[:, _XCC])]


def _judge_fit(judgement: Judgement, measured: Measured) -> None:
    """Judge whether readings of both clocks lie on lines: in a full device they come late."""
    timeline = measured.timeline
    if isinstance(timeline, str):
        judgement.fail(timeline)
        return
    losses, waves = timeline.losses, len(timeline.waves)
    misfits = int(losses.misfit_waves) + int(losses.unfitted_waves)
    meaning = f"of {waves:,}: by more than {MISFIT_TICKS} ticks"
    judgement.device("waves off their clock's line", misfits, "waves", meaning)
    if misfits > _MOST_MISFITS * waves:
        judgement.fail(
            f"{misfits:,} of {waves:,} waves have readings more than {MISFIT_TICKS} ticks off their"
            " clock's line; decoding takes such for rare"
        )


def _judge_reference(judgement: Judgement, measured: Measured) -> None:
    """Compare the reference clock's rate with the host's clock, and with what HIP says."""
    told = measured.facts["realtime_hz"]
    assert measured.recording is not None  # else there was trouble
    found = _rate_by_host(measured.recording.clocks)
    if told:
        judgement.count("s_memrealtime: rate", told / 1e6, "MHz", "as HIP says")
    if found is None or not told:
        judgement.device("… by the host's clock", None, "MHz", "not known: no two samples of both")
        return
    rate, uncertainty = found
    judgement.device(
        "… by the host's clock", rate / 1e6, "MHz", f"± {significant(100 * uncertainty, 2)} %"
    )
    if abs(rate / told - 1) > _MOST_DEVIATION + uncertainty:
        judgement.fail(
            f"s_memrealtime has {rate / 1e6:.6g} MHz by the host's clock, not {told / 1e6:g}"
        )


def _rate_by_host(clocks: Any) -> tuple[float, float] | None:
    """Return ticks per second between the first and the last sample, and how exactly."""
    samples = clocks[clocks["method"] != ClockMethod.BOUNDS]
    if len(samples) < 2:
        return None
    ticks = int(samples["realtime"][-1]) - int(samples["realtime"][0])
    ns = int(samples["host_ns"][-1]) - int(samples["host_ns"][0])
    if ns <= 0:
        return None
    uncertain = int(samples["uncertainty_ns"][0]) + int(samples["uncertainty_ns"][-1])
    return ticks / ns * 1e9, uncertain / ns
