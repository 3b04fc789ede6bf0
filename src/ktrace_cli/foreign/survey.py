"""A first look at all events of a buffer: how much there is, and in which order it is shown."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from ktrace_cli.foreign.events import EventBatch
from ktrace_cli.foreign.found import Found
from ktrace_cli.foreign.naming import Naming
from ktrace_cli.foreign.words import count_words
from ktrace_cli.model import NONE, Columns, Flags, WaveFlag
from ktrace_cli.progress import Advance
from ktrace_cli.timeline import native
from ktrace_cli.timeline.headers import Headers
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.trace_file.layout import Kind

_SURVEYED_WAVES = 1024
_REGION_SPARE = 16
_MOST_NS = float(1 << 61)
_NAMED_KINDS = {True: [Kind.MARK, Kind.GROUP], False: [Kind.PUSH, Kind.START, Kind.LONG_BEGIN]}


@dataclass(frozen=True)
class Survey:
    """What a first look at all events tells."""

    waves: Columns
    """Those found, with begin and end."""
    words: Ints
    """How many each of them has."""
    kinds: dict[int, int]
    """layout.Kind of each event that has a name."""
    losses: Counter[str]
    kernels: tuple[str, ...]
    """Names of all kernels."""
    kernel_of_launch: Ints


def survey(found: Found, advance: Advance) -> Survey:
    """Read all events once."""
    waves, words = found.waves.copy(), np.zeros(len(found.waves), np.int64)
    losses: Counter[str] = Counter()
    kinds = np.zeros(max(found.naming.names, default=-1) + 1, np.uint8)
    ids: list[set[int]] = [set() for _ in found.launches.streams]
    for first in range(0, len(waves), _SURVEYED_WAVES):
        rows = slice(first, min(first + _SURVEYED_WAVES, len(waves)))
        batch = found.read(waves["slot"][rows].astype(np.int64))
        losses.update(batch.losses)
        waves["flags"][rows] |= batch.flags.astype(np.uint16)
        words[rows] = count_words(batch)
        some = np.flatnonzero(batch.counts)
        ticks = batch.events["ticks"]
        begins, ends = ticks[batch.starts[some]], ticks[batch.starts[some] + batch.counts[some] - 1]
        own = waves[rows]
        for name, found_ticks in (("begin_ticks", begins), ("end_ticks", ends)):
            told = own[name][some]
            own[name][some] = np.where(told > 0, told, found_ticks)
        for marks in (True, False):  # what begins a range is one, though it is also a mark
            is_kind = np.isin(batch.events["kind"], _NAMED_KINDS[marks])
            is_kind &= batch.events["id"] < len(kinds)
            kinds[batch.events["id"][is_kind]] = batch.events["kind"][is_kind]
        if len(found.naming.kernels) > 1:
            _note_ids(ids, batch, found.launches.of_wave[rows])
        advance((rows.stop - rows.start) / len(waves))
    kinds[kinds == Kind.LONG_BEGIN] = Kind.RANGE
    kind_by_id = {number: int(kinds[number]) or int(Kind.PUSH) for number in found.naming.names}
    return Survey(
        waves, words, kind_by_id, losses, *_tell_kernels(found.naming, found.launches.kernels, ids)
    )


def _note_ids(ids: list[set[int]], batch: EventBatch, launch: Ints) -> None:
    """Add the ids of events that begin something to those of their launch."""
    is_named = np.isin(batch.events["kind"], [*_NAMED_KINDS[True], *_NAMED_KINDS[False]])
    own = np.repeat(launch, batch.counts)[is_named]
    for pair in np.unique(own << 32 | batch.events["id"][is_named]).tolist():
        ids[pair >> 32].add(pair & 0xFFFFFFFF)


def _tell_kernels(
    naming: Naming, told: tuple[str, ...], ids: list[set[int]]
) -> tuple[tuple[str, ...], Ints]:
    """Return the names of all kernels, and which of them each launch is of.

    A launch is of the kernel that has all of its events. As a kernel that was compiled later may
    list those of earlier ones as well, the one with the fewest others counts, if it is one only.
    """
    rows: dict[str, int] = {}
    of_launch = np.zeros(len(ids), np.int64)
    for launch, own in enumerate(ids):
        fitting = [(len(known), name) for name, known in naming.kernels if own and own <= known]
        names = {name for size, name in fitting if size == min(fitting)[0]}
        name = names.pop() if len(names) == 1 else naming.kernel
        name = (told[launch] if told else "") or name
        of_launch[launch] = rows.setdefault(name, len(rows))
    return tuple(rows) or (naming.kernel,), of_launch


def in_order(found: Found, waves: Columns) -> tuple[Columns, Ints, Ints]:
    """Return waves in the model's order, the row that each of them had, and launches in theirs."""
    of = found.launches.of_wave
    first = _first_of_launch(found, waves)
    launches = np.argsort(first, kind="stable")
    place = np.empty(len(first), np.int64)
    place[launches] = np.arange(len(first))
    block = waves["block"]
    keys = (waves["slot"], waves["wave"], block[:, 0], block[:, 1], block[:, 2], place[of])
    order = np.lexsort(keys)
    waves = waves[order]
    waves["dispatch"], waves["group"] = place[of][order], NONE
    return waves, order, launches


def _first_of_launch(found: Found, waves: Columns) -> Ints:
    """Return when each launch began; waves without a time of their own get that of their launch."""
    of = found.launches.of_wave
    is_silent = (waves["begin_ticks"] == 0) & (waves["end_ticks"] == 0)
    has_time = is_timed(waves) & ~is_silent
    times = _times(found, waves, has_time)
    first = np.full(len(found.launches.streams), times.min() if len(times) else 0, np.int64)
    is_late = np.zeros(len(first), np.bool_)
    is_late[of[has_time]] = True
    first[is_late] = np.iinfo(np.int64).max
    np.minimum.at(first, of[has_time], times)
    if found.lines is None:
        for name in ("begin_ticks", "end_ticks"):
            waves[name][is_silent] = first[of[is_silent]]
    return first


def is_timed(waves: Columns) -> Flags:
    """Tell which waves have a clock: all but those whose header means nothing."""
    return np.asarray((waves["flags"] & WaveFlag.TORN) == 0, np.bool_)


def _times(found: Found, waves: Columns, rows: Flags) -> Ints:
    """Return when waves began, as well as it is needed to put launches in order."""
    ticks = waves["begin_ticks"][rows]
    if found.lines is None:
        return np.asarray(ticks, np.int64)
    lines = found.lines
    since = np.clip((ticks - lines.ticks[rows]) * lines.slope[rows], -_MOST_NS, _MOST_NS)
    return np.asarray(lines.ns[rows] + since.astype(np.int64), np.int64)


def make_headers(found: Found, waves: Columns, words: Ints, kernel: Ints) -> Headers:
    """Return what the decoder must know of waves that have so many words."""
    rows = np.zeros(len(waves), native.WAVE)
    rows["row"] = np.arange(len(waves))
    rows["main_words"], rows["kernel"] = words, kernel
    rows["region_words"] = words + _REGION_SPARE
    rows["flags"] = waves["flags"]
    # Words of eager waves are in order of time: an end finds its begin by its id.
    rows["flags"] |= np.uint32(native.ReaderFlag.EAGER * found.is_paired_by_id)
    rows["begin_ticks"], rows["end_ticks"] = waves["begin_ticks"], waves["end_ticks"]
    return Headers(waves, rows, np.zeros((len(waves), 2), np.int64))
