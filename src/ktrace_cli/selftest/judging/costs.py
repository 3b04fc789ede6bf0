"""Cost per event: by how much a marker prolongs its wave; from loops that differ by the marker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ktrace_cli.selftest.judging.measured import Judgement, Measured, failed, median
from ktrace_cli.selftest.settings import COST_MARKERS
from ktrace_cli.selftest_file.result import Check, MarkerCost, Situation
from ktrace_cli.trace_file.recording import DispatchRecord
from ktrace_cli.units import significant

NAME = "event_cost"
_WORDS = {"none": 0, "mark": 1, "mark_payload": 2, "push_pop": 2, "range": 1}
_LOOP = {
    Situation.LONE_WAVE: "cost",
    Situation.SPACED: "spaced",
    Situation.FULL_OCCUPANCY: "cost",
    Situation.PIPELINED_LOOP: "pipelined",
}
SAID = {
    "mark": "KTRACE_MARK",
    "mark_payload": "… with a payload",
    "push_pop": "KTRACE_PUSH and KTRACE_POP",
    "range": "KTRACE_RANGE",
    Situation.LONE_WAVE: "lone wave, dense",
    Situation.SPACED: "lone wave, spaced",
    Situation.FULL_OCCUPANCY: "device full",
    Situation.PIPELINED_LOOP: "pipelined loop",
}


@dataclass(frozen=True)
class _Loop:
    """All launches of one loop in one situation."""

    cycles: tuple[float, ...]
    """Of the median wave of each launch."""
    cycles_per_tick: float
    waves: int


def judge_costs(measured: Measured) -> tuple[Check, tuple[MarkerCost, ...]]:
    """Judge the loops; return what each marker costs in each situation, too."""
    if trouble := measured.trouble(traced="costs"):
        return failed(NAME, trouble), ()
    judgement, costs = Judgement(NAME), []
    for situation in Situation:
        plain = _loop(judgement, measured, "none", situation)
        for marker in COST_MARKERS:
            loop = _loop(judgement, measured, marker, situation)
            if plain is None or loop is None:
                continue
            cost = _cost(judgement, measured, (marker, situation), (plain, loop))
            costs.append(cost)
    text = "each loop wrote exactly its markers' words; what they add to a wave is below"
    return judgement.check(text), tuple(costs)


def _cost(
    judgement: Judgement,
    measured: Measured,
    what: tuple[str, Situation],
    loops: tuple[_Loop, _Loop],
) -> MarkerCost:
    (marker, situation), (plain, loop) = what, loops
    count = _iterations(measured, situation)
    cycles = (median(loop.cycles) - median(plain.cycles)) / count
    name = f"{SAID[marker]}, {SAID[situation]}"
    ns_per_cycle = (measured.tick_ns or 0.0) / loop.cycles_per_tick
    spread = max(map(np.ptp, (loop.cycles, plain.cycles))) / count
    judgement.device(
        name,
        cycles,
        "cycles",
        f"{significant(cycles * ns_per_cycle, 3)} ns, ± {significant(spread, 2)} cycles",
    )
    if cycles <= 0 and situation is Situation.LONE_WAVE:
        judgement.fail(f"{name}: the loop with markers is not slower than the one without")
    return MarkerCost(marker, situation, cycles, cycles * ns_per_cycle)


def _iterations(measured: Measured, situation: Situation) -> int:
    settings = measured.settings
    is_full = situation is Situation.FULL_OCCUPANCY
    return settings.crowded_iterations if is_full else settings.iterations


def _loop(
    judgement: Judgement, measured: Measured, marker: str, situation: Situation
) -> _Loop | None:
    """Return a loop's launches; None if they are not as they should be."""
    found = list(_dispatches(measured, marker, situation))
    name = f"{marker}, {SAID[situation]}"
    repetitions = measured.settings.repetitions
    judgement.expect(f"recorded launches of the loop of {name}", len(found), repetitions)
    wanted = _WORDS[marker] * _iterations(measured, situation)
    words = {int(n) for one in found for n in _words(one)}
    judgement.expect(f"words of each wave of the loop of {name}", sorted(words), [wanted])
    if len(found) != repetitions or words != {wanted}:
        return None
    lengths = np.array([_lengths(dispatch) for dispatch in found])  # launch, clock, wave
    ticks = float(lengths[:, 1].sum())
    if lengths.min() < 0 or ticks == 0:
        judgement.fail(f"clocks of the loop of {name} did not go forward")
        return None
    cycles = tuple(median(one[0]) for one in lengths)
    return _Loop(cycles, float(lengths[:, 0].sum()) / ticks, lengths.shape[2])


def _dispatches(measured: Measured, marker: str, situation: Situation) -> Iterator[DispatchRecord]:
    is_full = situation is Situation.FULL_OCCUPANCY
    for dispatch in measured.dispatches(f"{_LOOP[situation]}_{marker}"):
        if (int(dispatch.record["grid"][0]) > 1) == is_full:
            yield dispatch


def _words(dispatch: DispatchRecord) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    extents = dispatch.extents
    return np.asarray(np.unique(extents["main_words"].astype(np.int64) + extents["side_words"]))


def _lengths(dispatch: DispatchRecord) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Return how long each wave ran by both clocks, shape (2, waves)."""
    headers = dispatch.headers
    return np.array(
        [
            headers[f"{clock}_end"].astype(np.int64) - headers[f"{clock}_begin"].astype(np.int64)
            for clock in ("memtime", "realtime")
        ]
    )
