"""FlyDSL's buffer to waves and events: what its own decoder rejects is kept and counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from ktrace_cli.foreign.events import (
    CLOCK_LIMIT,
    EVENT,
    NO_START,
    NO_VALUE,
    EventBatch,
    hold_clocks,
    rows_of,
)
from ktrace_cli.foreign.flydsl.layout import (
    HAS_PAYLOAD,
    ID_MASK,
    KIND_MASK,
    KIND_SHIFT,
    RECORD,
    REGION_SLOTS,
    TYPE_MASK,
    TYPE_SHIFT,
)
from ktrace_cli.foreign.flydsl.regions import Regions, Survey
from ktrace_cli.model import WAVE, Columns, WaveFlag
from ktrace_cli.timeline.segments import Ints
from ktrace_cli.trace_file.layout import Kind, ValueType

_START, _STOP = 3, 4
_KNOWN_KINDS = 5
_KINDS = np.array([Kind.MARK, Kind.PUSH, Kind.POP, Kind.START, Kind.STOP, *[Kind.MARK] * 3], "u1")
_KNOWN_TYPES = 5
_TYPES = np.array(
    [
        *(ValueType.U64, ValueType.I64, ValueType.F32, ValueType.F64, ValueType.BOOL),
        *[ValueType.U64] * 3,
    ],
    "u1",
)
_PLACE = np.uint32(0xFF3F)  # wave slot, SIMD, CU, shader array and SE of HW_ID


@dataclass(frozen=True)
class FlydslReader:
    """Reads the events of regions: an EventReader, whose slots are regions."""

    regions: Regions
    survey: Survey
    first_slot: int
    """What the device called the first slot of the first region."""

    def __call__(self, slots: Ints) -> EventBatch:
        """Read the events of some waves."""
        used = self.survey.last[slots]
        plain = self.regions.records.view(f"V{RECORD.itemsize}")
        raw = plain[rows_of(slots * REGION_SLOTS + 1, used)].view(RECORD)
        is_there = raw["ts"] != 0
        wave = np.repeat(np.arange(len(slots)), used)
        kinds = raw["packed"] >> np.uint32(KIND_SHIFT) & np.uint32(KIND_MASK)
        start = self._starts(slots, raw, kinds, (wave, is_there, np.cumsum(used) - used))
        counts = used
        if not is_there.all():
            raw, wave, kinds, start = (each[is_there] for each in (raw, wave, kinds, start))
            counts = np.bincount(wave, minlength=len(slots))
        events = np.zeros(len(raw), EVENT)
        events["ticks"] = np.minimum(raw["ts"], np.uint64(CLOCK_LIMIT)).astype(np.int64)
        events["id"], events["start"] = raw["packed"] & np.uint32(ID_MASK), start
        events["kind"] = _KINDS[kinds]
        losses = Counter(unknown_kinds=int(np.count_nonzero(kinds >= _KNOWN_KINDS)))
        losses["unknown_payloads"] = _put_payload(events, raw)
        losses["clamped_words"] = hold_clocks(events["ticks"], counts)
        losses.update(self._counted(slots))
        return EventBatch(counts, events, _moved(raw, wave, counts), losses)

    def _starts(
        self, slots: Ints, raw: Columns, kinds: Columns, rows: tuple[Ints, Columns, Ints]
    ) -> Ints:
        """Return of each stop the number of its start among the events of its wave."""
        wave, is_there, first = rows
        found = np.full(len(raw), NO_START, np.int64)
        stops = np.flatnonzero(kinds == _STOP)
        if not len(stops):
            return found
        of = wave[stops]
        region = self.first_slot + slots[of] * REGION_SLOTS
        row = first[of] + raw["start"][stops].astype(np.int64) - region - 1
        # A stop in front of its start, or of one in another wave, stops nothing.
        is_own = (row >= first[of]) & (row < stops)
        row = np.where(is_own, row, 0)
        is_own &= is_there[row] & (kinds[row] == _START)
        number = np.cumsum(is_there) - 1
        before = np.concatenate(([0], number + 1))[first[of]]
        found[stops] = np.where(is_own, number[row] - before, NO_START)
        return found

    def _counted(self, slots: Ints) -> Counter[str]:
        """Count what these waves say that they wrote, and is not there, or the other way round."""
        survey, attempted = self.survey, self.regions.headers["attempted"][slots].astype(np.int64)
        told = np.minimum(attempted, self.regions.layout.holds(slots))
        lacking = np.maximum(told, survey.last[slots]) - survey.written[slots]
        return Counter(
            unwritten_events=int(lacking.sum()), uncounted_events=int(survey.beyond[slots].sum())
        )


def _put_payload(events: Columns, raw: Columns) -> int:
    """Set the payload of events; return how many are of a type that is not known."""
    has = raw["packed"] & np.uint32(HAS_PAYLOAD) != 0
    types = raw["packed"] >> np.uint32(TYPE_SHIFT) & np.uint32(TYPE_MASK)
    events["type"] = np.where(has, _TYPES[types], np.uint8(NO_VALUE))
    events["bits"] = raw["payload"]
    return int(np.count_nonzero(has & (types >= _KNOWN_TYPES)))


def _moved(raw: Columns, wave: Ints, counts: Ints) -> Ints:
    flags = np.zeros(len(counts), np.int64)
    first = (np.cumsum(counts) - counts)[wave]
    differs = (raw["hw_id"] ^ raw["hw_id"][first]) & _PLACE
    differs |= (raw["xcc_id"] ^ raw["xcc_id"][first]) & np.uint32(0xF)
    flags[wave[differs != 0]] = WaveFlag.MOVED
    return flags


def list_waves(regions: Regions, survey: Survey) -> tuple[Columns, Columns]:
    """Return model.WAVE of all regions that hold one, and their headers."""
    numbers = np.flatnonzero(survey.is_wave)
    headers = regions.headers[numbers]
    waves = np.zeros(len(numbers), WAVE)
    waves["slot"], waves["wave"] = numbers, headers["wave"] & np.uint32(0xFF)
    blocks = (headers["block_x"], headers["block_y"], headers["wave"] >> np.uint32(8))
    waves["block"] = np.column_stack(blocks)
    has_events = survey.first[numbers] > 0
    events = regions.records[numbers * REGION_SLOTS + survey.first[numbers]]
    hw_id = np.where(has_events, events["hw_id"], np.uint32(0))
    waves["xcc"] = np.where(has_events, events["xcc_id"] & np.uint32(0xF), 0)
    waves["hardware_slot"], waves["simd"] = hw_id & 0xF, hw_id >> 4 & 3
    waves["cu"], waves["se"] = hw_id >> 8 & 0x1F, hw_id >> 13 & 7
    attempted = headers["attempted"].astype(np.int64)
    dropped = np.maximum(attempted - regions.layout.holds(numbers), 0)
    waves["dropped"] = dropped
    waves["flags"] = np.where(attempted == 0, WaveFlag.UNFINISHED, 0)
    waves["flags"] |= np.where(dropped > 0, WaveFlag.DROPPED, 0).astype(np.uint16)
    return waves, headers
