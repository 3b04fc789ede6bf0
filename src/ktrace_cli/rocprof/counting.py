"""Counts with rocprofv3, one pass after the other, and times the same kernels without counting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ktrace_cli.counters.formulas import MOST_OF_L2, PASSES_BY_TARGET
from ktrace_cli.errors import UsageError
from ktrace_cli.importers.registers import target_of_version
from ktrace_cli.rocprof.failures import ending_of, nothing_collected
from ktrace_cli.rocprof.jobs import counter_job, kernel_trace_job
from ktrace_cli.rocprof.output import tables_in
from ktrace_cli.rocprof.tool import Outcome, Tool, run_job
from ktrace_cli.units import counted
from ktrace_cli.wording import listed

_NODES = Path("/sys/class/kfd/kfd/topology/nodes")
_L2 = "TCC_"


@dataclass(frozen=True)
class Counted:
    """Where a program's counters are."""

    files: tuple[Path, ...]
    timing: tuple[Path, ...]
    """Of a run in which nothing was counted; none if that failed."""
    notes: tuple[str, ...]
    losses: tuple[str, ...]


def choose_passes(given: Sequence[str], target: str, nodes: Path = _NODES) -> list[tuple[str, ...]]:
    """Return which counters to collect in which run.

    Args:
        given: names, or several with blanks or commas between; none: those that figures need.
        target: what the program runs on; "": ask the kernel driver.
        nodes: where the driver tells of GPUs.

    Raises:
        UsageError: the target is not known and must be.
    """
    names = [name for text in given for name in text.replace(",", " ").split()]
    if names:
        return _in_passes(list(dict.fromkeys(names)))
    targets = {target} if target else gpu_targets(nodes)
    if len(targets) == 1 and (passes := PASSES_BY_TARGET.get(next(iter(targets)))):
        return list(passes)
    found = listed(sorted(targets)) if targets else "no GPU that the driver tells of"
    raise UsageError(
        "cannot choose counters",
        why=f"here is {found}; known are those of {listed(PASSES_BY_TARGET)}",
        fix="name the target with `--arch`, or counters with `--counters`",
    )


def _in_passes(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Put counters into as few passes as their number of L2's allows."""
    own = [name for name in names if name.startswith(_L2)]
    others = [name for name in names if not name.startswith(_L2)]
    passes = [own[at : at + MOST_OF_L2] for at in range(0, len(own), MOST_OF_L2)] or [[]]
    passes[0] += others
    return [tuple(one) for one in passes]


def gpu_targets(nodes: Path) -> set[str]:
    """Return the targets of this machine's GPUs, as the kernel driver tells."""
    found = set()
    for path in nodes.glob("*/properties"):
        try:
            text = path.read_text()
        except OSError:
            continue  # of a device that this user may not see
        words = dict(line.split(maxsplit=1) for line in text.splitlines() if " " in line)
        version = words.get("gfx_target_version", "0")
        if version.isdigit() and int(version):
            found.add(target_of_version(int(version)))
    return found


def count(
    tool: Tool, passes: Sequence[tuple[str, ...]], kernel: str, command: Sequence[str], folder: Path
) -> Counted:
    """Run a program once for each pass, and once without counting.

    Args:
        tool: rocprofv3.
        passes: counters of each.
        kernel: a pattern; "": all kernels.
        command: the program and its arguments.
        folder: an empty one; each run gets a folder in it.

    Raises:
        KtraceError: no pass gave anything, or rocprofv3 cannot run the program.
    """
    files: list[Path] = []
    losses: list[str] = []
    failed: list[Outcome] = []
    for number, counters in enumerate(passes, 1):
        own = _made(folder / f"pass_{number}")
        outcome = run_job(tool, counter_job(counters, kernel, own), command, own, {})
        found = tables_in(own, "counter_collection.csv")
        files += found
        what = f"pass {number} ({' '.join(counters)})"
        if not found:
            failed.append(outcome)
            losses.append(f"{what} gave nothing: {nothing_collected(outcome, 'counters').why}")
        elif ended := ending_of(outcome.status):
            losses.append(f"{what}: {ended}; what was counted until then is shown")
    if not files:
        raise nothing_collected(failed[0], "counters")
    own = _made(folder / "timing")
    outcome = run_job(tool, kernel_trace_job(own), command, own, {})
    timing = tables_in(own, "kernel_trace.csv")
    if not timing:
        why = nothing_collected(outcome, "kernel trace").why
        losses.append(f"the run without counters gave no times: {why}")
    runs = counted(len(passes) + 1, "time")
    notes = (f"ran the program {runs}: for {counted(len(passes), 'pass', 'passes')}, and its time",)
    return Counted(tuple(files), timing, notes, tuple(losses))


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
