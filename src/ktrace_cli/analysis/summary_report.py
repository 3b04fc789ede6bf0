"""A summary as headings, sentences and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from ktrace_cli.analysis.phase_tables import Style, histogram_blocks, phase_table, unit_table
from ktrace_cli.analysis.quality import ClockQuality, Quality
from ktrace_cli.analysis.report import Block, Heading, Line, Name
from ktrace_cli.analysis.results import NANOSECONDS, KernelSummary, Summary
from ktrace_cli.analysis.tracing_cost import cost_sentences
from ktrace_cli.analysis.unfinished_wording import unfinished_blocks
from ktrace_cli.analysis.wording import sentences, title
from ktrace_cli.errors import UsageError
from ktrace_cli.units import counted

_MOST_LISTED = 8
_WINDOW = "phases and marks of a window of time only; waves and launches are whole, also in shares"


def write_report(summary: Summary, style: Style, histograms: Sequence[str] = ()) -> list[Block]:
    """Return all that a summary says.

    Args:
        summary: what to tell.
        style: how.
        histograms: shell patterns of phases to draw large histograms of.

    Raises:
        UsageError: one of `histograms` matches no phase.
    """
    _check(summary, histograms)
    blocks: list[Block] = [Line((quality_line(summary.quality, len(summary.devices)),))]
    if summary.unit != NANOSECONDS:
        text = "times in cycles of the core clock (cy); clocks of different XCCs are not aligned"
        blocks.append(Line((text,)))
    if summary.is_window:
        blocks.append(Line((_WINDOW,)))
    shown = summary.kernels[: style.top] if style.top else summary.kernels
    for kernel in shown:
        blocks += _kernel(kernel, summary, style, histograms)
    if more := len(summary.kernels) - len(shown):
        text = f"and {counted(more, 'more kernel')} (`--top 0` shows all)"
        blocks.append(Heading((text,)))
    for dispatch in summary.unfinished:
        blocks += unfinished_blocks(dispatch, style)
    return blocks


def _kernel(
    kernel: KernelSummary, summary: Summary, style: Style, histograms: Sequence[str]
) -> Iterator[Block]:
    yield Heading(title(kernel, style))
    if kernel.phases:
        yield from phase_table(kernel, style)
    yield from sentences(kernel, style)
    yield from cost_lines(kernel, summary.quality)
    if kernel.units:
        is_lane = summary.unit_columns == ("lane",)
        yield from unit_table(kernel, summary.unit_columns, is_lane, style)
    chosen = [phase for phase in kernel.phases if _matches(phase.name, histograms)]
    yield from histogram_blocks(kernel, chosen, style)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _check(summary: Summary, histograms: Sequence[str]) -> None:
    names = sorted({phase.name for kernel in summary.kernels for phase in kernel.phases})
    for pattern in histograms:
        if not any(_matches(name, [pattern]) for name in names):
            listed = ", ".join(names[:_MOST_LISTED])
            more = len(names) - _MOST_LISTED
            rest = f" and {more} more" if more > 0 else ""
            raise UsageError(
                f"`--histogram {pattern}` matches no phase",
                why=f"the phases are {listed}{rest}" if names else "there is no phase",
                fix="name one of these" if names else "read another recording",
            )


def quality_line(quality: Quality, devices: int) -> str:
    """Say how far numbers can be trusted, in one line."""
    clocks = [_clock(clock, is_one=devices == 1) for clock in quality.clocks]
    error = 100 * quality.percentile_error
    percentiles = f"percentiles within {error:.1f} %" if error else "percentiles exact"
    return "; ".join([f"quality: {_missing(quality)}", *clocks, percentiles, _tracing(quality)])


def _tracing(quality: Quality) -> str:
    cost = quality.tracing_cost
    if cost is None:
        return "tracing cost not measured"
    return f"tracing cost estimated by a selftest ({cost.selftest.describe()})"


def cost_lines(kernel: KernelSummary, quality: Quality) -> Iterator[Line]:
    """Say what tracing costs a kernel; nothing where no selftest tells."""
    cost = quality.tracing_cost.of(kernel) if quality.tracing_cost else None
    if cost is not None:
        for before, name, behind in cost_sentences(cost):
            yield Line((before, Name(name), behind), 1) if name else Line((before,))


def _missing(quality: Quality) -> str:
    if quality.is_complete:
        return "nothing is missing"
    counts = [
        (quality.dropped_words, counted(quality.dropped_words, "word") + " dropped"),
        (quality.truncated_waves, counted(quality.truncated_waves, "wave") + " truncated"),
        (quality.overwritten_words, counted(quality.overwritten_words, "word") + " overwritten"),
        (quality.unpaired, f"{quality.unpaired:,} unpaired"),
        (quality.other_losses, counted(quality.other_losses, "other warning")),
    ]
    return ", ".join(text for count, text in counts if count)


def _clock(clock: ClockQuality, *, is_one: bool) -> str:
    name = "clock" if is_one else f"clock of device {clock.device}"
    skew = clock.largest_skew_ns
    apart = f", XCCs {_ns(skew)} apart (corrected)" if skew else ""
    return f"{name} ({clock.method}) off its fit by at most {_ns(clock.residual_ns)}{apart}"


def _ns(ns: float) -> str:
    return f"{ns:.1f} ns"
