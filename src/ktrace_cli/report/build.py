"""Recordings to a site: reads each once, writes its pages, and keeps only what they say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from ktrace_cli.analysis.compare.compare import compare
from ktrace_cli.analysis.compare.document import to_document as diff_document
from ktrace_cli.analysis.compare.measure import measure
from ktrace_cli.analysis.compare.profile import RunProfile
from ktrace_cli.analysis.compare.results import Comparison
from ktrace_cli.analysis.compare.sides import only_kernels
from ktrace_cli.analysis.document import to_document as summary_document
from ktrace_cli.analysis.results import NANOSECONDS
from ktrace_cli.analysis.summary import summarize
from ktrace_cli.errors import KtraceError
from ktrace_cli.export.html.tables import notes_on_parts
from ktrace_cli.importers.inputs import TraceInput
from ktrace_cli.model import Timeline
from ktrace_cli.progress import Advance
from ktrace_cli.report.document import report_document
from ktrace_cli.report.index_page import index_page
from ktrace_cli.report.pages import Page, RunPlan
from ktrace_cli.report.results import Base, Frame, Outcome, Recorded, Report, Unreadable
from ktrace_cli.report.run_page import DIFF, SUMMARY, outcome_page, recording_page
from ktrace_cli.report.site import LIST, Site
from ktrace_cli.report.timelines import write_timeline
from ktrace_cli.report.traces import Imported, import_traces
from ktrace_cli.report.tracing_cost import with_cost
from ktrace_cli.timeline.cycles import in_cycles
from ktrace_cli.timeline.progress import with_progress
from ktrace_cli.trace_file.recording import Recording


@dataclass(frozen=True)
class Loaded:
    """A recording, and what of it was selected."""

    recording: Recording
    timeline: Timeline
    """In nanoseconds."""
    notes: tuple[str, ...]
    """Sentences on what was selected."""


@dataclass(frozen=True)
class Asked:
    """What a report shall be like."""

    frame: Frame
    unit: str
    """Of times: `ns`, or `cycles` of the core clock."""
    kernels: Sequence[str]
    """Patterns: only these are compared; () for all."""
    most_in_timeline: int
    """Ranges and marks; 0: there is no timeline."""


@dataclass(frozen=True)
class Reading:
    """How recordings are read: whoever calls tells the user meanwhile."""

    load: Callable[[Path], Loaded | Sequence[TraceInput]]
    """What a file or folder holds: a recording, or traces of other tools, at least one."""
    watch: Callable[[str], AbstractContextManager[Advance]]


def write_site(site: Site, runs: Sequence[RunPlan], asked: Asked, reading: Reading) -> Report:
    """Write all pages. A run that cannot be read has a page that says so."""
    outcomes = []
    for run in runs:
        outcome = _report_run(site, run, asked, reading)
        outcomes.append(outcome)
        _write_pages(site, outcome, asked.frame)
    report = Report(asked.frame, tuple(outcomes))
    site.write("index.html", index_page(report))
    site.write_json(LIST, report_document(report, [*site.files(), LIST]))
    return report


def _report_run(site: Site, run: RunPlan, asked: Asked, reading: Reading) -> Outcome:
    recordings: list[Recorded | Imported | Unreadable] = []
    profiles: list[RunProfile] = []
    for path, page in run.recordings:
        try:
            recorded, profile = _report_recording(site, path, page, asked, reading)
        except KtraceError as found:
            recordings.append(Unreadable(path, page, found))
            continue
        recordings.append(recorded)
        profiles += [profile] if profile else []
    problem = run.problem or next(
        (one.problem for one in recordings if isinstance(one, Unreadable)), None
    )
    comparison = None
    if asked.frame.base and profiles and not problem:
        try:
            comparison = _compare(asked.frame.base, profiles, asked.kernels)
        except KtraceError as refusal:  # such as a rule that is about nothing here
            problem = refusal
    return Outcome(run, tuple(recordings), comparison, problem)


def _compare(base: Base, profiles: Sequence[RunProfile], kernels: Sequence[str]) -> Comparison:
    sides = [list(base.runs), list(profiles)]
    olds, news = only_kernels(sides, kernels) if kernels else sides
    return compare(olds, news, base.request)


def _report_recording(
    site: Site, path: Path, page: Page, asked: Asked, reading: Reading
) -> tuple[Recorded | Imported, RunProfile | None]:
    loaded = reading.load(path)
    if not isinstance(loaded, Loaded):
        return import_traces(path, page, loaded), None
    passes = 1 + bool(asked.frame.base) + bool(asked.most_in_timeline)
    with reading.watch(f"reporting {path.name}") as advance:
        times = loaded.timeline if asked.unit == NANOSECONDS else in_cycles(loaded.timeline)
        timeline = with_progress(times, advance, passes)
        summary, misfit = summarize(timeline), ""
        if tested := asked.frame.selftest:
            summary, misfit = with_cost(summary, tested, path)
        profile = _measure(loaded.recording, timeline, path) if asked.frame.base else None
        shown = write_timeline(timeline, asked.most_in_timeline, loaded.notes, site, page.folder)
    lost = [
        f"lost {loss.count:,}: {loss.kernel or 'code object'}: {loss.explanation}"
        for loss in loaded.recording.losses
    ]
    recorded = Recorded(
        path=path,
        page=page,
        summary=summary,
        losses=(*timeline.losses.sentences(), *lost),
        notes=(*loaded.notes, *notes_on_parts(timeline)),
        span_ns=_span_ns(loaded.timeline),
        timeline=shown,
        misfit=misfit,
    )
    return recorded, profile


def _measure(recording: Recording, timeline: Timeline, path: Path) -> RunProfile:
    # Recordings of several folders may have one name.
    return replace(measure(recording, timeline), name=str(path))


def _span_ns(timeline: Timeline) -> int:
    dispatches = timeline.dispatches
    with_waves = dispatches[dispatches["waves"] > 0]
    if not len(with_waves):
        return 0
    return int(with_waves["end_ns"].max() - with_waves["begin_ns"].min())


def _write_pages(site: Site, outcome: Outcome, frame: Frame) -> None:
    site.write(outcome.page.path, outcome_page(outcome, frame))
    if outcome.comparison:
        site.write_json(f"{outcome.page.folder}/{DIFF}", diff_document(outcome.comparison))
    for recorded in outcome.recorded:
        site.write_json(f"{recorded.page.folder}/{SUMMARY}", summary_document(recorded.summary))
        if recorded.page != outcome.page:
            site.write(recorded.page.path, recording_page(recorded, outcome, frame))
    for one in outcome.recordings:
        if not isinstance(one, Recorded) and one.page != outcome.page:
            plan = RunPlan(one.path, one.page, ((one.path, one.page),))
            problem = one.problem if isinstance(one, Unreadable) else None
            alone = Outcome(plan, (one,), None, problem)
            site.write(one.page.path, outcome_page(alone, frame))
