"""What commands that compare share: the runs that the user named, and what counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ktrace_cli import console
from ktrace_cli.analysis.compare.baseline_file import is_baseline, read_baseline
from ktrace_cli.analysis.compare.measure import measure
from ktrace_cli.analysis.compare.profile import RunProfile
from ktrace_cli.analysis.compare.results import ALLOWABLE, Difference
from ktrace_cli.commands.recording import load_recording
from ktrace_cli.commands.selection import Unit
from ktrace_cli.commands.sources import is_buffer
from ktrace_cli.errors import ExitStatus, KtraceError, UsageError
from ktrace_cli.foreign.source import Source
from ktrace_cli.model import Timeline
from ktrace_cli.timeline.cycles import in_cycles
from ktrace_cli.timeline.progress import with_progress
from ktrace_cli.trace_file.file_kind import HEAD_SIZE, FileKind, identify

KernelOption = Annotated[
    list[str] | None,
    typer.Option(
        "--kernel",
        metavar="PATTERN",
        show_default=False,
        help="Only kernels whose name is like this: `gemm*`, or `/regular expression/`; may be"
        " repeated.",
    ),
]
UnitOption = Annotated[
    Unit | None,
    typer.Option(
        show_default=False,
        help="Times in nanoseconds, or in cycles of the core clock, which its rate does not"
        " change. Without it: what the baseline has, else nanoseconds.",
    ),
]
FailOption = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on",
        metavar="PHASE>LIMIT",
        show_default=False,
        help="How much slower phases (a shell pattern, or `KERNEL:PHASE`) may become:"
        " `mainloop>5%`, `load>2us`, `load>5%,2us` for both; may be repeated. Without it: `*>5%`.",
    ),
]
FloorOption = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        show_default=False,
        help="Ignore changes of an occurrence up to this. Without it: two ticks of the clock.",
    ),
]
AllowOption = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-different",
        metavar="WHAT",
        show_default=False,
        help="Compare although this differs: target, shape, events or kernels; may be repeated.",
    ),
]
LossOption = Annotated[
    bool, typer.Option("--allow-loss", help="Give a verdict although recordings lack something.")
]
# What read_recording has better words for.
_NO_TOOLS_FILE = {FileKind.RECORDING, FileKind.EMPTY, FileKind.ZEROS, FileKind.LFS_POINTER}


def list_files(given: Sequence[Path]) -> list[Path]:
    """Return the files that are meant, each once: a folder stands for its `*.bin`.

    Raises:
        KtraceError: a folder has none.
    """
    files: list[Path] = []
    for path in given:
        if not path.is_dir():
            files.append(path)
            continue
        found = sorted(path.glob("*.bin"))
        if not found:
            raise KtraceError(
                f"no recording to read in {path}",
                why="it holds no *.bin",
                fix="name a folder of recordings, or make some with `ktrace run -o DIR/ ...`",
            )
        files += found
    return _each_once(files)


def _each_once(files: Sequence[Path]) -> list[Path]:
    """Leave out files that are named again: runs would look more alike than they are."""
    once: dict[Path, Path] = {}
    for path in files:
        place = path.resolve()
        if place in once:
            console.warn(f"{path} is named more than once, and counts once")
        once.setdefault(place, path)
    return list(once.values())


def load_runs(
    files: Sequence[Path], unit: Unit, source: Source | None = None
) -> list[list[RunProfile]]:
    """Read recordings, which are a run each, and baselines, which are several.

    Raises:
        KtraceError: one cannot be read; with NOT_COMPARABLE if another tool wrote it.
    """
    told = source or Source()
    return [_baseline(p) if is_baseline(p) else [_measure(p, unit, told)] for p in files]


def unit_of(files: Sequence[Path]) -> Unit:
    """Return the unit of the first baseline among files; nanoseconds where there is none."""
    for path in files:
        if is_baseline(path):
            return Unit(read_baseline(path)[0].unit)
    return Unit.NS


def allowed_differences(names: Sequence[str], *, allow_loss: bool) -> frozenset[Difference]:
    """Read `--allow-different` and `--allow-loss`.

    Raises:
        UsageError: a name is not known.
    """
    known = {difference.value: difference for difference in ALLOWABLE}
    for name in names:
        if name not in known:
            raise UsageError(
                f"`--allow-different {name}` is not known", fix=f"name one of {', '.join(known)}"
            )
    allowed = {known[name] for name in names}
    return frozenset(allowed | ({Difference.LOSS} if allow_loss else set()))


def _baseline(path: Path) -> list[RunProfile]:
    return [replace(run, name=str(path)) for run in read_baseline(path)]


def _measure(path: Path, unit: Unit, source: Source) -> RunProfile:
    if not is_buffer(path, source):
        _check_kind(path)
    recording, timeline = load_recording(path, source)
    if unit is Unit.CYCLES:
        timeline = in_cycles(timeline)
    check_unit(timeline, unit, path)
    with console.progress(f"measuring {path.name}") as advance:
        return replace(measure(recording, with_progress(timeline, advance)), name=str(path))


def check_unit(timeline: Timeline, unit: Unit, path: Path) -> None:
    """Refuse times that cannot be told in this unit.

    Raises:
        UsageError: they can be in cycles only.
    """
    if timeline.unit != unit.value:
        raise UsageError(
            f"times of {path} are not known in nanoseconds",
            why="it counts cycles of a clock of unknown rate",
            fix="add `--unit cycles`, or tell the rate: `--shape clock=1.755GHz`",
        )


def _check_kind(path: Path) -> None:
    try:
        with path.open("rb") as file:
            kind = identify(file.read(HEAD_SIZE))
    except OSError as problem:
        raise KtraceError(
            f"cannot read {path}",
            why=problem.strerror or str(problem),
            fix="name a recording (.bin), a file of `ktrace baseline`, or a folder of recordings",
        ) from problem
    if kind not in _NO_TOOLS_FILE:
        raise KtraceError(
            f"cannot compare {path}",
            why=f"it is {kind.value}; only ktrace's own recordings and baselines are compared",
            fix="give a recording (.bin) of `ktrace run` or a file of `ktrace baseline`",
            status=ExitStatus.NOT_COMPARABLE,
        )
