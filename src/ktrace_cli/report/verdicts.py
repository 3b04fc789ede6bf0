"""What is said of comparisons, the same on pages, in the step summary and in the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from ktrace_cli.analysis.compare.report import verdict_line, write_comparison
from ktrace_cli.analysis.compare.results import Verdict
from ktrace_cli.analysis.report import Block, Line, Name, Text
from ktrace_cli.errors import ExitStatus
from ktrace_cli.report.markup import Html, in_full, tag
from ktrace_cli.report.results import Base, Outcome, Report
from ktrace_cli.units import counted, format_time

_TONES = {Verdict.PASSED: "good", Verdict.REGRESSED: "bad", Verdict.NOT_COMPARABLE: "warn"}


def verdict_text(outcome: Outcome) -> Text:
    """Say in one sentence what came of a run."""
    if outcome.problem:
        why = f" ({in_full(outcome.problem.why)})" if outcome.problem.why else ""
        what = "NO VERDICT" if outcome.readable else "NOT READ"
        return (f"{what}: {in_full(outcome.problem.what)}{why}",)
    if outcome.comparison:
        return verdict_line(outcome.comparison)
    if outcome.is_trace:
        return ("not compared: a trace of another tool has no phases",)
    return ("not compared: no `--baseline` was named",)


def verdict_badge(outcome: Outcome) -> Html:
    """Say it in one or two words."""
    if outcome.problem:
        return tag("span", "no verdict" if outcome.readable else "not read", class_="badge bad")
    if outcome.verdict is None:
        return tag("span", "not compared", class_="badge none")
    return tag("span", outcome.verdict.value, class_=f"badge {_TONES[outcome.verdict]}")


def overall_tone(report: Report) -> str:
    """Return what the whole is like: good, bad, warn or none."""
    if report.problems or report.count(Verdict.REGRESSED):
        return "bad"
    if report.count(Verdict.NOT_COMPARABLE) or _is_nothing_compared(report):
        return "warn"
    return "good" if report.frame.base else "none"


def overall_text(report: Report) -> str:
    """Say in one sentence what came of all runs, the worst first."""
    runs = counted(len(report.outcomes), "run")
    regressed, different = (
        report.count(verdict) for verdict in (Verdict.REGRESSED, Verdict.NOT_COMPARABLE)
    )
    parts = []
    if regressed:
        parts.append(f"REGRESSED: {regressed:,} of {runs}")
    if report.problems:
        parts.append(f"NO VERDICT: {len(report.problems):,} of {runs}")
    if different:
        parts.append(f"NOT COMPARABLE: {different:,} of {runs}")
    if _is_nothing_compared(report):
        parts.append("NOT COMPARABLE: there is no recording to compare")
    if parts:
        return "; ".join(parts)
    if not report.frame.base:
        return f"{runs}, not compared"
    traces = sum(outcome.is_trace for outcome in report.outcomes)
    others = f"; {counted(traces, 'trace')} of other tools not compared" if traces else ""
    return f"PASSED: {counted(report.count(Verdict.PASSED), 'run')}{others}"


def _is_nothing_compared(report: Report) -> bool:
    """Tell whether a comparison was asked for, and there are only traces of other tools."""
    return bool(report.frame.base) and all(outcome.is_trace for outcome in report.outcomes)


def exit_status(report: Report) -> ExitStatus:
    """Return what the command exits with: the worst that came of any run."""
    if report.count(Verdict.REGRESSED):
        return ExitStatus.REGRESSED
    if report.problems:
        return report.problems[0].status or ExitStatus.FAILED
    if report.count(Verdict.NOT_COMPARABLE) or _is_nothing_compared(report):
        return ExitStatus.NOT_COMPARABLE
    return ExitStatus.DONE


def comparison_blocks(outcome: Outcome, base: Base, top: int) -> Iterator[Block]:
    """Yield all that a verdict rests on, but for its sentence."""
    assert outcome.comparison is not None
    _, blocks = write_comparison(outcome.comparison, top)
    yield from blocks
    yield Line(("limits: ", *_limits(base)))
    if base.noise:
        worst, middle = base.noise[0], base.noise[len(base.noise) // 2]
        yield Line(
            (
                f"noise of the baseline: one more run may differ by {100 * worst.part:.1f} %"
                " although nothing has changed (",
                *(Name(worst.phase), " of ", Name(worst.kernel)),
                f"), half of the phases by {100 * middle.part:.1f} % or less",
            )
        )


def _limits(base: Base) -> Text:
    parts: list[str | Name] = []
    for rule in base.request.rules:
        parts += [", " if parts else "", Name(rule.text)]
    unit = base.runs[0].unit
    floor = base.request.floor
    least = "two ticks of the clock" if floor is None else format_time(floor, unit)
    return (*parts, f"; changes of an occurrence up to {least} are ignored")
