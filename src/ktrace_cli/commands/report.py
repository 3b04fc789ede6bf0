"""`ktrace report`: runs as a web site of files, fit to be an artifact of CI."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import typer

from ktrace_cli import console
from ktrace_cli.analysis.compare.baseline import find_noise
from ktrace_cli.analysis.compare.compare import Request
from ktrace_cli.analysis.compare.rules import parse_floor, parse_rules
from ktrace_cli.commands.comparing import (
    AllowOption,
    FailOption,
    FloorOption,
    LossOption,
    allowed_differences,
    list_files,
    load_runs,
    unit_of,
)
from ktrace_cli.commands.recording import load_recording
from ktrace_cli.commands.report_options import (
    BaselineOption,
    ComparedUnitOption,
    ForceOption,
    OutputOption,
    RunsArgument,
    SelftestOption,
    SummaryOption,
    TimelineOption,
    TitleOption,
    TopOption,
)
from ktrace_cli.commands.selection import (
    KernelOption,
    SectionOption,
    Unit,
    read_selection,
    select_sections,
    select_waves,
)
from ktrace_cli.commands.sources import (
    NamesOption,
    ShapeOption,
    ToolOption,
    is_buffer,
    read_source,
)
from ktrace_cli.errors import KtraceError, UsageError
from ktrace_cli.export.output import STDOUT, refuse_inputs
from ktrace_cli.foreign.source import Source
from ktrace_cli.importers.files import Found
from ktrace_cli.importers.inputs import TraceInput
from ktrace_cli.importers.reader import read_all_traces
from ktrace_cli.importers.report import sentences_on_repairs
from ktrace_cli.report.build import Asked, Loaded, Reading, write_site
from ktrace_cli.report.pages import plan_pages
from ktrace_cli.report.results import Base, Frame, Report
from ktrace_cli.report.site import open_site
from ktrace_cli.report.step_summary import append_summary, check_file, step_summary
from ktrace_cli.report.traces import find_traces
from ktrace_cli.report.tracing_cost import Selftest
from ktrace_cli.report.verdicts import exit_status, overall_text
from ktrace_cli.selftest_file.reading import find_selftest, read_selftest
from ktrace_cli.timeline.select import Selection
from ktrace_cli.units import counted


def report(
    runs: RunsArgument,
    output: OutputOption,
    baseline: BaselineOption = None,
    fail_on: FailOption = None,
    floor: FloorOption = None,
    allow_different: AllowOption = None,
    allow_loss: LossOption = False,
    unit: ComparedUnitOption = None,
    selftest: SelftestOption = None,
    step_summary_file: SummaryOption = None,
    title: TitleOption = "ktrace report",
    timeline: TimelineOption = 1_000_000,
    top: TopOption = 20,
    force: ForceOption = False,
    kernel: KernelOption = None,
    section: SectionOption = None,
    tool: ToolOption = None,
    names: NamesOption = None,
    shape: ShapeOption = None,
) -> None:
    """Write pages on RUNS for CI to keep: summary, timeline, verdict.

    Exits with 3 if a run has regressed, with 4 if one cannot be compared; pages are written then.
    """
    source = read_source(tool, names, shape)
    bases = list_files(baseline or ())
    files = {run: _files_of(run) for run in runs}
    summary_file = _summary_file(step_summary_file, [*bases, *_all_files(files)])
    found_test = find_selftest(selftest)
    tested = None if found_test is None else Selftest(found_test, read_selftest(found_test))
    used = unit or unit_of(bases)
    request = Request(
        rules=parse_rules(_only_with(bases, fail_on), used.value),
        allowed=allowed_differences(_only_with(bases, allow_different), allow_loss=allow_loss),
        floor=None if floor is None else parse_floor(floor, used.value),
    )
    with open_site(output, may_replace=force) as site:
        base = _load_base(bases, used, request, source) if bases else None
        asked = Asked(Frame(title, base, tested, top), used.value, tuple(kernel or ()), timeline)
        selection = read_selection(kernel=kernel)
        load = partial(_load, selection=selection, sections=section or (), source=source)
        plans = plan_pages(files)
        found = write_site(site, plans, asked, Reading(load, console.progress))
    _tell(found, output, summary_file)
    raise typer.Exit(exit_status(found))


def _only_with(bases: Sequence[Path], given: list[str] | None) -> list[str]:
    """Refuse what says how to compare where there is nothing to compare with."""
    if given and not bases:
        raise UsageError(
            f"nothing is compared, so `{given[0]}` means nothing",
            why="no `--baseline` is named",
            fix="add `--baseline FILE`, a file of `ktrace baseline` or a recording",
        )
    return given or []


def _summary_file(given: str | None, inputs: Sequence[Path]) -> Path | None:
    """Return where to append Markdown; that this can be done is known before all else is done."""
    if given == "":
        raise UsageError(
            "`--step-summary` names no file",
            why="its value is empty, as a variable is that is not set",
            fix="name a file, or leave it out; GitHub sets GITHUB_STEP_SUMMARY in its jobs only",
        )
    if given is None:
        return None
    path = Path(given)
    refuse_inputs(path, inputs, "input")
    if path != STDOUT:
        check_file(path)
    return path


def _load_base(files: Sequence[Path], unit: Unit, request: Request, source: Source) -> Base:
    try:
        loaded = load_runs(files, unit, source)
    except KtraceError as problem:
        fix = problem.fix or "name a file of `ktrace baseline`, a recording or a folder of these"
        # Status 4 would promise a site.
        raise KtraceError(problem.what, why=problem.why, fix=fix) from problem
    profiles = [run for found in loaded for run in found]
    return Base(tuple(map(str, files)), profiles, find_noise(profiles), request)


def _files_of(run: Path) -> Sequence[Path] | KtraceError:
    try:
        return list_files([run])
    except KtraceError as problem:  # the other runs are reported nevertheless
        return [run] if find_traces(run)[0] else problem


def _all_files(files: Mapping[Path, Sequence[Path] | KtraceError]) -> Iterator[Path]:
    for found in files.values():
        yield from () if isinstance(found, KtraceError) else found


def _load(
    path: Path, *, selection: Selection, sections: Sequence[str], source: Source
) -> Loaded | Sequence[TraceInput]:
    traces, said = ([], []) if is_buffer(path, source) else find_traces(path)
    if traces:
        is_part = sections or not selection.is_everything
        whole = [f"{path} is shown whole: of traces of other tools nothing is selected"]
        return _load_traces(path, traces, said + whole if is_part else said)
    chosen = select_sections(selection, path, sections)
    recording, timeline = load_recording(path, source)
    shown = select_waves(timeline, chosen)
    notes: tuple[str, ...] = ()
    if not chosen.is_everything:
        waves = counted(len(timeline.waves), "wave")
        notes = (f"{len(shown.waves):,} of {waves} are shown, as asked for",)
    return Loaded(recording, shown, notes)


def _load_traces(path: Path, found: Sequence[Found], notes: Sequence[str]) -> Sequence[TraceInput]:
    with console.progress(f"reading {path.name}") as advance:
        traces = read_all_traces(found, advance)
    more, repairs = sentences_on_repairs(traces)
    for note in [*notes, *more]:
        console.say(note)
    for repair in repairs:
        console.warn(repair)
    return traces


def _tell(found: Report, output: Path, summary_file: Path | None) -> None:
    if summary_file == STDOUT:
        console.data(step_summary(found))
    elif summary_file and not append_summary(found, summary_file):
        console.warn(f"{summary_file}: the summary is cut, as that of a step holds 1 MiB at most")
    for problem in found.problems:
        console.error(problem)
    result = overall_text(found)
    console.say(f"wrote {output / 'index.html'}; {result}")
