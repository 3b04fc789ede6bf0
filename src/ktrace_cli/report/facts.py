"""What a page says first of a recording: where, of what, how much, when."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timezone

from ktrace_cli.analysis.results import KernelSummary, Summary
from ktrace_cli.model import Device
from ktrace_cli.report.markup import Content, Html, code, in_full, join, tag
from ktrace_cli.report.results import Recorded
from ktrace_cli.report.traces import Imported
from ktrace_cli.units import counted, format_duration

MODELLED = "modelled times (software device)"
LONGEST_PATH = 400
"""Also of commands."""
_MOST_KERNELS = 3


def facts_list(facts: Iterable[tuple[str, Content]]) -> Html:
    """Return pairs of a word and what it is."""
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", what)) for name, what in facts))


def facts_of(recorded: Recorded) -> Iterator[tuple[str, Content]]:
    """Yield what is known of a recording."""
    summary = recorded.summary
    for device in summary.devices:
        number = f" {device.device}" if len(summary.devices) > 1 else ""
        yield f"Device{number}", _device(device)
    yield "Times", times_of(summary)
    yield "Kernels", name_kernels(recorded.kernel_names)
    yield "Recorded", _amount(recorded)
    yield "From first to last wave", format_duration(recorded.span_ns)
    process = summary.process
    if process and process.arguments:
        yield "Program", code(shlex.join(process.arguments), LONGEST_PATH)
    if process and process.host:
        yield "Host", in_full(process.host)
    if process and process.realtime_ns:
        yield "Date", date_of(process.realtime_ns)
    yield "File", code(str(recorded.path), LONGEST_PATH)


def times_of(summary: Summary) -> Html:
    """Say whether times are real, and in what unit they are if that is not a second."""
    unit = " in cycles of the core clock" if summary.unit != "ns" else ""
    return join([*times_badges(summary.devices), unit])


def times_badges(devices: Sequence[Device]) -> list[Html]:
    """Say whether times are real."""
    kinds = sorted({device.is_software for device in devices})
    return [
        tag("span", MODELLED, class_="badge warn") if is_modelled else tag("span", "measured times")
        for is_modelled in kinds
    ]


def name_kernels(all_names: Sequence[str]) -> Html:
    """Name the kernels that took most time."""
    names = [code(name) for name in all_names[:_MOST_KERNELS]]
    parts: list[Content] = []
    for name in names:
        parts += [", " if parts else None, name]
    more = len(all_names) - len(names)
    return join([*parts, f" and {more:,} more" if more else None]) if parts else join(["none"])


def devices_of(one: Recorded | Imported) -> str:
    """Name targets and devices in few words."""
    if isinstance(one, Imported):
        return in_full(", ".join(one.devices))
    return ", ".join(dict.fromkeys(_short(device) for device in one.summary.devices)) or "none"


def date_of(realtime_ns: int) -> str:
    """Write a moment."""
    moment = datetime.fromtimestamp(realtime_ns // 10**9, timezone.utc)
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def _short(device: Device) -> str:
    target = device.target.split(":")[0]
    return f"{target} (modelled)" if device.is_software else f"{target} {in_full(device.name)}"


def _device(device: Device) -> Content:
    units = counted(device.compute_units, "CU") if device.compute_units else ""
    xccs = counted(device.xcc_count, "XCC") if device.xcc_count else ""
    size = f" ({', '.join(part for part in (units, xccs) if part)})" if units or xccs else ""
    return f"{in_full(device.name)}, {in_full(device.target)}{size}"


def _amount(recorded: Recorded) -> str:
    kernels = recorded.summary.kernels
    waves = counted(sum(kernel.waves for kernel in kernels), "wave")
    dispatches = counted(recorded.dispatches, "dispatch", "dispatches")
    launches = recorded.summary.launches
    of_all = f"; {counted(launches, 'launch was', 'launches were')} seen" if launches else ""
    return f"{dispatches} with {waves}, {counted(_phases(kernels), 'range')}{of_all}"


def _phases(kernels: Sequence[KernelSummary]) -> int:
    return sum(phase.times.count + phase.open for kernel in kernels for phase in kernel.phases)
