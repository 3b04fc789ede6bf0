"""A comparison as headings, sentences and tables; its first line is the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ktrace_cli.analysis.compare.profile import LAUNCH_TIME, PhaseId
from ktrace_cli.analysis.compare.results import (
    Comparison,
    Difference,
    KernelComparison,
    Reason,
    Renamed,
    Row,
    Side,
    Status,
    Verdict,
)
from ktrace_cli.analysis.compare.row_table import both, change_of, row_table
from ktrace_cli.analysis.report import Block, Heading, Line, Name, Text
from ktrace_cli.units import counted, format_time

_NOTES = {
    Status.UNPROVEN: "not significant: chance alone gives such differences too often (test of Mann"
    " and Whitney at 5 %, corrected for the number of phases)",
    Status.WITHIN_NOISE: "within the noise: runs of one side differ as much among themselves",
    Status.BELOW_FLOOR: "below the floor: the change is shorter than two ticks of the clock tell",
    Status.TOO_FEW: "too few to tell: more than allowed, but so few units show nothing",
    Status.SLOWER: "slower: no `--fail-on` is about it",
}
_NOISE_UNKNOWN = (
    "one run on each side: how much runs differ although nothing has changed is not known"
    " (`ktrace baseline` of several runs tells)"
)
_FEW_ROWS = 10
_MOST_FILES = 4


def write_comparison(result: Comparison, top: int) -> tuple[Line, list[Block]]:
    """Return the verdict, and what it rests on.

    Args:
        result: what to tell.
        top: most rows of a table, and kernels; 0: all.
    """
    blocks: list[Block] = [
        Line(("try: ", reason.fix), indent=2) for reason in _distinct_fixes(result.reasons)
    ]
    blocks += _sides(result)
    blocks += [Line(("allowed: ", *_names(reason.text))) for reason in result.allowed]
    blocks += _kernels_of_one_side(result)
    shown = result.kernels[:top] if top else result.kernels
    for kernel in shown:
        blocks += _kernel(kernel, result.unit, top)
    if more := len(result.kernels) - len(shown):
        blocks.append(Heading((f"and {counted(more, 'more kernel')} (`--top 0` shows all)",)))
    return Line(verdict_line(result)), blocks


def verdict_line(result: Comparison) -> Text:
    """Say what came out, in one sentence that needs no other."""
    if result.verdict is Verdict.NOT_COMPARABLE:
        first = result.reasons[0]
        more = f" (and {len(result.reasons) - 1:,} more)" if len(result.reasons) > 1 else ""
        what = "NOT DECIDED" if first.kind is Difference.FEW else "NOT COMPARABLE"
        return (f"{what}: ", *_names(first.text), more)
    phases = counted(len(result.rows()), "phase")
    faster = len(result.rows(Status.FASTER))
    also = f"; {counted(faster, 'phase')} became faster" if faster else ""
    doubtful = sum(
        row.change_ns > 0 for _, row in result.rows(Status.UNPROVEN, Status.WITHIN_NOISE)
    )
    if doubtful:
        looks = "phase looks" if doubtful == 1 else "phases look"
        also += f"; {doubtful:,} {looks} slower, which chance or noise explains"
    regressed = result.rows(Status.REGRESSED)
    if not regressed:
        return (f"PASSED: none of {phases} became slower than allowed", *_limits(result), also)
    kernel, row = regressed[0]
    times = both(*(format_time(side.wave_ns, result.unit) for side in (row.base, row.new)))
    unit = "launch" if row.id == LAUNCH_TIME else "wave"
    which = ": " if len(regressed) == 1 else ", first of all "
    return (
        f"REGRESSED: {len(regressed):,} of {phases} became slower than allowed{which}",
        *(Name(row.id.name), " of ", Name(kernel.name)),
        f" {change_of(row)} ({times} per {unit}){also}",
    )


def _limits(result: Comparison) -> Text:
    rules: list[str | Name] = []
    for rule in result.rules:
        rules += [", " if rules else " (", Name(rule)]
    return (*rules, ")")


def _distinct_fixes(reasons: Sequence[Reason]) -> list[Reason]:
    return list({reason.fix: reason for reason in reasons}.values())


def _names(text: str) -> Text:
    """Take what is in backticks as names."""
    parts = text.split("`")
    return tuple(Name(part) if place % 2 else part for place, part in enumerate(parts) if part)


def _sides(result: Comparison) -> Iterator[Line]:
    for reason in result.reasons[1:]:
        yield Line(("also: ", *_names(reason.text)))
    for title, side in (("base", result.base), ("new", result.new)):
        yield Line((f"{title}: ", *_runs(side)))
    is_noise_known = any(row.noise is not None for _, row in result.rows())
    if result.kernels and not (is_noise_known or result.base.is_modelled):
        yield Line((_NOISE_UNKNOWN,))


def _runs(side: Side) -> Text:
    files = list(dict.fromkeys(side.runs))
    names: list[str | Name] = []
    for name in files[:_MOST_FILES]:
        names += [", " if names else "", Name(name)]
    more = f" and {len(files) - _MOST_FILES:,} more" if len(files) > _MOST_FILES else ""
    times = "modelled times (software device)" if side.is_modelled else "measured times"
    return (*names, f"{more}; {counted(len(side.runs), 'run')}, {times}")


def _kernels_of_one_side(result: Comparison) -> Iterator[Line]:
    renamed = {one.base: one for one in result.renamed_kernels}
    for name in result.vanished_kernels:
        yield Line(("kernel ", Name(name), " ran on the base side only", *_maybe(renamed, name)))
    for name in result.added_kernels:
        yield Line(("kernel ", Name(name), " ran on the new side only"))


def _maybe(renamed: Mapping[str, Renamed], name: str) -> Text:
    if name not in renamed:
        return ()
    return ("; maybe it is ", Name(renamed[name].new), f" now: {renamed[name].why}")


def _kernel(kernel: KernelComparison, unit: str, top: int) -> Iterator[Block]:
    shape = f" ({kernel.shape})" if kernel.shape and kernel.has_other_shapes else ""
    yield Heading((Name(kernel.name), shape, ": ", _compared(kernel)))
    shown = _shown(kernel.rows, top)
    if shown:
        yield row_table(kernel, shown, unit)
    left_out = kernel.rows[len(shown) :]
    if left_out:
        same = sum(row.status is Status.SAME for row in left_out)
        more = counted(len(left_out), "phase" if not shown else "more phase")
        which = "all" if same == len(left_out) else f"{same:,} of them"
        yield Line((f"{'and ' if shown else ''}{more}, {which} the same (`--top 0` shows all)",))
    statuses = {row.status for row in shown}
    for status, note in _NOTES.items():
        if status in statuses:
            yield Line((note,))
    yield from _phases_of_one_side(kernel)


def _shown(rows: Sequence[Row], top: int) -> Sequence[Row]:
    """Return the first rows; what is the same only where there is little else."""
    if not top or len(rows) <= min(top, _FEW_ROWS):
        return rows
    return [row for row in rows if row.status is not Status.SAME][:top]


def _compared(kernel: KernelComparison) -> str:
    many = "launches" if kernel.level == "launch" else ""
    base = counted(kernel.base_sampled, kernel.level, many)
    sizes = f"{base} with {kernel.new_sampled:,}"
    is_drawn = kernel.base_sampled < kernel.base_units or kernel.new_sampled < kernel.new_units
    drawn = f", drawn from {kernel.base_units:,} and {kernel.new_units:,}" if is_drawn else ""
    if kernel.level == "launch":
        return f"compared {sizes}{drawn}"
    launches = f"{kernel.base_launches:,} and {kernel.new_launches:,}"
    return f"compared {sizes}{drawn}, as launches are too few ({launches})"


def _phases_of_one_side(kernel: KernelComparison) -> Iterator[Line]:
    renamed = {one.base: one for one in kernel.renamed}
    for id_ in kernel.vanished:
        maybe = _maybe(renamed, id_.name)
        yield Line(("vanished: ", *_phase(id_), " is not in the new code", *maybe))
    for id_ in kernel.added:
        yield Line(("new: ", *_phase(id_), " is not in the base's code"))
    for id_ in kernel.stopped:
        yield Line((*_phase(id_), " did not run on the new side; its code is there"))
    for id_ in kernel.started:
        yield Line((*_phase(id_), " did not run on the base side; its code is there"))


def _phase(id_: PhaseId) -> Text:
    return (Name(id_.name), " on lane ", Name(id_.lane)) if id_.lane else (Name(id_.name),)
