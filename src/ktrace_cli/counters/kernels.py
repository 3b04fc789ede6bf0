"""Dispatches of one kernel to figures: median and spread, without those that warm up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ktrace_cli.counters.formulas import METRICS_BY_TARGET, Formula, Metric, target_by_counters
from ktrace_cli.counters.measured import Dispatch, Pass

Shape = tuple[str, int, int, str]
"""Name, grid, workgroup and target: launches that are alike."""


@dataclass(frozen=True)
class Spread:
    """Values of several dispatches."""

    count: int
    median: float
    p5: float
    p95: float


@dataclass(frozen=True)
class Figure:
    """One metric of a kernel."""

    metric: Metric
    formula: Formula
    spread: Spread
    undefined: int
    """Dispatches for which the formula gives nothing: 0 / 0, or below 0."""
    bound: str
    """Why it is a lower bound; "" if it is none."""


@dataclass(frozen=True)
class Missing:
    """A metric that cannot be computed."""

    metric: Metric
    counters: tuple[str, ...]
    """Those that no dispatch has; empty where each is there, but never in one pass with others."""
    why: str


@dataclass(frozen=True)
class KernelCounters:
    """All launches of one kernel and shape."""

    name: str
    grid: int
    workgroup: int
    target: str
    is_guessed: bool
    """Whether the target was told by names of counters only."""
    dispatches: int
    """Without those that warm up."""
    passes: int
    """Processes and passes that they come from."""
    warm_up: int
    """Left out."""
    is_all_warm_up: bool
    """Whether nothing would be left: then none is left out."""
    figures: tuple[Figure, ...]
    missing: tuple[Missing, ...]
    raw: Mapping[str, Spread]
    """Of each counter."""
    zero: tuple[str, ...]
    """Counters that are 0 in every dispatch."""

    def figure(self, key: str) -> Figure | None:
        """Return a figure by its metric's key."""
        return next((figure for figure in self.figures if figure.metric.key == key), None)


def by_kernel(
    dispatches: Sequence[Dispatch], *, warm_up: int, target: str = ""
) -> list[KernelCounters]:
    """Add up dispatches by kernel and shape, in order of first launch.

    Args:
        dispatches: in the order of launches of each process.
        warm_up: how many of a kernel's first dispatches in each process and pass are left out.
        target: in place of what files tell.
    """
    groups: dict[Shape, list[Dispatch]] = defaultdict(list)
    for dispatch in dispatches:
        groups[dispatch.kernel, dispatch.grid, dispatch.workgroup, dispatch.target].append(dispatch)
    return [_kernel(shape, own, warm_up, target) for shape, own in groups.items()]


def _kernel(
    shape: Shape, dispatches: Sequence[Dispatch], warm_up: int, given: str
) -> KernelCounters:
    kept = _without_warm_up(dispatches, warm_up)
    is_all = bool(dispatches) and not kept
    used = list(dispatches) if is_all else kept
    name, grid, workgroup, told = shape
    names = frozenset(counter for dispatch in used for counter in dispatch.values)
    target = given or told or target_by_counters(names)
    raw = {c: spread([d.values[c] for d in used if c in d.values]) for c in sorted(names)}
    zero = tuple(c for c in raw if all(d.values.get(c, 0) == 0 for d in used))
    metrics = METRICS_BY_TARGET.get(target, ())
    results = [_figure(metric, used, names, zero) for metric in metrics]
    return KernelCounters(
        name=name,
        grid=grid,
        workgroup=workgroup,
        target=target,
        is_guessed=bool(target) and not (given or told),
        dispatches=len(used),
        passes=len({dispatch.origin for dispatch in used}),
        warm_up=len(dispatches) - len(used),
        is_all_warm_up=is_all and warm_up > 0,
        figures=tuple(result for result in results if isinstance(result, Figure)),
        missing=tuple(result for result in results if isinstance(result, Missing)),
        raw=raw,
        zero=zero,
    )


def _without_warm_up(dispatches: Sequence[Dispatch], warm_up: int) -> list[Dispatch]:
    seen: dict[Pass, int] = defaultdict(int)
    kept = []
    for dispatch in dispatches:
        seen[dispatch.origin] += 1
        if seen[dispatch.origin] > warm_up:
            kept.append(dispatch)
    return kept


def spread(values: Sequence[float]) -> Spread:
    """Return the median and what nine tenths of the values lie between."""
    p5, median, p95 = np.percentile(values, (5, 50, 95)).tolist()
    return Spread(len(values), median, p5, p95)


def _figure(
    metric: Metric, dispatches: Sequence[Dispatch], names: frozenset[str], zero: Sequence[str]
) -> Figure | Missing:
    """Use the first formula whose counters were collected together."""
    for formula in metric.formulas:
        having = [d.values for d in dispatches if all(c in d.values for c in formula.needs)]
        if not having:
            continue
        values = [v for counters in having if (v := formula.value(counters)) is not None]
        if not values:
            why = f"{formula.text} gives nothing in any dispatch: it divides by 0, or is below 0"
            return Missing(metric, (), why)
        is_bound = not formula.bound_if_zero or formula.bound_if_zero in zero
        bound = formula.bound if is_bound else ""
        return Figure(metric, formula, spread(values), len(having) - len(values), bound)
    needs = metric.formulas[0].needs
    lacking = tuple(counter for counter in needs if counter not in names)
    if lacking:
        return Missing(metric, lacking, f"the files lack {', '.join(lacking)}")
    return Missing(metric, (), f"{', '.join(needs)} come from different runs, which are not alike")
