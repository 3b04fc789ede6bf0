"""The page of a run: what came of it, what it took, and how far that can be believed."""

from __future__ import annotations

from collections.abc import Iterator

from ktrace_cli.analysis.summary_report import quality_line
from ktrace_cli.report.blocks import blocks_to_html
from ktrace_cli.report.facts import facts_list, facts_of
from ktrace_cli.report.index_page import recordings_table
from ktrace_cli.report.kernels import kernel_sections
from ktrace_cli.report.markup import Html, in_full, join, prose, rich_text, tag
from ktrace_cli.report.results import Base, Frame, Outcome, Recorded
from ktrace_cli.report.traces import Imported, facts_of_trace, trace_kernels, trace_quality
from ktrace_cli.report.tracing_cost import Selftest, cost_of_tracing
from ktrace_cli.report.verdicts import comparison_blocks, verdict_badge, verdict_text
from ktrace_cli.report.whole_page import whole_page

DIFF, SUMMARY = "diff.json", "summary.json"
"""Files beside a page."""


def outcome_page(outcome: Outcome, frame: Frame) -> str:
    """Return the page of a run, which has one recording, or several, or none that can be read."""
    title = in_full(outcome.page.title)
    parts = [tag("h1", title, " ", verdict_badge(outcome))]
    if outcome.problem or outcome.comparison or outcome.is_trace:
        parts.append(tag("p", rich_text(verdict_text(outcome)), class_="lead"))
    if outcome.problem and outcome.problem.fix:
        parts.append(tag("p", "try: ", prose(in_full(outcome.problem.fix)), class_="note"))
    own = [one for one in outcome.recorded if one.page == outcome.page]
    traces = [one for one in outcome.readable if isinstance(one, Imported)]
    traces = [one for one in traces if one.page == outcome.page]
    parts += [facts_list(facts_of(recorded)) for recorded in own]
    if outcome.comparison and frame.base:
        parts.append(_comparison(outcome, frame.base, frame.top))
    if outcome.plan.is_folder:
        parts.append(_section("recordings", "Recordings", recordings_table(outcome)))
    for recorded in own:
        parts += _contents(recorded, frame)
    for trace in traces:
        parts += _of_trace(trace, frame)
    parts.append(_files(outcome, own))
    return whole_page(frame, title, join(parts), depth=2)


def recording_page(recorded: Recorded, outcome: Outcome, frame: Frame) -> str:
    """Return the page of one recording of a folder."""
    title = in_full(recorded.page.title)
    of = tag("a", in_full(outcome.page.title), href=f"../../{outcome.page.path}")
    parts = [
        tag("h1", title),
        tag("p", "a recording of ", of, ", which is compared as a whole", class_="lead"),
        facts_list(facts_of(recorded)),
        *_contents(recorded, frame),
        _section("files", "Files", tag("ul", *_own_files(recorded))),
    ]
    return whole_page(frame, title, join(parts), depth=2)


def _section(name: str, title: str, *content: Html | str) -> Html:
    return tag("section", tag("h2", title, id=f"{name}-title"), *content, id=name)


def _comparison(outcome: Outcome, base: Base, top: int) -> Html:
    blocks = list(comparison_blocks(outcome, base, top))
    shown = blocks_to_html(blocks, "Phases compared with the baseline")
    return _section("comparison", "Compared with the baseline", shown)


def _contents(recorded: Recorded, frame: Frame) -> list[Html]:
    kernels = kernel_sections(recorded.summary, frame.top)
    if not recorded.summary.kernels:
        kernels = tag("p", "Nothing was recorded.")
    hint = tag(
        "p",
        "Times are added over all waves, although these run at the same time.",
        class_="note",
    )
    return [
        _section("kernels", "Kernels", hint, kernels),
        _timeline(recorded),
        _quality(recorded, frame.selftest),
    ]


def _of_trace(trace: Imported, frame: Frame) -> list[Html]:
    return [
        facts_list(facts_of_trace(trace)),
        _section("kernels", "Kernels", trace_kernels(trace, frame.top)),
        _section("quality", "Data quality", trace_quality(trace)),
    ]


def _timeline(recorded: Recorded) -> Html:
    file, note = recorded.timeline.file, recorded.timeline.note
    if file is None:
        return _section("timeline", "Timeline", tag("p", prose(f"There is none: {note}.")))
    link = tag("a", "open it on a page of its own", href=file)
    about = tag("p", "Zoom with the wheel, move by dragging, press ? for keys; or ", link, ".")
    frame = tag(
        "iframe", src=file, title=f"timeline of {in_full(recorded.page.title)}", loading="lazy"
    )
    notes = [tag("p", prose(note[:1].upper() + note[1:] + "."), class_="note")] if note else []
    return _section("timeline", "Timeline", about, *notes, frame)


def _quality(recorded: Recorded, selftest: Selftest | None) -> Html:
    tone, text = (
        ("good", "complete") if recorded.is_complete else ("warn", "missing, repaired or assumed")
    )
    losses = [
        tag("li", prose(loss[:1].upper() + loss[1:]), class_="loss") for loss in recorded.losses
    ]
    notes = [tag("li", prose(note[:1].upper() + note[1:])) for note in recorded.notes]
    summary = recorded.summary
    line = quality_line(summary.quality, len(summary.devices)).removeprefix("quality: ")
    # Its first part counts what the sentences tell.
    parts = line.split("; ")[0 if recorded.is_complete else 1 :]
    told = [tag("li", part[:1].upper() + part[1:]) for part in parts]
    badge = tag("p", tag("span", text, class_=f"badge {tone}"))
    facts = tag("ul", *losses, *notes, *told)
    return _section("quality", "Data quality", badge, facts, *_cost(recorded, selftest))


def _cost(recorded: Recorded, selftest: Selftest | None) -> Iterator[Html]:
    if selftest is None:
        return
    yield tag("h3", "What tracing costs")
    if recorded.misfit:
        yield tag("p", prose(f"Not known: {in_full(recorded.misfit)}."))
    else:
        yield from cost_of_tracing(selftest)


def _files(outcome: Outcome, own: list[Recorded]) -> Html:
    items = [item for recorded in own for item in _own_files(recorded)]
    if outcome.comparison:
        items.append(_file(DIFF, "the comparison, as `ktrace diff --json` prints it"))
    items.append(_file("../../report.json", "all runs and verdicts"))
    return _section("files", "Files", tag("ul", *items))


def _own_files(recorded: Recorded) -> Iterator[Html]:
    yield _file(SUMMARY, "the numbers, as `ktrace summary --json` prints them")
    if recorded.timeline.file:
        yield _file(recorded.timeline.file, "the interactive timeline")


def _file(path: str, what: str) -> Html:
    return tag("li", tag("a", path.rpartition("/")[2], href=path), ": ", prose(what))
