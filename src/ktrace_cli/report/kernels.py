"""What a page says of each kernel: phases, imbalance, lanes, and the rest in sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ktrace_cli.analysis.coverage import LaneUse
from ktrace_cli.analysis.histograms import Scale, find_scale, number_of
from ktrace_cli.analysis.imbalance import Imbalance
from ktrace_cli.analysis.phase_tables import Style
from ktrace_cli.analysis.phase_times import Phase
from ktrace_cli.analysis.report import UNICODE, Line
from ktrace_cli.analysis.results import KernelSummary, Summary
from ktrace_cli.analysis.summary_report import cost_lines
from ktrace_cli.analysis.unfinished_wording import unfinished_blocks
from ktrace_cli.analysis.wording import describe_place, sentences, title
from ktrace_cli.report.blocks import blocks_to_html, cell, head, row_head, table
from ktrace_cli.report.markup import NOTHING, Html, code, in_full, join, prose, rich_text, tag
from ktrace_cli.units import counted, format_time

_LEVELS = {"xcd": "XCD", "se": "SE", "cu": "CU", "workgroup": "workgroup", "wave": "wave"}
_NO_TIME = "–"


def kernel_sections(summary: Summary, top: int) -> Html:
    """Return a section for each kernel, the one that took most time first.

    Args:
        summary: of a recording.
        top: most kernels, and rows of a table; 0: all.
    """
    style = Style(summary.unit, UNICODE, top, has_self=not summary.is_window)
    shown = summary.kernels[:top] if top else summary.kernels
    parts = [
        tag("section", *_kernel(kernel, style, list(cost_lines(kernel, summary.quality))))
        for kernel in shown
    ]
    if more := len(summary.kernels) - len(shown):
        parts.append(tag("p", prose(f"and {counted(more, 'more kernel')} (`--top 0` shows all)")))
    for dispatch in summary.unfinished:
        blocks = list(unfinished_blocks(dispatch, style))
        parts.append(tag("section", blocks_to_html(blocks, "A launch that had not ended")))
    return join(parts)


def _kernel(kernel: KernelSummary, style: Style, costs: Sequence[Line]) -> Iterator[Html]:
    yield tag("h3", rich_text(title(kernel, style)))
    if in_full(kernel.signature) != in_full(kernel.name):
        yield tag("p", code(kernel.signature, 400), class_="note")
    if kernel.phases:
        yield _phase_table(kernel, style)
    levels = [level for level in kernel.imbalance if level.units > 1]
    tables = [
        _imbalance_table(levels, style) if levels else None,
        _lane_table(kernel.lanes, style) if kernel.lanes else None,
    ]
    if any(tables):
        yield tag("div", *tables, class_="beside")
    rest = [*sentences(replace(kernel, imbalance=(), lanes=()), style), *costs]
    if rest:
        yield blocks_to_html(rest, "")


@dataclass(frozen=True)
class _Field:
    """A column, and what is in it."""

    title: str
    tip: str
    value: Callable[[Phase], Html | str]
    is_number: bool = True


def _phase_table(kernel: KernelSummary, style: Style) -> Html:
    shown = kernel.phases[: style.top] if style.top else kernel.phases
    scale = find_scale(phase.times.histogram or () for phase in shown)
    fields = list(_fields(shown, style, scale))
    heads = [head("phase"), *(head(f.title, is_number=f.is_number, tip=f.tip) for f in fields)]
    rows = [
        [row_head(code(phase.name)), *(cell(f.value(phase), is_number=f.is_number) for f in fields)]
        for phase in shown
    ]
    more = len(kernel.phases) - len(shown)
    note = f"and {counted(more, 'more phase')} (`--top 0` shows all)" if more else None
    notes = [
        tag("p", prose(text), class_="note") for text in (note, _scale_note(scale, style)) if text
    ]
    return join([table(heads, rows, f"Phases of {in_full(kernel.name)}"), *notes])


def _scale_note(scale: Scale | None, style: Style) -> str | None:
    if scale is None:
        return None
    low, high = (1 << scale.first) >> 1, 1 << scale.last
    times = f"{style.time(low)} to {style.time(high)}"
    return f"spread: how often a phase takes how long, from {times}, each bar twice as long"


def _fields(phases: Sequence[Phase], style: Style, scale: Scale | None) -> Iterator[_Field]:
    if any(phase.lane for phase in phases):
        lane = "ranges on a lane may overlap with what the wave itself does"
        yield _Field("lane", lane, lambda p: code(p.lane) if p.lane else "", is_number=False)
    yield _Field("count", "how often it ran, in all waves", lambda p: f"{p.times.count:,}")
    if any(phase.unclosed for phase in phases):
        yield _Field("unclosed", "no end was recorded", lambda p: f"{p.unclosed:,}")
    if any(phase.open for phase in phases):
        tip = "had not ended when recorded; in no other number of its phase"
        yield _Field("open", tip, lambda p: f"{p.open:,}")
    yield _Field("% of waves", "of the time of all waves", _share)
    yield from _time_fields(phases, style)
    if scale is not None:
        tip = "how often it takes how long"
        yield _Field("spread", tip, lambda p: _histogram(p, scale, style), is_number=False)


def _time_fields(phases: Sequence[Phase], style: Style) -> Iterator[_Field]:
    def field(title: str, tip: str, value: Callable[[Phase], float]) -> _Field:
        return _Field(title, tip, lambda p: style.time(value(p)) if p.times.count else _NO_TIME)

    yield field("total", "of all occurrences", lambda p: p.times.total_ns)
    if style.has_self:
        yield field("self", "total without what nests inside", lambda p: p.times.self_ns)
    yield field("mean", "of an occurrence", lambda p: p.times.mean_ns)
    if all(phase.times.percentiles for phase in phases):
        yield field("median", "half take no longer", lambda p: p.times.percentile(50))
        yield field("p95", "95 % take no longer", lambda p: p.times.percentile(95))
        yield field("p99", "99 % take no longer", lambda p: p.times.percentile(99))
    yield field("max", "the longest one", lambda p: p.times.max_ns)


def _share(phase: Phase) -> Html:
    # A lane may be busy for longer than its waves last.
    width = min(max(phase.share, 0.0), 1.0) * 100
    bar = tag("rect", width=f"{width:.1f}", height=10)
    picture = tag(
        "svg", bar, class_="share", viewBox="0 0 100 10", preserveAspectRatio="none",
        aria_hidden="true",
    )  # fmt: skip
    return join([picture, f"{100 * phase.share:.1f} %"])


def _histogram(phase: Phase, scale: Scale, style: Style) -> Html:
    buckets = phase.times.histogram or ()
    most = max((bucket.count for bucket in buckets), default=0)
    bars = []
    for bucket in buckets:
        if not bucket.count:
            continue
        times = " to ".join(style.time(ns) for ns in (bucket.from_ns, bucket.below_ns))
        height = max(round(20 * bucket.count / most, 1), 1)
        place = number_of(bucket) - scale.first
        tip = tag("title", f"{times}: {bucket.count:,}")
        bars.append(
            tag("rect", tip, x=6 * place, y=f"{20 - height:g}", width=5, height=f"{height:g}")
        )
    width = 6 * (scale.last - scale.first + 1)
    return tag(
        "svg", *bars, class_="spread", width=width, height=20, viewBox=f"0 0 {width} 20",
        aria_hidden="true",
    )  # fmt: skip


def _imbalance_table(levels: Sequence[Imbalance], style: Style) -> Html:
    heads = [
        head("imbalance", tip="how long units of hardware and of the launch are busy"),
        head("units", is_number=True),
        head("mean", is_number=True, tip="time of a unit"),
        head("slowest", is_number=True),
        head("to the mean", is_number=True),
        head("which"),
    ]
    rows = [
        [
            row_head(_LEVELS[level.level]),
            cell(f"{level.units:,}", is_number=True),
            cell(style.time(level.mean_ns), is_number=True),
            cell(style.time(level.max_ns), is_number=True),
            cell(f"{level.ratio:.2f} x", is_number=True),
            cell(_place(level)),
        ]
        for level in levels
    ]
    return table(heads, rows, "How evenly the time is spread")


def _place(level: Imbalance) -> Html | str:
    place = level.slowest
    x, y, z = place.workgroup
    names = {
        "xcd": f"XCD {place.xcd}",
        "se": f"XCD {place.xcd} SE {place.se}",
        "cu": f"XCD {place.xcd} SE {place.se} CU {place.cu}",
        "workgroup": f"workgroup {x},{y},{z} of dispatch {place.dispatch}",
    }
    return names.get(level.level) or rich_text(describe_place(place))


def _lane_table(lanes: Sequence[LaneUse], style: Style) -> Html:
    shown = lanes[: style.top] if style.top else lanes
    tips = {
        "in flight": "something on the lane was under way",
        "overlapped": "while other phases of the wave ran",
        "waiting": "while the wave waited",
        "beside": "beside other lanes only",
        "exposed": "nothing else ran",
    }
    heads = [head("lane"), *(head(name, is_number=True, tip=tip) for name, tip in tips.items())]
    rows = [[row_head(code(lane.lane)), *_lane_cells(lane, style)] for lane in shown]
    more = len(lanes) - len(shown)
    note = tag("p", f"and {counted(more, 'more lane')}", class_="note") if more else NOTHING
    return join([table(heads, rows, "What lanes overlap with"), note])


def _lane_cells(lane: LaneUse, style: Style) -> Iterator[Html]:
    yield cell(format_time(lane.in_flight_ns, style.unit), is_number=True)
    whole = max(lane.in_flight_ns, 1)
    for ns in (lane.overlapped_ns, lane.waiting_ns, lane.beside_ns, lane.exposed_ns):
        yield cell(f"{100 * ns / whole:.1f} %", is_number=True)
