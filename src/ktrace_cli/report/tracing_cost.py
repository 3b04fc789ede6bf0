"""What tracing costs, as a selftest of the same kind of device has measured it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ktrace_cli.analysis.results import Summary
from ktrace_cli.analysis.tracing_cost import estimate
from ktrace_cli.errors import KtraceError
from ktrace_cli.report.blocks import cell, head, row_head, table
from ktrace_cli.report.markup import Html, code, in_full, tag
from ktrace_cli.selftest_file.reading import check_target
from ktrace_cli.selftest_file.result import SelftestResult, Situation, State
from ktrace_cli.units import counted, format_cycles, format_duration

_SITUATIONS = {
    Situation.LONE_WAVE: "a wave alone",
    Situation.SPACED: "a wave alone, markers apart",
    Situation.FULL_OCCUPANCY: "device full of waves",
    Situation.PIPELINED_LOOP: "pipelined loop",
}


@dataclass(frozen=True)
class Selftest:
    """A selftest, and where it is."""

    path: Path
    result: SelftestResult


def with_cost(summary: Summary, selftest: Selftest, recording: Path) -> tuple[Summary, str]:
    """Put the estimate by a selftest into a summary, or say why it tells nothing of it."""
    devices = [(device.target, device.is_software) for device in summary.devices]
    try:
        check_target(selftest.result, selftest.path, devices, recording)
    except KtraceError as problem:
        return summary, f"{problem.what}: {problem.why}"
    cost = estimate(summary, selftest.result)
    return replace(summary, quality=replace(summary.quality, tracing_cost=cost)), ""


def cost_of_tracing(selftest: Selftest) -> Iterator[Html]:
    """Yield what a selftest says: its checks, and the cost of markers."""
    result = selftest.result
    done = [check for check in result.checks if check.state is not State.SKIPPED]
    failed = [check for check in done if check.state is State.FAIL]
    told = f" ({in_full(result.describe())}) of ktrace {in_full(result.version)}"
    yield tag(
        "p",
        "From the selftest ",
        code(str(selftest.path)),
        f"{told}: {len(done) - len(failed):,} of {counted(len(done), 'check')} passed.",
    )
    if failed:
        items = [tag("li", f"failed: {check.name}: {in_full(check.text)}") for check in failed]
        yield tag("ul", *items)
    if result.costs:
        yield _costs(result)


def _costs(result: SelftestResult) -> Html:
    found = {(cost.marker, cost.situation): cost for cost in result.costs}
    markers = dict.fromkeys(cost.marker for cost in result.costs)
    situations = [one for one in _SITUATIONS if any(cost.situation is one for cost in result.costs)]
    heads = [head("marker"), *(head(_SITUATIONS[one], is_number=True) for one in situations)]
    rows = [[row_head(code(marker))] for marker in markers]
    for row, marker in zip(rows, markers, strict=True):
        for situation in situations:
            cost = found.get((marker, situation))
            text = f"{format_cycles(cost.cycles)}, {format_duration(cost.ns)}" if cost else "–"
            row.append(cell(text, is_number=True))
    return table(heads, rows, "By how much one execution of a marker prolongs its wave")
