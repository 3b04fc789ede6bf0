"""A first look at all words: what must be known of the whole before any part can be shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ktrace_cli.model import Columns, Flags, WaveFlag
from ktrace_cli.progress import Advance, unwatched
from ktrace_cli.timeline import native
from ktrace_cli.timeline.batch import Decoder
from ktrace_cli.timeline.clock import ANCHOR
from ktrace_cli.timeline.headers import Headers
from ktrace_cli.timeline.lanes import name_lanes
from ktrace_cli.timeline.names import Names, unnamed
from ktrace_cli.timeline.native import EventFlag
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.trace_file.layout import DispatchFlag
from ktrace_cli.trace_file.recording import DispatchRecord


@dataclass(frozen=True)
class Scan:
    """What the words of a recording say on the whole."""

    waves: Columns
    """model.WAVE, without nanoseconds."""
    counts: Columns
    """native.SCANNED, one per wave."""
    anchors: Columns
    """clock.ANCHOR: wherever a wave read both clocks."""
    is_used: Flags
    """Of each event, whether a slice or an instant has it."""
    lanes: tuple[str, ...]
    """Timeline.lanes"""
    lane_place: Ints
    """The row in `lanes` of each lane that the decoder knows."""
    losses: Counter[str]


def scan(
    decoder: Decoder,
    names: Names,
    dispatches: Sequence[DispatchRecord],
    advance: Advance = unwatched,
) -> Scan:
    """Decode everything once; `names` then has all events."""
    waves = decoder.headers.waves.copy()
    counts = np.zeros(len(waves), native.SCANNED)
    anchors = [np.zeros(0, native.ANCHOR)]
    for rows in decoder.batches():
        counts[rows], found = decoder.scan(rows)
        anchors.append(found)
        advance(len(rows) / len(waves))
    waves["flags"] |= counts["flags"].astype(np.uint16)
    for name in ("end_ticks", "group", "words", "side_words", "slices", "instants"):
        waves[name] = counts[name]
    events = decoder.reader.events()
    base_names = _add_unnamed(decoder, names, events)
    lanes, lane_place = name_lanes(decoder.reader.lanes(), base_names)
    losses = Counter(decoder.reader.losses())
    losses["unclosed_slices"] = int(counts["unclosed"][~_is_running(waves, dispatches)].sum())
    return Scan(
        waves=waves,
        counts=counts,
        anchors=_anchors(decoder.headers, waves, np.concatenate(anchors)),
        is_used=(events["flags"] & EventFlag.USED) != 0,
        lanes=lanes,
        lane_place=lane_place,
        losses=losses,
    )


def _add_unnamed(decoder: Decoder, names: Names, events: Columns) -> list[str]:
    """Add the events that were met and have no name; return what lanes of each base are called."""
    name_by_base = dict(enumerate(decoder.base_names))
    for event in events[names.named :]:
        names.add_unnamed(*(int(event[name]) for name in ("kernel", "unit", "id", "kind")))
        name_by_base[int(event["base"])] = unnamed(int(event["id"]))
    return [name_by_base[base] for base in sorted(name_by_base)]


def _is_running(waves: Columns, dispatches: Sequence[DispatchRecord]) -> Flags:
    """Tell which waves may not have come to their end yet: what is open in them is no loss."""
    flags = np.array([d.record["flags"] for d in dispatches], np.uint32)
    is_unfinished = (flags[waves["dispatch"]] & DispatchFlag.UNFINISHED) != 0
    return np.asarray(is_unfinished & ((waves["flags"] & WaveFlag.UNFINISHED) != 0), np.bool_)


def _anchors(headers: Headers, waves: Columns, words: Columns) -> Columns:
    """Return both clocks wherever a wave read both: in its header and at ANCHOR words."""
    begins = np.flatnonzero(~headers.is_torn)
    # An end before the last word is wrong, and a wave that moved may have read another clock.
    is_doubtful = (waves["flags"] & (WaveFlag.CLAMPED | WaveFlag.MOVED)) != 0
    ends = np.flatnonzero(headers.is_ended & ~is_doubtful)
    anchors = np.zeros(len(begins) + len(ends) + len(words), ANCHOR)
    anchors["is_begin"][: len(begins)] = True
    own = headers.words
    for name, parts in (
        ("wave", [begins, ends, words["row"]]),
        ("ticks", [own["begin_ticks"][begins], own["end_ticks"][ends], words["ticks"]]),
        ("realtime", [headers.realtime[begins, 0], headers.realtime[ends, 1], words["realtime"]]),
    ):
        anchors[name] = np.concatenate(parts)
    return anchors
