"""Words of a wave, written the way one reads them: `push(1, clock=100, values=[i32(7)])`.

Each constructor returns the words of one event in the order in which the device writes them:
payload first. `start(…, token="load")` and `stop("load", …)` find each other by the token's name.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import Kind, ValueType


@dataclass(frozen=True)
class Word:
    clock: int
    kind: int
    id: int = 0
    opens: str = ""  # the token that this START begins
    closes: str = ""  # the token that this STOP ends; its id becomes the START's word number
    raw_tag: int | None = None

    def tag(self, *, is_side: bool) -> int:
        if self.raw_tag is not None:
            return self.raw_tag
        side = layout.TAG_SIDE if is_side else 0
        return self.kind << layout.TAG_KIND_SHIFT | side | self.id


Value = tuple[int, int]  # ValueType, bits
Words = list[Word]


def boolean(value: bool) -> Value:
    return ValueType.BOOL, int(value)


def i32(value: int) -> Value:
    return ValueType.I32, value & 0xFFFFFFFF


def u32(value: int) -> Value:
    return ValueType.U32, value


def f32(value: float) -> Value:
    return ValueType.F32, struct.unpack("<I", struct.pack("<f", value))[0]


def i64(value: int) -> Value:
    return ValueType.I64, value & 0xFFFFFFFFFFFFFFFF


def u64(value: int) -> Value:
    return ValueType.U64, value


def f64(value: float) -> Value:
    return ValueType.F64, struct.unpack("<Q", struct.pack("<d", value))[0]


def unit(unit_key: int) -> Value:
    """The next event's id belongs to the unit with this key."""
    return ValueType.UNIT, unit_key & 0xFFFFFFFF


def payload(values: Sequence[Value]) -> Words:
    words = []
    for value_type, bits in values:
        words.append(Word(bits & 0xFFFFFFFF, Kind.VALUE, value_type))
        if value_type in (ValueType.I64, ValueType.U64, ValueType.F64):
            words.append(Word(bits >> 32, Kind.VALUE, value_type | ValueType.HIGH))
    return words


def event(kind: int, event_id: int, clock: int, values: Sequence[Value] = ()) -> Words:
    return [*payload(values), Word(clock & 0xFFFFFFFF, kind, event_id)]


def push(event_id: int, clock: int, values: Sequence[Value] = ()) -> Words:
    return event(Kind.PUSH, event_id, clock, values)


def pop(clock: int) -> Words:
    return event(Kind.POP, 0, clock)


def start(event_id: int, clock: int, *, token: str, values: Sequence[Value] = ()) -> Words:
    *before, word = event(Kind.START, event_id, clock, values)
    return [*before, replace(word, opens=token)]


def stop(token: str, clock: int) -> Words:
    """Close the START of `token`."""
    return [Word(clock & 0xFFFFFFFF, Kind.STOP, closes=token)]


def stop_word(number: int, clock: int) -> Words:
    """Close whatever lies at word `number` of the region; the first main word is number 16."""
    return event(Kind.STOP, number, clock)


def phase(event_id: int, clock: int, values: Sequence[Value] = ()) -> Words:
    return event(Kind.PHASE, event_id, clock, values)


def phase_end(clock: int) -> Words:
    return event(Kind.PHASE_END, 0, clock)


def mark(event_id: int, clock: int, values: Sequence[Value] = ()) -> Words:
    return event(Kind.MARK, event_id, clock, values)


def group(event_id: int, clock: int) -> Words:
    return event(Kind.GROUP, event_id, clock)


def long_begin(event_id: int, clock: int, values: Sequence[Value] = ()) -> Words:
    return event(Kind.LONG_BEGIN, event_id, clock, values)


def long_end(event_id: int, clock: int) -> Words:
    return event(Kind.LONG_END, event_id, clock)


def anchor(memtime: int, realtime: int) -> Words:
    return event(Kind.ANCHOR, memtime >> 32 & layout.TAG_ID_MASK, memtime, [u64(realtime)])


def span(event_id: int, begin: int, end: int, values: Sequence[Value] = ()) -> Words:
    """A whole RANGE."""
    tag = layout.TAG_SPAN | event_id << layout.SPAN_ID_SHIFT | (end - begin)
    return [*payload(values), Word(end & 0xFFFFFFFF, Kind.RANGE, raw_tag=tag)]


def raw(clock: int, tag: int) -> Words:
    """Any eight bytes; `raw(0, 0)` is a word that was never written."""
    return [Word(clock, 0, raw_tag=tag)]
