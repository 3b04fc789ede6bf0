"""Two sides of runs to a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ktrace_cli.analysis.compare.comparable import (
    differences_of_pairs,
    differences_of_runs,
    loss_reasons,
    losses_of_runs,
    table_difference,
    vanished_and_added,
)
from ktrace_cli.analysis.compare.judging import Conditions, compare_rows
from ktrace_cli.analysis.compare.profile import RunProfile
from ktrace_cli.analysis.compare.rank_test import LEAST_UNITS
from ktrace_cli.analysis.compare.renames import renamed_kernels, renamed_phases
from ktrace_cli.analysis.compare.results import (
    Comparison,
    Difference,
    KernelComparison,
    Reason,
    Row,
    Side,
    Status,
    Verdict,
    named,
)
from ktrace_cli.analysis.compare.rules import Rule, check_rules
from ktrace_cli.analysis.compare.sides import Pair, pair_kernels

TICKS_OF_FLOOR = 2
"""A time's begin and its end may each be off by a tick of the clock."""
_HOPELESS = (Difference.UNIT, Difference.MODELLED, Difference.TARGET)


@dataclass(frozen=True)
class Request:
    """What to compare, and how strictly."""

    rules: tuple[Rule, ...]
    allowed: frozenset[Difference] = frozenset()
    """Differences between the sides that the user accepts; LOSS with `--allow-loss`."""
    floor: float | None = None
    """Changes per occurrence up to this are nothing; None: two ticks of the clock."""


def compare(base: Sequence[RunProfile], new: Sequence[RunProfile], request: Request) -> Comparison:
    """Compare at least one run with at least one other.

    Raises:
        UsageError: a rule is about nothing.
    """
    reasons = list(differences_of_runs(base, new))
    pairs: list[Pair] = []
    if not any(r.kind in _HOPELESS and r.kind not in request.allowed for r in reasons):
        by_shape = Difference.SHAPE not in request.allowed
        pairs = pair_kernels(base, new, by_shape=by_shape)
        reasons += [*differences_of_pairs(pairs), *loss_reasons(base, new)]
    gone, came = vanished_and_added(pairs)
    kernels = _kernels(pairs, request, _conditions([*base, *new], request))
    if kernels:
        check_rules(request.rules, _names(pairs, kernels))
    if not kernels and not [r for r in reasons if r.kind not in request.allowed]:
        reasons.append(_nothing(base, new))
    reasons += [*_without_waves(kernels), *_too_few(kernels)]
    refused = tuple(reason for reason in reasons if reason.kind not in request.allowed)
    return Comparison(
        verdict=_verdict(refused, kernels),
        reasons=refused,
        allowed=tuple(reason for reason in reasons if reason.kind in request.allowed),
        base=_side(base),
        new=_side(new),
        rules=tuple(rule.text for rule in request.rules),
        unit=base[0].unit,
        kernels=tuple(sorted(kernels, key=_order_of_kernels)),
        vanished_kernels=tuple(gone),
        added_kernels=tuple(came),
        renamed_kernels=renamed_kernels(pairs, gone, came),
    )


def _names(pairs: Sequence[Pair], kernels: Sequence[KernelComparison]) -> list[tuple[str, str]]:
    """Return kernel and phase of all that a rule may be about, also what one side lacks."""
    rows = [(kernel.name, row.id.name) for kernel in kernels for row in kernel.rows]
    sides = [(pair.name, side) for pair in pairs for side in (pair.base, pair.new) if side]
    return rows + [(name, id_.name) for name, side in sides for id_ in side.table]


def _conditions(runs: Sequence[RunProfile], request: Request) -> Conditions:
    tick = max(run.tick for run in runs)
    floor = TICKS_OF_FLOOR * tick if request.floor is None else request.floor
    is_modelled = all(run.is_modelled for run in runs)
    return Conditions(request.rules, floor, is_modelled=is_modelled)


