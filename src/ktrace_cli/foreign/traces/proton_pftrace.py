"""Triton Proton's Perfetto traces: cycles as if of 1 GHz, as in its Chrome JSON."""

from __future__ import annotations

import re
from pathlib import Path

from ktrace_cli.foreign.shape import Shape
from ktrace_cli.foreign.traces.pairing import pair
from ktrace_cli.foreign.traces.pftrace import read_packets
from ktrace_cli.foreign.traces.places import PROTON
from ktrace_cli.foreign.traces.proton import tell_rate
from ktrace_cli.foreign.traces.spans import NO_END, Line, Place, Spans
from ktrace_cli.importers.perfetto_packets import Event
from ktrace_cli.progress import Advance, unwatched

_BEGAN = "Init Time (ns)"


def read_proton_pftrace(path: Path, shape: Shape, advance: Advance = unwatched) -> Spans:
    """Read a trace: each range says when its block began, which tells launches apart."""
    spans = Spans()
    reader, events = read_packets(path, spans, advance)
    tell_rate(spans, shape.clock)
    slope = 1e9 / shape.clock if shape.clock else 1.0
    place_by_track = {uuid: _place(track.name) for uuid, track in reader.tracks.items()}
    began: dict[str, set[int]] = {}
    for event in events:
        if (place := place_by_track.get(event.track)) and (init := _init(event)):
            began.setdefault(f"{place.kernel} {place.block}", set()).add(init)
    zero = min((min(own) for own in began.values()), default=0)
    order = {key: {init: n for n, init in enumerate(sorted(own))} for key, own in began.items()}
    times = [event.ns for event in events]
    for row, end in pair(events, times, spans.losses):
        place, init = place_by_track.get(events[row].track), _init(events[row])
        if place is None:
            spans.losses["unshown_records"] += 1
            continue
        launch = order.get(f"{place.kernel} {place.block}", {}).get(init, 0)
        at = Place(place.kernel, launch, place.block, place.wave, place.sm)
        origin = init - zero if init else 0
        wave = spans.wave_at(at, Line(origin, slope))
        own_end = end if end == NO_END else end - origin
        spans.add_range(wave, events[row].name, times[row] - origin, own_end)
    return spans


def _init(event: Event) -> int:
    init = event.arguments.get(_BEGAN, 0)
    return init if isinstance(init, int) else 0


def _place(name: str) -> Place | None:
    pid, _, warp = name.partition(" / ")
    told, wave = PROTON.fullmatch(pid), re.match(r"warp (\d{1,9})\b", warp)
    if told is None or wave is None:
        return None
    return Place(told["kernel"], 0, (int(told["x"]), 0, 0), int(wave[1]), int(told["sm"]))
