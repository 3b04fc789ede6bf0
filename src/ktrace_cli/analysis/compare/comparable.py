"""Whether two sides can be compared at all: same device, unit, shapes, kernels and phases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ktrace_cli.analysis.compare.profile import PhaseId, RunProfile
from ktrace_cli.analysis.compare.results import Difference, Reason, named
from ktrace_cli.analysis.compare.sides import KernelSide, Pair
from ktrace_cli.model import Losses

HARMLESS = {
    *("unmatched_edges", "unknown_edges", "uncertain_edges", "backward_arrows"),
    "stray_values",
    "out_of_window",  # where waves are on the host's clock; how long they take is right
}
"""Losses that change no count or length of a phase."""
_MOST_NAMED = 3


def differences_of_runs(base: Sequence[RunProfile], new: Sequence[RunProfile]) -> Iterator[Reason]:
    """Yield why numbers of these runs mean different things."""
    # A run without launches has no device; that it has none is said elsewhere.
    first, *others = [run for run in [*base, *new] if run.kernels] or base[:1]
    for run in others:
        if run.unit != first.unit:
            yield Reason(
                Difference.UNIT,
                f"{named(run.name)} is in {run.unit}, {named(first.name)} in {first.unit}",
                "name the unit of the baseline by `--unit`, or make it again in the other one",
            )
            return
        if run.is_modelled != first.is_modelled:
            modelled, measured = (run, first) if run.is_modelled else (first, run)
            yield Reason(
                Difference.MODELLED,
                f"times of {named(modelled.name)} are modelled by the software device, those of"
                f" {named(measured.name)} were measured on hardware",
                "record both on the same kind of device",
            )
            return
        ours, theirs = ([*map(named, sorted(set(map(str, d.devices))))] for d in (first, run))
        if ours != theirs:
            yield Reason(
                Difference.TARGET,
                f"{named(run.name)} ran on {_some(theirs) or 'no device'}, {named(first.name)} on"
                f" {_some(ours) or 'no device'}",
                "record both on the same kind of device, or `--allow-different target`",
            )
            return


def losses_of_runs(runs: Sequence[RunProfile]) -> dict[str, int]:
    """Return what runs lack that counts or times depend on, added up."""
    found: dict[str, int] = {}
    for run in runs:
        for name, count in run.losses.items():
            if name not in HARMLESS:
                found[name] = found.get(name, 0) + count
    return found


def loss_reasons(base: Sequence[RunProfile], new: Sequence[RunProfile]) -> Iterator[Reason]:
    """Yield which sides lack something."""
    for side, runs in (("base", base), ("new", new)):
        if losses := losses_of_runs(runs):
            known = {name: n for name, n in losses.items() if name in Losses.__dataclass_fields__}
            words = Losses(**known).sentences() + sorted(set(losses) - set(known))
            yield Reason(
                Difference.LOSS,
                f"the {side} side is not complete: {_some(words, '; ')}",
                f"record again without loss{_remedy(losses)}, or `--allow-loss`",
            )


def _remedy(losses: Mapping[str, int]) -> str:
    """Return what helps against words that did not fit; other losses have other causes."""
    is_full = "dropped_words" in losses
    return ", for example with `ktrace run --buffer` larger" if is_full else ""


def differences_of_pairs(pairs: Sequence[Pair]) -> Iterator[Reason]:
    """Yield which kernels and shapes only one side has, and whose code differs."""
    by_name: dict[str, list[Pair]] = {}
    for pair in pairs:
        by_name.setdefault(pair.name, []).append(pair)
    for name, own in by_name.items():
        yield from _differences_of_kernel(name, own)


def vanished_and_added(pairs: Sequence[Pair]) -> tuple[list[str], list[str]]:
    """Return the names of kernels that only the base has, and that only the new side has."""
    on_base = dict.fromkeys(pair.name for pair in pairs if pair.base)
    on_new = dict.fromkeys(pair.name for pair in pairs if pair.new)
    return [n for n in on_base if n not in on_new], [n for n in on_new if n not in on_base]


def table_difference(base: KernelSide, new: KernelSide) -> tuple[list[PhaseId], list[PhaseId]]:
    """Return the phases that only the base's code has, and that only the new code has."""
    ours, theirs = base.table, new.table
    return [id_ for id_ in ours if id_ not in theirs], [id_ for id_ in theirs if id_ not in ours]


def _differences_of_kernel(name: str, pairs: Sequence[Pair]) -> Iterator[Reason]:
    bases = [pair.base for pair in pairs if pair.base]
    news = [pair.new for pair in pairs if pair.new]
    if not news:
        yield Reason(
            Difference.KERNELS,
            f"kernel {named(name)} did not run on the new side",
            "record the same program, or `--allow-different kernels`",
        )
        return
    if not bases:
        return
    if len(bases) != len(pairs) or len(news) != len(pairs):
        ours = sorted(str(pair.shape) for pair in pairs if not pair.new)
        theirs = sorted(str(pair.shape) for pair in pairs if not pair.base)
        only = [f"{_some(ours)} on the base side only"] if ours else []
        only += [f"{_some(theirs)} on the new side only"] if theirs else []
        yield Reason(
            Difference.SHAPE,
            f"kernel {named(name)} was launched with other shapes: {', '.join(only)}",
            "record the same problem size, or `--allow-different shape`",
        )
    yield from _differences_of_code(name, bases, news)


def _differences_of_code(
    name: str, bases: Sequence[KernelSide], news: Sequence[KernelSide]
) -> Iterator[Reason]:
    ours, theirs = (
        {profile.target for side in sides for profile in side.profiles if profile.target}
        for sides in (bases, news)
    )
    if ours and theirs and ours != theirs:
        yield Reason(
            Difference.TARGET,
            f"kernel {named(name)} is compiled for {_some([*map(named, sorted(theirs))])} on the"
            f" new side, for {_some([*map(named, sorted(ours))])} on the base side",
            "build for the same target, or `--allow-different target`",
        )
    base = KernelSide(tuple(part for side in bases for part in side.parts))
    new = KernelSide(tuple(part for side in news for part in side.parts))
    gone, came = table_difference(base, new)
    if gone or came:
        only = [f"{_some([named(i.name) for i in gone])} in the base's only"] if gone else []
        only += [f"{_some([named(i.name) for i in came])} in the new one only"] if came else []
        yield Reason(
            Difference.EVENTS,
            f"the code of kernel {named(name)} has other phases: {', '.join(only)}",
            "make a new baseline, or `--allow-different events` to compare the others",
        )


def _some(names: Sequence[str], separator: str = ", ") -> str:
    more = len(names) - _MOST_NAMED
    return separator.join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