def _kernels(
    pairs: Sequence[Pair], request: Request, conditions: Conditions
) -> list[KernelComparison]:
    common = [pair for pair in pairs if pair.base and pair.new]
    shapes: dict[str, int] = {}
    for pair in pairs:
        shapes[pair.name] = shapes.get(pair.name, 0) + 1
    judged = compare_rows(common, conditions)
    kernels = []
    for pair, found in zip(common, judged, strict=True):
        assert pair.base is not None
        assert pair.new is not None
        gone, came = table_difference(pair.base, pair.new)
        stayed = [row.id for row in found.rows]
        kernels.append(
            KernelComparison(
                name=pair.name,
                shape=pair.shape,
                has_other_shapes=shapes[pair.name] > 1,
                level=found.level,
                base_units=pair.base.units(found.level),
                new_units=pair.new.units(found.level),
                base_sampled=pair.base.sampled(found.level),
                new_sampled=pair.new.sampled(found.level),
                base_launches=pair.base.launches,
                new_launches=pair.new.launches,
                rows=tuple(sorted(found.rows, key=_order_of_rows)),
                vanished=tuple(gone),
                added=tuple(came),
                renamed=renamed_phases(pair.base, pair.new, gone, came),
                stopped=tuple(id_ for id_ in stayed if not pair.new.has_run(id_)),
                started=tuple(id_ for id_ in stayed if not pair.base.has_run(id_)),
            )
        )
    return kernels


_ORDER = list(Status)


def _order_of_rows(row: Row) -> tuple[int, bool, float, str]:
    """Worst first: those that took most of the time which a wave lost themselves.

    Wave and launch come after the phases that made them slower.
    """
    own = row.new.self_mean_ns * row.new.count_per_wave
    before = row.base.self_mean_ns * row.base.count_per_wave
    return _ORDER.index(row.status), not row.id.is_marked, round(before - own, 3), row.id.name


def _order_of_kernels(kernel: KernelComparison) -> tuple[int, float, str]:
    worst = min((_ORDER.index(row.status) for row in kernel.rows), default=len(_ORDER))
    return worst, -max((row.change or 0.0 for row in kernel.rows), default=0.0), kernel.name


def _without_waves(kernels: Sequence[KernelComparison]) -> list[Reason]:
    """Say which kernels were launched without a trace of it: nothing differs from nothing."""
    return [
        Reason(
            Difference.NOTHING,
            f"no wave of kernel {named(kernel.name)} was recorded on the"
            f" {'new' if kernel.base_sampled else 'base'} side",
            "record it again; `--blocks`, `--waves` and `--xcc` may have left out all waves",
        )
        for kernel in kernels
        if not (kernel.base_sampled and kernel.new_sampled)
    ]


def _too_few(kernels: Sequence[KernelComparison]) -> list[Reason]:
    rows = [
        (kernel, row)
        for kernel in kernels
        for row in kernel.rows
        if row.status is Status.TOO_FEW and row.change_ns > 0
    ]
    if not rows or any(r.status is Status.REGRESSED for k in kernels for r in k.rows):
        return []
    kernel, row = rows[0]
    sizes = f"{kernel.base_units:,} and {kernel.new_units:,}"
    more = f" and {len(rows) - 1:,} more" if len(rows) > 1 else ""
    return [
        Reason(
            Difference.FEW,
            f"{named(row.id.name)} of {named(kernel.name)}{more} took longer than allowed, but"
            f" {sizes} {kernel.level}s are too few to tell that from chance",
            f"record more launches: at least {LEAST_UNITS} on each side",
        )
    ]


def _nothing(base: Sequence[RunProfile], new: Sequence[RunProfile]) -> Reason:
    empty = [run.name for run in [*base, *new] if not run.kernels]
    text = (
        f"{named(empty[0])} has no traced launch" if empty else "the sides have no kernel in common"
    )
    return Reason(Difference.NOTHING, text, "record a program that launches annotated kernels")


def _verdict(refused: Sequence[Reason], kernels: Sequence[KernelComparison]) -> Verdict:
    if refused:
        return Verdict.NOT_COMPARABLE
    if any(row.status is Status.REGRESSED for kernel in kernels for row in kernel.rows):
        return Verdict.REGRESSED
    return Verdict.PASSED


def _side(runs: Sequence[RunProfile]) -> Side:
    return Side(
        runs=tuple(run.name for run in runs),
        losses=losses_of_runs(runs),
        is_modelled=all(run.is_modelled for run in runs),
    )
