"""The result of a selftest as text for people: 80 columns, one block for each check."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from ktrace_cli.selftest_file.result import (
    Check,
    Figure,
    SelftestResult,
    Situation,
    Source,
    State,
)
from ktrace_cli.units import counted, significant

_WIDTH = 80
_INDENT = " " * 9
_PLURALS = ("bytes", "cycles", "ticks", "waves", "words")
_TITLES = {
    "bounds_drop": "bounds drop",
    "records_intact": "records intact",
    "clocks": "clock steps and rates",
    "xcc_skew": "XCC skew",
    "event_cost": "cost per event",
    "poll_clock": "KTRACE_POLL_CLOCK",
    "launch_overhead": "launch overhead",
    "copy_bandwidth": "copy bandwidth",
}
_MARKERS = {
    "mark": "KTRACE_MARK",
    "mark_payload": "… with a payload",
    "push_pop": "KTRACE_PUSH, KTRACE_POP",
    "range": "KTRACE_RANGE",
}
_SITUATIONS = {
    Situation.LONE_WAVE: "dense",
    Situation.SPACED: "spaced",
    Situation.FULL_OCCUPANCY: "full",
    Situation.PIPELINED_LOOP: "pipelined",
}
_LEGEND = (
    "dense: one wave, one marker behind the other; spaced: one wave, long work between them;"
    " full: dense, with as many waves as the device holds; pipelined: between LDS reads and MFMA"
)


def as_text(result: SelftestResult) -> str:
    """Write everything."""
    return "\n".join([*_head(result), *_checks(result), ""])


def verdict(result: SelftestResult) -> str:
    """Say in one line how the checks ended."""
    counts = dict.fromkeys(State, 0)
    for check in result.checks:
        counts[check.state] += 1
    parts = [
        f"{counts[State.PASS]} passed",
        *([f"{counts[State.FAIL]} failed"] if counts[State.FAIL] else []),
        *([f"{counts[State.SKIPPED]} skipped"] if counts[State.SKIPPED] else []),
    ]
    return f"{counted(len(result.checks), 'check')}: {', '.join(parts)}"


def _head(result: SelftestResult) -> Iterator[str]:
    machine = result.machine
    yield f"ktrace {result.version}, device {machine['device_index']}: {machine['target']}"
    yield str(machine["name"])
    versions = [
        f"{what} {machine[name]}"
        for what, name in (
            ("ROCm", "rocm_version"),
            ("HIP", "hip_runtime_version"),
            ("amdgpu", "kernel_driver_version"),
        )
        if machine[name]
    ]
    if versions and not result.is_modelled:
        yield ", ".join(versions)
    if result.is_modelled:
        yield "Times of this device are modelled: it is the software device, not hardware."
    yield ""


def _checks(result: SelftestResult) -> Iterator[str]:
    for check in result.checks:
        yield f"{check.state.value:<8} {_TITLES.get(check.name, check.name)}"
        yield from _wrapped(check.text, _INDENT)
        if check.name == "event_cost" and result.costs:
            yield from _cost_table(result)
        else:
            yield from _figures(check, is_modelled=result.is_modelled)
        yield ""


def _cost_table(result: SelftestResult) -> Iterator[str]:
    """Lay out what each marker costs in each situation, in cycles and in nanoseconds."""
    suffix = " (modelled)" if result.is_modelled else ""
    costs = {(cost.marker, cost.situation): cost for cost in result.costs}
    for unit in ("cycles", "ns"):
        titles = "".join(f"{title:>10}" for title in _SITUATIONS.values())
        yield f"{_INDENT}  {unit + suffix:<27}{titles}"
        for marker, name in _MARKERS.items():
            found = [costs.get((marker, situation)) for situation in _SITUATIONS]
            cells = [significant(getattr(cost, unit), 4) if cost else "-" for cost in found]
            yield f"{_INDENT}  {name:<27}" + "".join(f"{cell:>10}" for cell in cells)
    yield from _wrapped(_LEGEND, f"{_INDENT}  ")


def _figures(check: Check, *, is_modelled: bool) -> Iterator[str]:
    names = max((len(figure.name) for figure in check.figures), default=0)
    values = max((len(_value(f)) for f in check.figures if not isinstance(f.value, str)), default=0)
    for figure in check.figures:
        value = f"{_value(figure):>{values}} {_unit(figure)}".rstrip()
        if is_modelled and figure.source is Source.DEVICE and figure.value is not None:
            value += " (modelled)"
        line = f"{_INDENT}  {figure.name:<{names}}  {value}"
        if len(line) > _WIDTH:
            yield f"{_INDENT}  {figure.name}"
            yield from _wrapped(f"{value}: {figure.meaning}", f"{_INDENT}    ")
        elif figure.meaning and len(line) + len(figure.meaning) + 2 <= _WIDTH:
            yield f"{line}  {figure.meaning}"
        else:
            yield line
            yield from _wrapped(figure.meaning, f"{_INDENT}    ")


def _value(figure: Figure) -> str:
    value = figure.value
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 10_000 else significant(value, 4)


def _unit(figure: Figure) -> str:
    is_one = figure.value == 1 and figure.unit in _PLURALS
    return figure.unit.removesuffix("s") if is_one else figure.unit


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=indent)
