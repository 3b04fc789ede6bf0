"""Hotspots as a report, for a terminal or for Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from ktrace_cli.analysis.report import Block, Column, Heading, Line, Name, Table, Text
from ktrace_cli.att.report_details import awaited, instruction_details, line_details, padding
from ktrace_cli.att.report_words import WIDE, place_of, share, short_source, short_sources
from ktrace_cli.att.results import Coverage, Hotspots, PhaseRow, WaveSpread
from ktrace_cli.kernel_code.occupancy_words import limit_words, limits_words, step_words
from ktrace_cli.units import counted

_FEW = 4
_NAMED = 3


class Mode(str, Enum):
    """What stalls are shown by."""

    ASM = "asm"
    SRC = "src"
    BOTH = "both"


@dataclass(frozen=True)
class Style:
    """How much is shown."""

    mode: Mode = Mode.BOTH
    topk: int = 15
    has_details: bool = False
    context: int = 3


def write_report(found: Hotspots, style: Style) -> list[Block]:
    """Return the parts of the report."""
    blocks: list[Block] = [Heading((Name(found.kernel), _headline(found)))]
    blocks += [Line(text) for text in _facts(found)]
    blocks += _classes(found)
    blocks += _phases(found)
    if style.mode is not Mode.ASM:
        blocks += _sources(found, style)
    if style.mode is not Mode.SRC:
        blocks += _instructions(found, style)
    blocks += _waits(found)
    if style.has_details:
        blocks += awaited(found, style.topk)
    blocks += padding(found, style.topk if style.has_details else _FEW)
    blocks += _simds(found)
    if style.has_details:
        blocks += _details(found, style)
    return blocks


def _details(found: Hotspots, style: Style) -> Iterator[Block]:
    if style.mode is not Mode.ASM:
        yield from line_details(found, style.topk)
    if style.mode is not Mode.SRC:
        yield from instruction_details(found, style.topk, style.context)


def _headline(found: Hotspots) -> str:
    totals = found.totals
    waves = f" of {counted(found.waves.count, 'wave')}" if found.waves else ""
    return (
        f": {counted(totals.hit, 'instruction')}{waves}, {totals.latency:,} cycles of latency, of"
        f" which {totals.stall:,} stall ({share(totals.stall, totals.latency)}), and"
        f" {totals.idle:,} idle between them"
    )


def _facts(found: Hotspots) -> Iterator[Text]:
    if found.others:
        names: list[str | Name] = []
        for one in found.others[:_NAMED]:
            names += [", " if names else "", Name(one.name), f" ({one.latency:,} cycles)"]
        more = f" and {len(found.others) - _NAMED} more" if len(found.others) > _NAMED else ""
        yield ("the bundle also holds ", *names, f"{more}; `--kernel` shows another")
    certain = "" if found.target.is_certain else "inferred: "
    yield (f"target: {found.target.processor or 'unknown'} ({certain}{found.target.why})",)
    yield from _occupancy(found)
    yield (_scope(found),)
    coverage = found.source_coverage
    yield (
        f"source lines: {_percent(coverage.rows)} of the instructions have one,"
        f" {_percent(coverage.executed)} of those executed,"
        f" {_percent(coverage.stall)} of the stall",
    )
    if found.quality:
        yield ("data quality: " + "; ".join(found.quality),)
    else:
        yield (f"data quality: wave files and code.json agree in all of {found.checks} checks",)


def _occupancy(found: Hotspots) -> Iterator[Text]:
    resources = "; ".join(found.needs.sources)
    if found.occupancy is None:
        is_known = bool(found.target.processor)
        why = "the rules of this target are" if is_known else "the target is"
        yield (f"occupancy: not computed, as {why} not known ({resources})",)
        if not is_known:
            yield (
                "`ktrace hotspots --code-object` tells the target: occupancy, MFMA busy, wait"
                " states",
            )
        return
    unknown = found.needs.unknown
    bound = f"; not known: {', '.join(unknown)}" if unknown else ""
    most = "at most " if unknown else ""
    of = found.occupancy
    yield (
        f"occupancy: {most}{of.waves_per_simd} of {of.max_waves_per_simd} waves per SIMD, limited"
        f" by {limit_words(of.limited_by)}; {limits_words(of)}",
    )
    if of.next_step:
        yield (step_words(of.next_step),)
    yield (f"resources: {resources}{bound}",)
    if found.observed:
        resident = found.observed.most_per_simd
        yield (f"observed: at most {counted(resident, 'wave')} on one SIMD at a time",)


def _scope(found: Hotspots) -> str:
    traced = found.waves.count if found.waves else 0
    places = {place.place[:2] for place in found.simds}
    cus = ", ".join(f"SE {engine} CU {cu}" for engine, cu in sorted(places)[:_FEW])
    more = f" and {len(places) - _FEW} more" if len(places) > _FEW else ""
    seen = found.observed
    total = (
        f" of {counted(seen.waves, 'wave')} on {counted(seen.cus, 'CU')} that the trace saw"
        if seen and seen.waves
        else ""
    )
    where = f" on {cus}{more}" if cus else ""
    return (
        f"scope: {counted(traced, 'wave')}{where}{total}: rocprofv3 traces instructions of one CU"
        " of a shader engine, and other CUs may do otherwise"
    )


def _classes(found: Hotspots) -> list[Block]:
    total, idle = found.totals.stall, found.totals.idle
    rows = [
        (
            one.kind.value,
            f"{one.sums.stall:,}",
            share(one.sums.stall, total),
            f"{one.sums.idle:,}",
            share(one.sums.idle, idle),
            f"{one.sums.latency:,}",
            f"{one.sums.hit:,}",
        )
        for one in found.by_class
    ]
    columns = (
        Column("class", is_number=False), Column("stall"), Column("%"), Column("idle", note=_IDLE),
        Column("% idle", drop=1), Column("latency"), Column("executed", drop=2),
    )  # fmt: skip
    return [Line(("stall by class of instruction, cycles:",)), Table(columns, tuple(rows))]


_IDLE = (
    "idle: cycles between the end of one instruction and the first attempt to issue the next; on"
    " gfx9 a wait for a result may appear here instead of in stall"
)


def _phases(found: Hotspots) -> list[Block]:
    if not found.by_phase:
        return [Line((f"phases: none ({found.no_phases})",))]
    total = found.totals.stall
    rows = [_phase(one, total) for one in found.by_phase]
    columns = (
        Column("phase", is_number=False, is_name=True, width=WIDE, note=_PHASES),
        Column("stall"), Column("%"),
        Column("idle"), Column("latency", drop=1),
        Column("mostly", is_number=False, drop=2),
        Column("MFMA", drop=3), Column("MFMA busy", drop=4, note=_BUSY),
    )  # fmt: skip
    return [Line(("stall by ktrace phase, cycles:",)), Table(columns, tuple(rows))]


_PHASES = (
    "a phase has the instructions between its markers, along the branches; (markers) are the"
    " instructions of tracing itself"
)
_BUSY = (
    "MFMA busy: share of the time that waves spend there for which the matrix unit of their SIMD is"
    " busy, whichever wave keeps it so"
)


def _phase(one: PhaseRow, total: int) -> tuple[str, ...]:
    mostly = one.by_class[0].kind.value if one.by_class and one.sums.stall else ""
    return (
        one.name or "outside",
        f"{one.sums.stall:,}",
        share(one.sums.stall, total),
        f"{one.sums.idle:,}",
        f"{one.sums.latency:,}",
        mostly,
        f"{one.matrix.issued:,}" if one.matrix else "",
        _busy(one.matrix),
    )


def _busy(matrix: Coverage | None) -> str:
    return _percent(matrix.share) if matrix else ""


def _sources(found: Hotspots, style: Style) -> list[Block]:
    total = found.totals.stall
    blocks: list[Block] = [
        Line(
            (
                "set aside: ",
                Name(short_source(one.frame)),
                f", {one.sums.stall:,} cycles of stall ({share(one.sums.stall, total)}):"
                f" {one.artefact}; compilers put there what has no line of its own",
            )
        )
        for one in found.by_source
        if one.artefact
    ]
    lines = [one for one in found.by_source if not one.artefact]
    shown = lines[: style.topk or None]
    if not shown:
        return [*blocks, Line(("source lines: none; build with debug information (`-g`)",))]
    names = short_sources([one.frame for one in shown])
    rows = [
        (
            names[one.frame],
            f"{one.sums.stall:,}",
            share(one.sums.stall, total),
            share(one.sums.stall, one.sums.latency),
            f"{one.sums.idle:,}",
            one.kind.value,
            f"{one.sums.hit:,}",
            " < ".join(short_source(frame) for frame in one.inlined_into[:2]),
        )
        for one in shown
    ]
    columns = (
        Column("source line", is_number=False, is_name=True, width=WIDE), Column("stall"),
        Column("%"), Column("of latency", drop=2), Column("idle"),
        Column("mostly", is_number=False), Column("executed", drop=3),
        Column("inlined into", is_number=False, is_name=True, width=WIDE, drop=4),
    )  # fmt: skip
    return [*blocks, _title("source line", shown, lines), _table(columns, rows)]


def _table(columns: Sequence[Column], rows: Sequence[tuple[str, ...]]) -> Table:
    """Return a table without the columns that are empty in all rows."""
    kept = [n for n, _ in enumerate(columns) if any(row[n] for row in rows)]
    return Table(
        tuple(columns[n] for n in kept), tuple(tuple(row[n] for n in kept) for row in rows)
    )


def _title(what: str, shown: Sequence[object], there: Sequence[object]) -> Line:
    of = f" (the first {len(shown)} of {len(there)})" if len(shown) < len(there) else ""
    return Line((f"stall by {what}, cycles{of}:",))


def _instructions(found: Hotspots, style: Style) -> list[Block]:
    total = found.totals.stall
    stalled = [one for one in found.by_instruction if one.sums.stall or one.sums.idle]
    shown = stalled[: style.topk or None]
    if not shown:
        return [Line(("stall by instruction: none",))]
    rows = [
        (
            one.text,
            f"{one.sums.stall:,}",
            share(one.sums.stall, total),
            f"{one.sums.idle:,}",
            f"{one.sums.hit:,}",
            one.phase,
            place_of(one),
            f"0x{one.address:x}",
        )
        for one in shown
    ]
    columns = (
        Column("instruction", is_number=False, is_name=True, width=44), Column("stall"),
        Column("%"), Column("idle"), Column("executed", drop=3),
        Column("phase", is_number=False, is_name=True, drop=1),
        Column("source line", is_number=False, is_name=True, drop=2, width=WIDE),
        Column("address", drop=4),
    )  # fmt: skip
    return [_title("instruction", shown, stalled), _table(columns, rows)]


def _waits(found: Hotspots) -> list[Block]:
    total = found.totals.stall
    rows = [
        (one.kind.value, one.on or "(not told)", f"{one.count:,}", f"{one.stall:,}",
         share(one.stall, total))
        for one in found.waits
    ]  # fmt: skip
    if not rows:
        return []
    columns = (
        Column("wait", is_number=False), Column("for", is_number=False), Column("executed"),
        Column("stall"), Column("%"),
    )  # fmt: skip
    return [Line(("what waits waited for, as the wave files tell:",)), Table(columns, tuple(rows))]


def _simds(found: Hotspots) -> list[Block]:
    spread = found.waves
    if spread is None or not found.simds:
        return [Line(("balance: no wave file, so it is not known",))]
    line = Line((f"balance: {_spread(spread)}",))
    rows = [
        (
            f"SE {one.place[0]} CU {one.place[1]} SIMD {one.place[2]}",
            f"{one.waves:,}",
            f"{one.instructions:,}",
            f"{one.cycles:,}",
            share(one.stall, one.cycles),
            f"{one.matrix.issued:,}" if one.matrix else "",
            _busy(one.matrix),
        )
        for one in found.simds
    ]
    columns = (
        Column("SIMD", is_number=False), Column("waves"), Column("executed", drop=1),
        Column("wave cycles"), Column("% stall"), Column("MFMA"), Column("MFMA busy"),
    )  # fmt: skip
    return [line, Table(columns, tuple(rows))]


def _spread(spread: WaveSpread) -> str:
    if spread.count == 1:
        return f"1 wave took {spread.most:,} cycles"
    return (
        f"{spread.count:,} waves took {spread.least:,} to {spread.most:,} cycles; the longest,"
        f" {spread.slowest}, {spread.most / max(spread.mean, 1):.3f} x the mean"
    )


def _percent(part: float) -> str:
    return f"{100 * part:.1f} %"
