"""The first page: all runs, and what came of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ktrace_cli.report.blocks import cell, head, row_head, table
from ktrace_cli.report.facts import LONGEST_PATH, MODELLED, devices_of, name_kernels
from ktrace_cli.report.markup import Content, Html, code, in_full, join, rich_text, tag
from ktrace_cli.report.results import Base, Outcome, Recorded, Report, Unreadable
from ktrace_cli.report.traces import Imported
from ktrace_cli.report.verdicts import overall_text, overall_tone, verdict_badge, verdict_text
from ktrace_cli.report.whole_page import whole_page
from ktrace_cli.units import counted, format_duration

_MOST_NAMES = 4


def index_page(report: Report) -> str:
    """Return the page with all runs."""
    parts = [
        tag("h1", in_full(report.frame.title)),
        tag("p", overall_text(report), class_=f"banner {overall_tone(report)}"),
        _base(report.frame.base) if report.frame.base else None,
        _modelled(report),
        _runs_table(report),
        tag("p", tag("a", "report.json", href="report.json"), ": the same for programs"),
    ]
    return whole_page(report.frame, in_full(report.frame.title), join(parts), depth=0)


def recordings_table(outcome: Outcome) -> Html:
    """Return a table of the recordings of a folder, for the page of that folder."""
    heads = [head("recording"), *_heads()]
    rows = [
        [row_head(tag("a", in_full(one.page.title), href=f"../../{one.page.path}")), *_cells(one)]
        for one in outcome.recordings
    ]
    return table(heads, rows, f"Recordings of {in_full(outcome.page.title)}")


def _base(base: Base) -> Html:
    names = [code(name, LONGEST_PATH) for name in base.names[:_MOST_NAMES]]
    listed = [part for name in names for part in (", ", name)][1:]
    more = len(base.names) - len(names)
    rules = ", ".join(rule.text for rule in base.request.rules)
    return tag(
        "p",
        "Compared with ",
        *listed,
        f" and {more:,} more" if more else None,
        f" ({counted(len(base.runs), 'run')}); no phase may exceed ",
        code(rules),
        ".",
    )


def _modelled(report: Report) -> Html | None:
    recordings = [one for outcome in report.outcomes for one in outcome.recorded]
    modelled = [one for one in recordings if one.summary.quality.is_modelled]
    if not modelled:
        return None
    which = "all times" if len(modelled) == len(recordings) else "times that are marked so"
    text = f": {which} come from a simple model and say nothing about a GPU's speed"
    return tag("p", tag("span", MODELLED, class_="badge warn"), text)


def _runs_table(report: Report) -> Html:
    heads = [head("run"), head("verdict"), *_heads(), head("what came of it")]
    rows = [row for outcome in report.outcomes for row in _rows(outcome)]
    return table(heads, rows, "Runs", class_="runs")


def _rows(outcome: Outcome) -> Iterator[Sequence[Html]]:
    link = tag("a", in_full(outcome.page.title), href=outcome.page.path)
    is_told = outcome.problem or outcome.comparison or outcome.is_trace
    text = rich_text(verdict_text(outcome)) if is_told else ""
    start = [row_head(link), cell(verdict_badge(outcome))]
    if not outcome.plan.is_folder:
        cells = _cells(outcome.readable[0]) if outcome.readable else _no_cells()
        yield [*start, *cells, cell(text, class_="text")]
        return
    several = counted(len(outcome.recordings), "recording")
    yield [*start, cell(several), *list(_no_cells())[1:], cell(text, class_="text")]
    for one in outcome.recordings:
        inner = tag("a", in_full(one.page.title), href=one.page.path)
        yield [
            tag("th", inner, scope="row", class_="inner"), cell(""), *_cells(one), cell("")
        ]  # fmt: skip


def _heads() -> list[Html]:
    return [
        head("kernels"),
        head("device"),
        head("dispatches", is_number=True),
        head("duration", is_number=True, tip="from the first wave to the last one's end"),
        head("data", tip="whether anything is missing"),
    ]


def _cells(one: Recorded | Imported | Unreadable) -> Iterator[Html]:
    if isinstance(one, Unreadable):
        yield cell(in_full(one.problem.what), class_="text")
        yield from list(_no_cells())[1:-1]
        yield cell(tag("span", "not read", class_="badge bad"))
        return
    yield cell(name_kernels(one.kernel_names), class_="text", label="kernels")
    yield cell(devices_of(one), label="device")
    yield cell(f"{one.dispatches:,}", is_number=True, label="dispatches")
    yield cell(format_duration(one.span_ns), is_number=True, label="duration")
    yield cell(_data(one), label="data")


def _no_cells() -> Iterator[Html]:
    return (cell("") for _ in _heads())


def _data(recorded: Recorded | Imported) -> Content:
    if recorded.is_complete:
        return tag("span", "complete", class_="badge good")
    tip = "; ".join(recorded.losses)
    return tag("span", counted(len(recorded.losses), "warning"), class_="badge warn", title=tip)
