"""What a summary says of a kernel in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from ktrace_cli.analysis.imbalance import Imbalance
from ktrace_cli.analysis.longest import LongestWave, PhasePart
from ktrace_cli.analysis.phase_tables import Style
from ktrace_cli.analysis.places import WaveRef
from ktrace_cli.analysis.report import Line, Name, Text
from ktrace_cli.analysis.results import KernelSummary
from ktrace_cli.units import counted

_MOST_PARTS = 4
_EVEN = 0.02
"""How far above the mean a slowest unit may be and not be told."""
_LEVELS = {"xcd": "XCD", "se": "SE", "cu": "CU", "workgroup": "workgroup", "wave": "wave"}


def title(kernel: KernelSummary, style: Style) -> Text:
    """Return a kernel's name and what was recorded of it."""
    dispatches = counted(kernel.dispatches, "dispatch", "dispatches")
    part = f" ({kernel.filtered_dispatches:,} in part)" if kernel.filtered_dispatches else ""
    waves = counted(kernel.waves, "wave")
    unfinished = (
        f" ({counted(kernel.unfinished_waves, 'unfinished wave')}: up to the last known time)"
        if kernel.unfinished_waves
        else ""
    )
    time = style.time(kernel.wave_ns)
    rest = f": {dispatches}{part}, {waves}, {time} of wave time{unfinished}"
    return Name(kernel.name), rest


def sentences(kernel: KernelSummary, style: Style) -> Iterator[Line]:
    """Yield what is known of a kernel beside its phases; nothing of what there is only one of."""
    if kernel.marks:
        yield Line(("marks: ", *_marks(kernel, style)))
    for text in (
        _launches(kernel, style),
        _imbalance(kernel),
        _spreads(kernel, style),
        _gaps(kernel, style),
    ):
        if text:
            yield Line((text,))
    yield from _lanes(kernel, style)
    if kernel.longest_wave and kernel.longest_wave.phases and kernel.waves > 1:
        yield from _longest(kernel.longest_wave, style)
    if kernel.side_words:
        share = 100 * kernel.side_words / kernel.words
        words = counted(kernel.words, "word")
        costs = "there an event costs more"
        yield Line((f"partly active waves wrote {share:.1f} % of {words}; {costs}",))


def describe_place(place: WaveRef) -> Text:
    """Say where a wave is."""
    x, y, z = place.workgroup
    group: Text = (" (", Name(place.group), ")") if place.group else ()
    hardware = f", on XCD {place.xcd} SE {place.se} CU {place.cu}"
    return (f"dispatch {place.dispatch} workgroup {x},{y},{z} wave {place.wave}", *group, hardware)


def _marks(kernel: KernelSummary, style: Style) -> Text:
    shown = kernel.marks[: style.top] if style.top else kernel.marks
    text: list[str | Name] = []
    for mark in shown:
        text += [", " if text else "", Name(mark.name), f" {mark.count:,}"]
    more = len(kernel.marks) - len(shown)
    return (*text, f" and {more:,} more") if more else tuple(text)


def _launches(kernel: KernelSummary, style: Style) -> str:
    times = kernel.launch_times
    if times is None or times.count < 2:
        return ""
    varies = f", CV {100 * times.cv:.1f} %" if times.cv is not None else ""
    first = (
        f"; the first took {times.first_ratio:.2f} x the median of the others"
        if times.first_ratio is not None
        else ""
    )
    return (
        f"launches: {times.count:,}, {style.time(times.mean_ns)} on average"
        f" ({style.time(times.min_ns)} to {style.time(times.max_ns)}{varies}),"
        f" slowest dispatch {times.slowest_dispatch}{first}"
    )


def _imbalance(kernel: KernelSummary) -> str:
    levels = [level for level in kernel.imbalance if level.units > 1]
    uneven = [level for level in levels if level.ratio >= 1 + _EVEN]
    even = [f"{_LEVELS[level.level]}s" for level in levels if level not in uneven]
    texts = [f"{_LEVELS[level.level]} {level.ratio:.2f} x ({_slowest(level)})" for level in uneven]
    if even:
        texts.append(f"{', '.join(even)} within {100 * _EVEN:.0f} %")
    return f"slowest compared to the mean: {', '.join(texts)}" if texts else ""


def _slowest(level: Imbalance) -> str:
    """Name the slowest unit; the longest wave has a line of its own."""
    place = level.slowest
    x, y, z = place.workgroup
    names = {
        "xcd": f": XCD {place.xcd}",
        "se": f": XCD {place.xcd} SE {place.se}",
        "cu": f": XCD {place.xcd} SE {place.se} CU {place.cu}",
        "workgroup": f": {x},{y},{z} of dispatch {place.dispatch}",
    }
    return f"of {level.units:,}{names.get(level.level, '')}"


def _spreads(kernel: KernelSummary, style: Style) -> str:
    starts, tail = kernel.wave_starts, kernel.tail
    if starts is None or tail is None:
        return ""
    return (
        f"in a launch: waves begin within {style.time(starts.mean_ns)}"
        f" ({100 * starts.share:.1f} % of it); the last ends {style.time(tail.mean_ns)}"
        f" ({100 * tail.share:.1f} %) after the median"
    )


def _gaps(kernel: KernelSummary, style: Style) -> str:
    gaps = kernel.gaps
    if gaps is None or not kernel.wave_ns or not kernel.phases:
        return ""
    times = gaps.times
    share = 100 * times.total_ns / kernel.wave_ns
    outside = 100 * (gaps.before_first_ns + gaps.after_last_ns) / kernel.wave_ns
    typical = (
        f", p50 {style.time(times.percentile(50))}, p99 {style.time(times.percentile(99))}"
        if times.count
        else ""
    )
    return (
        f"outside of phases: {counted(times.count, 'gap')} between them, {share:.1f} % of wave"
        f" time{typical}; before the first and after the last {outside:.1f} %"
    )


def _lanes(kernel: KernelSummary, style: Style) -> Iterator[Line]:
    shown = kernel.lanes[: style.top] if style.top else kernel.lanes
    for lane in shown:
        parts = [
            (lane.overlapped_ns, "while other phases ran"),
            (lane.waiting_ns, "while waiting"),
            (lane.beside_ns, "beside other lanes only"),
            (lane.exposed_ns, "exposed (nothing else ran)"),
        ]
        texts = [f"{100 * ns / max(lane.in_flight_ns, 1):.1f} % {what}" for ns, what in parts if ns]
        time = style.time(lane.in_flight_ns)
        yield Line(("lane ", Name(lane.lane), f": in flight for {time}, {', '.join(texts)}"))
    if more := len(kernel.lanes) - len(shown):
        yield Line((f"and {counted(more, 'more lane')}",))


def _longest(wave: LongestWave, style: Style) -> Iterator[Line]:
    place = describe_place(wave.place)
    yield Line((f"longest wave: {style.time(wave.duration_ns)}, ", *place))
    own = [part for part in wave.phases if not part.lane]
    text: list[str | Name] = []
    for part in own[:_MOST_PARTS]:
        text += [Name(part.name), f" {_percent(part.self_ns, wave)}, "]
    if rest := own[_MOST_PARTS:]:
        text.append(f"other phases {_percent(_self(rest), wave)}, ")
    yield Line((*text, f"no phase {_percent(wave.outside_ns, wave)}"), indent=2)


def _self(parts: list[PhasePart]) -> int:
    return sum(part.self_ns for part in parts)


def _percent(ns: int, wave: LongestWave) -> str:
    return f"{100 * ns / max(wave.duration_ns, 1):.1f} %"
