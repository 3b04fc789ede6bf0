"""Whether runs are fit to be a baseline together, and how much they differ among themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ktrace_cli.analysis.compare.center import Spread, center, find_spread, noise_of
from ktrace_cli.analysis.compare.comparable import differences_of_runs, losses_of_runs
from ktrace_cli.analysis.compare.judging import choose_level
from ktrace_cli.analysis.compare.profile import LAUNCH_TIME, PhaseId, RunProfile
from ktrace_cli.analysis.compare.sides import KernelSide, pair_kernels
from ktrace_cli.errors import ExitStatus, KtraceError
from ktrace_cli.model import Losses


@dataclass(frozen=True)
class Noise:
    """By how much one more run may differ from those of a baseline."""

    kernel: str
    phase: str
    part: float
    """Of the time."""


def check_runs(runs: Sequence[RunProfile], *, allow_loss: bool) -> None:
    """Refuse runs that are no baseline.

    Raises:
        KtraceError: they are of different devices or units, empty, or not complete.
    """
    for reason in differences_of_runs(runs[:1], runs[1:]):
        raise KtraceError(
            "these runs are not one baseline",
            why=reason.text,
            fix="record all of them alike",
            status=ExitStatus.NOT_COMPARABLE,
        )
    for run in runs:
        if not run.kernels:
            raise KtraceError(
                f"{run.name} is no run to compare with",
                why="it has no traced launch",
                fix="record a program that launches annotated kernels",
            )
        losses = losses_of_runs([run])
        if losses and not allow_loss:
            known = {name: losses[name] for name in losses if hasattr(Losses, name)}
            raise KtraceError(
                f"{run.name} is not complete",
                why="; ".join(Losses(**known).sentences()),
                fix="record it again without loss, or `--allow-loss`",
                status=ExitStatus.LOSS,
            )


def find_noise(runs: Sequence[RunProfile]) -> list[Noise]:
    """Return what each phase differs by between runs, most first; [] for a single run."""
    found = []
    pairs = pair_kernels(runs, runs[:0], by_shape=True)
    for pair in pairs:
        if pair.base is None:
            continue
        has_others = sum(other.name == pair.name for other in pairs) > 1
        shown = f" ({pair.shape})" if has_others else ""
        spreads = _spreads(pair.base)
        for id_, spread in spreads.items():
            part = noise_of(spread, list(spreads.values()), len(spreads))
            found.append(Noise(f"{pair.name}{shown}", id_.name, part))
    return sorted(found, key=lambda noise: -noise.part)


def _spreads(side: KernelSide) -> dict[PhaseId, Spread]:
    """Return how much runs differ in each phase, as one more run would be compared with them."""
    level, _ = choose_level(side, side, 1)
    found = {}
    for id_ in dict.fromkeys(id_ for profile in side.profiles for id_ in profile.phases):
        runs = [center(values, level) for values in side.values_by_run(id_, level)]
        spread = find_spread(runs, [1.0]) if id_ != LAUNCH_TIME or level == "launch" else None
        if spread is not None:
            found[id_] = spread
    return found
