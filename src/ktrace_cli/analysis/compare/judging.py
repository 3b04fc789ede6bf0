"""How much each phase changed, and whether that is more than chance, noise and clocks explain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ktrace_cli.analysis.compare.center import Spread, center, centers, find_spread, noise_of
from ktrace_cli.analysis.compare.profile import (
    LAUNCH_TIME,
    LEVELS,
    WAVE_TIME,
    Floats,
    PhaseId,
)
from ktrace_cli.analysis.compare.rank_test import (
    SIGNIFICANCE,
    adjust,
    are_enough,
    can_show,
    p_value,
)
from ktrace_cli.analysis.compare.results import PhaseSide, Row, Status
from ktrace_cli.analysis.compare.rules import Rule, rules_for
from ktrace_cli.analysis.compare.sides import KernelSide, Pair, best_level


@dataclass(frozen=True)
class Conditions:
    """What changes are measured against."""

    rules: tuple[Rule, ...]
    floor: float
    """Per occurrence."""
    is_modelled: bool
    """Times do not vary by chance."""


@dataclass(frozen=True)
class JudgedKernel:
    """The phases of a kernel that both sides' code has."""

    level: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class _Measured:
    """A phase before it is known how many tests there are."""

    kernel: str
    id: PhaseId
    base: PhaseSide
    new: PhaseSide
    p: float | None
    is_of_launches: bool
    """They, and not the waves of few of them, were compared."""
    spread: Spread | None

    @property
    def change(self) -> float:
        return self.new.wave_ns - self.base.wave_ns


def compare_rows(pairs: Sequence[Pair], conditions: Conditions) -> list[JudgedKernel]:
    """Compare the phases of kernels that both sides have; all of them are one family of tests."""
    sides = [(pair.name, pair.base, pair.new) for pair in pairs if pair.base and pair.new]
    phases = [_phases(base, new) for _, base, new in sides]
    tests = sum(map(len, phases))
    levels = [choose_level(base, new, tests) for _, base, new in sides]
    measured = [
        [
            _measure(name, (base, new), id_, level, tests if is_testable else 0)
            for id_ in ids
            if id_ != LAUNCH_TIME or level == "launch"
        ]
        for (name, base, new), ids, (level, is_testable) in zip(sides, phases, levels, strict=True)
    ]
    tested = [one for found in measured for one in found if one.p is not None]
    adjusted = adjust([one.p for one in tested if one.p is not None])
    p_by_phase = {id(one): p for one, p in zip(tested, adjusted, strict=True)}
    return [
        JudgedKernel(
            level,
            tuple(
                _judge(one, p_by_phase.get(id(one)), noise, conditions)
                for one, noise in zip(found, _noises(found, tests), strict=True)
            ),
        )
        for found, (level, _) in zip(measured, levels, strict=True)
    ]


def _noises(measured: Sequence[_Measured], tests: int) -> list[float | None]:
    """Return what each phase of a kernel may differ by because runs do."""
    spreads = [one.spread for one in measured]
    known = [spread for spread in spreads if spread is not None]
    return [None if spread is None else noise_of(spread, known, tests) for spread in spreads]


def _phases(base: KernelSide, new: KernelSide) -> list[PhaseId]:
    """Return what ran on either side and is in the code of both."""
    common = [id_ for id_ in base.table if id_ in new.table]
    return [
        WAVE_TIME,
        *(id_ for id_ in [LAUNCH_TIME, *common] if base.has_run(id_) or new.has_run(id_)),
    ]


def choose_level(base: KernelSide, new: KernelSide, tests: int) -> tuple[str, bool]:
    """Return the most independent level with enough units, and whether there is one."""
    for level in LEVELS:
        if can_show((base.sampled(level), new.sampled(level)), tests):
            return level, True
    return best_level(base, new)[0], False


