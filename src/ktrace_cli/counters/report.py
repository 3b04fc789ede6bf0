"""The figures of counters as a report."""

from __future__ import annotations

from ktrace_cli.analysis.report import Block, Column, Heading, Line, Name, Table
from ktrace_cli.counters.counters import KernelResult, Result
from ktrace_cli.counters.formulas import METRICS_BY_TARGET, Unit
from ktrace_cli.counters.kernels import Figure, KernelCounters
from ktrace_cli.counters.timing import Bandwidth
from ktrace_cli.importers.kernel_names import shown_name
from ktrace_cli.units import counted, format_bytes, format_duration, significant
from ktrace_cli.wording import listed

_COLUMNS = (
    Column("figure", is_number=False),
    Column("median"),
    Column("p5", drop=2),
    Column("p95", drop=2),
    Column("dispatches", drop=1),
    Column("formula", is_number=False, drop=3),
)
_RAW = (
    Column("counter", is_number=False),
    Column("median"),
    Column("p5", drop=2),
    Column("p95", drop=2),
    Column("dispatches", drop=1),
)


def write_report(result: Result) -> list[Block]:
    """Return the report, kernel by kernel."""
    blocks: list[Block] = []
    for kernel in result.kernels:
        blocks += _kernel(kernel)
    return blocks


def _kernel(result: KernelResult) -> list[Block]:
    kernel = result.counters
    title = (Name(shown_name(kernel.name)), f": {_launches(kernel)}{_target(kernel)}")
    blocks: list[Block] = [Heading(title), Line((_warm_up(kernel),))]
    if kernel.figures:
        rows = tuple(_row(figure) for figure in kernel.figures)
        blocks.append(Table(_COLUMNS, rows))
    if not kernel.figures or kernel.target not in METRICS_BY_TARGET:
        blocks += _raw(kernel)
    blocks += [Line((text,)) for text in _sentences(result)]
    return blocks


def _launches(kernel: KernelCounters) -> str:
    shape = (
        f", {kernel.grid:,} work-items in workgroups of {kernel.workgroup:,}" if kernel.grid else ""
    )
    passes = counted(kernel.passes, "run of a process", "runs of processes")
    return f"{counted(kernel.dispatches, 'dispatch', 'dispatches')} in {passes}{shape}"


def _target(kernel: KernelCounters) -> str:
    if kernel.is_guessed:
        return f", {kernel.target} (by the names of its counters; `--arch` says it)"
    return f", {kernel.target}" if kernel.target else ""


def _warm_up(kernel: KernelCounters) -> str:
    if kernel.is_all_warm_up:
        return "nothing is left out as warm-up: there is no further dispatch"
    if not kernel.warm_up:
        return "no dispatch is left out as warm-up"
    dispatches = counted(kernel.warm_up, "dispatch", "dispatches")
    return f"left out as warm-up: {dispatches}, the first of each run (`--warm-up`)"


def _row(figure: Figure) -> tuple[str, ...]:
    unit, spread = figure.metric.unit, figure.spread
    bound = "at least " if figure.bound else ""
    return (
        figure.metric.title,
        bound + _value(spread.median, unit),
        _value(spread.p5, unit),
        _value(spread.p95, unit),
        f"{spread.count:,}",
        figure.formula.text,
    )


def _value(value: float, unit: str) -> str:
    if unit == Unit.SHARE:
        return f"{100 * value:.1f} %"
    return format_bytes(round(value)) if unit == Unit.BYTES else significant(value, 4)


def _raw(kernel: KernelCounters) -> list[Block]:
    rows = tuple(
        (name, *(significant(v, 6) for v in (s.median, s.p5, s.p95)), f"{s.count:,}")
        for name, s in kernel.raw.items()
    )
    why = (
        f"there are no formulas for {kernel.target}: they are known for"
        f" {listed(METRICS_BY_TARGET)}; the counters as they are:"
        if kernel.target and kernel.target not in METRICS_BY_TARGET
        else "nothing tells the target: name it with `--arch`; the counters as they are:"
        if not kernel.target
        else "no formula has all of its counters; the counters as they are:"
    )
    return [Line((why,)), Table(_RAW, rows)]


def _sentences(result: KernelResult) -> list[str]:
    kernel = result.counters
    said = []
    if result.over_fetch is not None:
        fetched = kernel.figure("fetched_bytes")
        least = "at least " if fetched and fetched.bound else ""
        said.append(f"over-fetch: {least}{result.over_fetch:.2f} times what has to be read")
    said += _on_bandwidth(result.bandwidth, result.no_bandwidth)
    for verdict in result.verdicts:
        said.append(f"verdict: {verdict.text} ({verdict.reason}; {verdict.source})")
    for figure in kernel.figures:
        if figure.bound:
            said.append(f"{figure.metric.title} is a lower bound: {figure.bound}")
        if figure.undefined:
            dispatches = counted(figure.undefined, "dispatch", "dispatches")
            said.append(f"{figure.metric.title}: {dispatches} without a value, left out")
    said += [f"not known: {one.metric.title}, as {one.why}" for one in kernel.missing]
    if kernel.zero:
        said.append(
            f"0 in every dispatch: {', '.join(kernel.zero)}: there was nothing to count, or"
            " nothing was counted"
        )
    return said


def _on_bandwidth(bandwidth: Bandwidth | None, why: str) -> list[str]:
    if bandwidth is None:
        return [f"no bandwidth: {why}"] if why else []
    least = "at least " if bandwidth.is_bound else ""
    parts = [
        f"{what} {significant(rate / 1e9, 4)} GB/s"
        for what, rate in (
            (f"{least}read", bandwidth.read),
            ("written", bandwidth.written),
            (f"{least}both", bandwidth.both),
        )
        if rate is not None
    ]
    spread = bandwidth.duration_ns
    times = (
        f"{format_duration(spread.median)}, p5 {format_duration(spread.p5)},"
        f" p95 {format_duration(spread.p95)} of {counted(spread.count, 'launch', 'launches')}"
    )
    return [f"bandwidth: {', '.join(parts)}, by the time of an uncounted run: {times}"]
