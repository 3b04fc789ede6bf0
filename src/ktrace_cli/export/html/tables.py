"""What the page knows besides its rows: names, devices, dispatches, and what is missing."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from ktrace_cli.code_object.names import display_name
from ktrace_cli.export.html.blocks import ROW_COLUMNS, WAVE_COLUMNS
from ktrace_cli.model import ClockFit, Columns, Device, Event, Timeline
from ktrace_cli.timeline.losses import count_filtered
from ktrace_cli.trace_file.layout import DispatchFlag, Kind, ValueType
from ktrace_cli.units import counted

VERSION = 1
_MOST_NAMED = 3


def title_of(timeline: Timeline) -> str:
    """Return the kernels that were dispatched, in order of their first dispatch."""
    rows = dict.fromkeys(timeline.dispatches["kernel"].tolist())
    names = list(dict.fromkeys(display_name(timeline.kernels[row].mangled) for row in rows))
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more or "nothing recorded"


def describe(timeline: Timeline, zero: int, notes: Sequence[str]) -> dict[str, Any]:
    """Return the page's tables; docs/reference/html.md has their keys."""
    process = timeline.process
    return {
        "version": VERSION,
        "title": title_of(timeline),
        "unit": timeline.unit,
        "zero": str(zero),
        "command": shlex.join(process.arguments) if process else "",
        "is_window": timeline.is_window,
        "own_clock": timeline.own_clock,
        "has_places": _has_places(timeline),
        "launches": timeline.launches,
        "losses": timeline.losses.sentences(),
        "notes": [*notes, *notes_on_parts(timeline)],
        "devices": [_device(device, timeline.clocks) for device in timeline.devices],
        "kernels": [
            {"name": display_name(k.mangled), "signature": k.name, "mangled": k.mangled}
            for k in timeline.kernels
        ],
        "dispatches": [_dispatch(row, zero) for row in timeline.dispatches],
        "events": [_event(event) for event in timeline.events],
        "lanes": list(timeline.lanes),
        "edges": [[edge.source, edge.destination] for edge in timeline.edges],
        "value_types": {str(t.value): t.name.lower() for t in ValueType},
        "columns": {"waves": WAVE_COLUMNS, "rows": ROW_COLUMNS},
    }


def _has_places(timeline: Timeline) -> bool:
    """Tell whether it is known where waves ran: not every tracer writes it down."""
    is_known = any(device.compute_units for device in timeline.devices)
    return is_known or any(bool(timeline.waves[name].any()) for name in ("xcc", "se", "cu"))


def notes_on_parts(timeline: Timeline) -> list[str]:
    """Say what was left out of a recording because nobody wanted it."""
    filtered = count_filtered(timeline.dispatches)
    if not filtered:
        return []
    of = counted(len(timeline.dispatches), "dispatch", "dispatches")
    return [
        f"recorded only in part, as asked for (--blocks, --waves or --xcc): {filtered:,} of {of}"
    ]


def _device(device: Device, clocks: Sequence[ClockFit]) -> dict[str, Any]:
    fit = next((fit for fit in clocks if fit.device == device.device), None)
    return {
        "device": device.device,
        "target": device.target,
        "name": device.name,
        "modelled": device.is_software,
        "core_hz": round(fit.core_hz) if fit else 0,
        "clock": fit.method if fit else "",
        "residual_ns": round(fit.residual_ns, 3) if fit else 0.0,
    }


def _dispatch(row: Columns, zero: int) -> dict[str, Any]:
    names = ("number", "launch", "kernel", "device", "stream", "thread", "shared_bytes", "expected")
    times = ("launched", "completed", "begin", "end")
    return {
        **{name: int(row[name]) for name in names},
        **{name: int(row[f"{name}_ns"]) - zero for name in times},
        "grid": row["grid"].tolist(),
        "block": row["block"].tolist(),
        "status": int(row["status"]),
        "unfinished": bool(row["flags"] & DispatchFlag.UNFINISHED),
        "was_completed": bool(row["completed_ns"]),
    }


def _event(event: Event) -> list[Any]:
    """Return name, kind, lane as `summary` has it, file, line."""
    lane = event.lane or (event.name if event.kind == Kind.START else "")
    return [event.name, Kind(event.kind).name.lower(), lane, event.file, event.line]
