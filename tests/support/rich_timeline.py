"""A recording that has something of everything that a viewer shows."""

from dataclasses import replace
from pathlib import Path

from ktrace_cli.model import Timeline
from support.recording import Wave
from support.timelines import (
    CONSUMER,
    DRAIN,
    FETCH,
    INNER,
    LOAD,
    MARK,
    MMA,
    OUTER,
    PRODUCER,
    TILE,
    build,
    builder,
)
from support.words import (
    Words,
    boolean,
    f32,
    f64,
    group,
    i32,
    i64,
    mark,
    phase,
    phase_end,
    pop,
    push,
    span,
    start,
    stop,
    u64,
)


def rich_timeline(folder: Path) -> Timeline:
    """Two dispatches of four waves: nesting, lanes, tokens, phases, marks, payloads, arrows."""
    recording, kernel = builder(edges=[("load", "mma")])
    for number in range(2):
        producer = [
            group(PRODUCER, 1_010),
            push(OUTER, 1_100, values=[i32(-7), f32(0.1)]),
            start(LOAD, 1_200, token="a"),
            push(INNER, 1_300),
            start(LOAD, 1_400, token="b"),
            pop(1_500),
            mark(MARK, 1_550, values=[i64(-(1 << 40)), boolean(True)]),
            stop("a", 1_600),
            stop("b", 1_702),
            pop(1_800 + number),
            span(TILE, 1_900, 2_901),
        ]
        consumer = [
            group(CONSUMER, 1_020),
            phase(MMA, 3_001, values=[u64((1 << 64) - 1)]),
            phase(DRAIN, 4_003, values=[f64(-0.5)]),
            span(FETCH, 4_100, 4_200),
            phase_end(5_007),
            mark(MARK, 6_000),
            mark(MARK, 6_013),
        ]
        base = 20_000 * number
        waves = [
            Wave(
                block=(block, 0, 0),
                wave=wave,
                begin=base + 1_000,
                end=base + 9_001,
                xcc=block,
                hw_id=wave << 4,
                main=[_later(words, base) for words in own],
            )
            for block in range(2)
            for wave, own in enumerate((producer, consumer))
        ]
        recording.add_dispatch(kernel, waves, grid=(2, 1, 1), block=(128, 1, 1))
    return build(recording, folder)


def _later(words: Words, cycles: int) -> Words:
    """Move an event in time; the words of its payload have no clock."""
    *payload, last = words
    return [*payload, replace(last, clock=last.clock + cycles)]
