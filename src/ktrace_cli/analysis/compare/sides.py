"""The runs of one side as one, and which kernels of two sides are the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ktrace_cli.analysis.compare.profile import (
    LEVELS,
    Floats,
    KernelProfile,
    PhaseId,
    PhaseProfile,
    RunProfile,
    Shape,
    SourcePlace,
    joined,
)
from ktrace_cli.code_object.patterns import check_any_matches, matches, spellings_of_signature


@dataclass(frozen=True)
class KernelSide:
    """One kernel in all runs of a side."""

    parts: tuple[tuple[int, KernelProfile], ...]
    """The number of its run, and what is known of it there; one for each shape that is compared."""

    @property
    def profiles(self) -> list[KernelProfile]:
        """Of all parts."""
        return [profile for _, profile in self.parts]

    @property
    def launches(self) -> int:
        """Of all runs."""
        return sum(profile.launches for profile in self.profiles)

    @property
    def waves(self) -> int:
        """Of all runs."""
        return sum(profile.waves for profile in self.profiles)

    @property
    def table(self) -> dict[PhaseId, SourcePlace]:
        """Phases in its code."""
        return {id_: place for p in self.profiles for id_, place in p.table.items()}

    def sampled(self, level: str) -> int:
        """Return of how many units values are kept."""
        return sum(profile.sampled.get(level, 0) for profile in self.profiles)

    def units(self, level: str) -> int:
        """Return how many units there were."""
        return sum(profile.units.get(level, 0) for profile in self.profiles)

    def values(self, phase: PhaseId, level: str) -> Floats:
        """Return a phase's time per wave in each sampled unit."""
        return joined([profile.values(phase, level) for profile in self.profiles])

    def warm_values(self, phase: PhaseId, level: str) -> Floats:
        """Return the same without each run's first unit, which may be cold, if it has others."""
        parts = [profile.values(phase, level) for profile in self.profiles]
        return joined([values[1:] if len(values) > 1 else values for values in parts])

    def values_by_run(self, phase: PhaseId, level: str) -> list[Floats]:
        """Return the same for each run that has any."""
        runs: dict[int, list[Floats]] = {}
        for run, profile in self.parts:
            runs.setdefault(run, []).append(profile.values(phase, level))
        return [values for parts in runs.values() if len(values := joined(parts))]

    def phase(self, phase: PhaseId) -> PhaseProfile:
        """Return a phase's counts and times in all runs."""
        found = [p.phases[phase] for p in self.profiles if phase in p.phases]
        return PhaseProfile(
            id=phase,
            count=sum(one.count for one in found),
            total_ns=sum(one.total_ns for one in found),
            self_ns=sum(one.self_ns for one in found),
            median_ns=float(np.median([one.median_ns for one in found])) if found else 0.0,
            values={},
        )

    def has_run(self, phase: PhaseId) -> bool:
        """Tell whether a phase ran."""
        return any(phase in profile.phases for profile in self.profiles)


@dataclass(frozen=True)
class Pair:
    """A kernel, in launches of one shape or all, on both sides; None: it is not on that one."""

    name: str
    shape: Shape | None
    """None: all shapes."""
    base: KernelSide | None
    new: KernelSide | None


def pair_kernels(
    base: Sequence[RunProfile], new: Sequence[RunProfile], *, by_shape: bool
) -> list[Pair]:
    """Find the kernels of both sides by their display names, and by signature where it must be.

    Args:
        base: the runs of one side.
        new: those of the other.
        by_shape: launches of different shapes are different; else all are taken together.
    """
    overloaded = _overloaded([*base, *new])
    sides = [_by_key(runs, overloaded, by_shape=by_shape) for runs in (base, new)]
    keys = dict.fromkeys([*sides[0], *sides[1]])
    return [Pair(*key, sides[0].get(key), sides[1].get(key)) for key in keys]


def only_kernels(
    files: Sequence[Sequence[RunProfile]], patterns: Sequence[str]
) -> list[list[RunProfile]]:
    """Leave out kernels whose name matches none of some patterns.

    Raises:
        UsageError: a pattern matches no kernel of any run.
    """
    kernels = [kernel for runs in files for run in runs for kernel in run.kernels]
    check_any_matches(patterns, map(_spellings, kernels))
    return [
        [
            replace(run, kernels=tuple(k for k in run.kernels if _is_like_any(k, patterns)))
            for run in runs
        ]
        for runs in files
    ]


def _spellings(kernel: KernelProfile) -> tuple[str, ...]:
    return spellings_of_signature(kernel.signature, kernel.name)


def _is_like_any(kernel: KernelProfile, patterns: Sequence[str]) -> bool:
    return any(matches(pattern, _spellings(kernel)) for pattern in patterns)


def best_level(base: KernelSide, new: KernelSide) -> tuple[str, tuple[int, int]]:
    """Return the level with most units, and how many each side has."""
    sizes = {level: (base.sampled(level), new.sampled(level)) for level in LEVELS}
    level = max(reversed(LEVELS), key=lambda name: min(sizes[name]))
    return level, sizes[level]


def _overloaded(runs: Iterable[RunProfile]) -> set[str]:
    """Return names that several kernels of one run have."""
    found = set()
    for run in runs:
        signatures: dict[str, str] = {}
        for kernel in run.kernels:
            if signatures.setdefault(kernel.name, kernel.signature) != kernel.signature:
                found.add(kernel.name)
    return found


def _by_key(
    runs: Sequence[RunProfile], overloaded: set[str], *, by_shape: bool
) -> dict[tuple[str, Shape | None], KernelSide]:
    parts: dict[tuple[str, Shape | None], list[tuple[int, KernelProfile]]] = {}
    for number, run in enumerate(runs):
        for kernel in run.kernels:
            name = kernel.signature if kernel.name in overloaded else kernel.name
            key = name, kernel.shape if by_shape else None
            parts.setdefault(key, []).append((number, kernel))
    return {key: KernelSide(tuple(found)) for key, found in parts.items()}
