"""Timelines with payloads and names of one's choice, for tests of what exports make of them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hypothesis import strategies as st

from ktrace_cli.export.output import Sink
from ktrace_cli.model import Timeline
from support.timelines import FETCH, LOAD, MARK, OUTER, STORE, TILE, decode
from support.traces import exact
from support.words import (
    Value,
    boolean,
    f32,
    f64,
    i32,
    i64,
    mark,
    pop,
    push,
    span,
    start,
    stop,
    u32,
    u64,
)

BEGIN = 21_000  # cycles: 10 us at 2.1 GHz


class Taken(Sink):
    """Keeps what is written to it."""

    def __init__(self) -> None:
        self.content = b""

    def write(self, data: bytes, /) -> None:
        self.content += data

    def text(self) -> str:
        return self.content.decode()


def small(folder: Path) -> Timeline:
    """One workgroup, two waves: nested ranges, two that overlap on a lane, a token, a mark."""
    first = [
        push(OUTER, BEGIN + 2_100, values=[i32(-7), boolean(True)]),
        span(TILE, BEGIN + 4_200, BEGIN + 6_300),
        start(LOAD, BEGIN + 6_300, token="a"),
        start(LOAD, BEGIN + 8_400, token="b"),
        mark(MARK, BEGIN + 10_500, values=[f32(0.1)]),
        stop("a", BEGIN + 12_600),
        stop("b", BEGIN + 14_700),
        pop(BEGIN + 16_800),
    ]
    second = [span(FETCH, BEGIN + 2_100, BEGIN + 2_102), start(STORE, BEGIN + 4_200, token="c")]
    waves = [exact(BEGIN, first), exact(BEGIN, second, wave=1)]
    return decode(waves, folder, edges=[("tile", "load")])


def with_payload(values: Sequence[Value], folder: Path) -> Timeline:
    """A wave with one range whose payload is this."""
    main = [push(OUTER, BEGIN + 2_100, values=values), pop(BEGIN + 4_200)]
    return decode([exact(BEGIN, main)], folder)


def renamed(timeline: Timeline, name: str) -> Timeline:
    """Call all events, lanes and kernels like this, lanes and kernels with a number behind."""
    return replace(
        timeline,
        events=tuple(replace(event, name=name) for event in timeline.events),
        lanes=("", *(f"{name}{n}" for n in range(1, len(timeline.lanes)))),
        kernels=tuple(replace(k, name=f"{name}{n}") for n, k in enumerate(timeline.kernels)),
    )


# Names end at a NUL in the notes.
NAMES = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0")
    | st.sampled_from('",\r\n\t\x01\x7f\\\u2028=<'),
    max_size=20,
)
_I32, _I64 = st.integers(-(1 << 31), (1 << 31) - 1), st.integers(-(1 << 63), (1 << 63) - 1)
VALUES = st.one_of(
    st.booleans().map(boolean),
    _I32.map(i32),
    st.integers(0, (1 << 32) - 1).map(u32),
    st.floats(width=32).map(f32),
    _I64.map(i64),
    st.integers(0, (1 << 64) - 1).map(u64),
    st.floats().map(f64),
)