def _measure(
    kernel: str,
    sides: tuple[KernelSide, KernelSide],
    id_: PhaseId,
    level: str,
    tests: int,
) -> _Measured:
    """Measure a phase; `tests` is how many phases are tested, 0 if no test can show anything."""
    base, new = sides
    values = base.values(id_, level), new.values(id_, level)
    middles = centers(*values, level)
    runs = [[center(one, level) for one in side.values_by_run(id_, level)] for side in sides]
    return _Measured(
        kernel=kernel,
        id=id_,
        base=_side(base, id_, middles[0]),
        new=_side(new, id_, middles[1]),
        p=_chance(*_tested(sides, id_, level, tests)) if tests else None,
        is_of_launches=level == "launch",
        spread=find_spread(*runs),
    )


def _chance(base: Floats, new: Floats) -> float:
    """Return how probable such a difference is: of all units, or of those that the phase ran in.

    Where it ran in some only, the others' zeros would hide that all of these are slower.
    """
    p = p_value(base, new)
    if base.all() and new.all():
        return p
    return min(1.0, 2 * min(p, p_value(base[base > 0], new[new > 0])))


def _tested(
    sides: tuple[KernelSide, KernelSide], id_: PhaseId, level: str, tests: int
) -> tuple[Floats, Floats]:
    """Return the values to test: a few cold launches would hide that all others are slower."""
    base, new = sides
    if level == "launch":
        warm = base.warm_values(id_, level), new.warm_values(id_, level)
        if are_enough((len(warm[0]), len(warm[1])), tests):
            return warm
    return base.values(id_, level), new.values(id_, level)


def _side(side: KernelSide, id_: PhaseId, middle: float) -> PhaseSide:
    phase = side.phase(id_)
    count = max(phase.count, 1)
    of = side.launches if id_ == LAUNCH_TIME else side.waves
    return PhaseSide(
        count=phase.count,
        count_per_wave=phase.count / max(of, 1),
        mean_ns=phase.total_ns / count,
        median_ns=phase.median_ns,
        self_mean_ns=phase.self_ns / count,
        wave_ns=middle,
    )


def _judge(one: _Measured, p: float | None, noise: float | None, conditions: Conditions) -> Row:
    rules = rules_for(conditions.rules, one.kernel, one.id.name)
    floor = conditions.floor * _occurrences(one)
    exceeded = [rule for rule in rules if rule.is_exceeded(one.base.wave_ns, one.change)]
    exceeded.sort(key=lambda rule: not rule.is_failing)
    status = Status.SAME
    if exceeded:
        doubt = _below(one, floor, noise)
        if not doubt and not conditions.is_modelled:
            doubt = _unproven(one, p)
        status = doubt or _direction(one, exceeded[0])
    if status is Status.TOO_FEW and not (exceeded[0].is_failing and one.change > 0):
        status = Status.UNPROVEN
    return Row(
        id=one.id,
        status=status,
        base=one.base,
        new=one.new,
        change_ns=one.change,
        change=one.change / one.base.wave_ns if one.base.wave_ns else None,
        limit=(exceeded or list(rules))[0].text,
        p=p,
        noise=noise,
        floor_ns=floor,
    )


def _below(one: _Measured, floor: float, noise: float | None) -> Status | None:
    """Return what of clock and noise explains a change."""
    change = abs(one.change)
    if round(change, 3) <= floor:
        return Status.BELOW_FLOOR
    if noise is not None and change <= noise * one.base.wave_ns:
        return Status.WITHIN_NOISE
    return None


def _unproven(one: _Measured, p: float | None) -> Status | None:
    """Return what chance explains of a change.

    Workgroups may have unequal amounts of work: that hides from ranks what all of them lost.
    """
    if p is not None and p <= SIGNIFICANCE:
        return None
    return Status.UNPROVEN if p is not None and one.is_of_launches else Status.TOO_FEW


def _direction(one: _Measured, rule: Rule) -> Status:
    if one.change < 0:
        return Status.FASTER
    return Status.REGRESSED if rule.is_failing else Status.SLOWER


def _occurrences(one: _Measured) -> float:
    """Return how often a wave is in a phase: the clock may be off by as many ticks."""
    counts = [side.count_per_wave for side in (one.base, one.new) if side.count]
    return min(counts, default=0.0)
