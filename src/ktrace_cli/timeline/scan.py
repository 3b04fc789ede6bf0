"""A first look at all words: what must be known of the whole before any part can be shown."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from ktrace_cli.model import WAVE, Columns, Flags, WaveFlag
from ktrace_cli.timeline.batch import Batch, Decoder
from ktrace_cli.timeline.clock import ANCHOR
from ktrace_cli.timeline.losses import count_slices, count_unnamed
from ktrace_cli.timeline.segments import join_rows
from ktrace_cli.trace_file.layout import DispatchFlag


@dataclass(frozen=True)
class Scan:
    """What the words of a recording say on the whole."""

    waves: Columns
    """model.WAVE, without nanoseconds."""
    anchors: Columns
    """clock.ANCHOR: wherever a wave read both clocks."""
    is_used: Flags
    """Of each event of the decoder's names, whether a slice or an instant has it."""
    losses: Counter[str]


def scan(decoder: Decoder) -> Scan:
    """Decode everything once; the decoder then knows all events and lanes."""
    waves, anchors, used = [], [np.zeros(0, ANCHOR)], []
    losses: Counter[str] = Counter()
    for batch in decoder.batches():
        batch.anchors["wave"] += batch.first_wave
        waves.append(batch.waves)
        anchors.append(batch.anchors)
        losses.update(batch.losses)
        losses.update(count_slices(batch.slices, _is_running(decoder, batch)))
        columns = (batch.slices["event"], batch.instants["event"])
        used += [np.unique(column) for column in columns]
        losses.update(count_unnamed(decoder.names.named, (batch.waves["group"], *columns)))
    is_used = np.zeros(len(decoder.names.events), np.bool_)
    for rows in used:
        is_used[rows] = True
    return Scan(join_rows(WAVE, waves), np.concatenate(anchors), is_used, losses)


def _is_running(decoder: Decoder, batch: Batch) -> Flags:
    """Tell which slices are in waves that may not have come to their end yet."""
    flags = np.array([d.record["flags"] for d in decoder.dispatches], np.uint32)
    is_unfinished = (flags[batch.waves["dispatch"]] & DispatchFlag.UNFINISHED) != 0
    is_running = is_unfinished & ((batch.waves["flags"] & WaveFlag.UNFINISHED) != 0)
    return np.asarray(is_running[batch.slices["wave"]], np.bool_)
