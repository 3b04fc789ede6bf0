"""Writes the recordings of this folder: `python tests/golden/make_inputs.py`, run by hand.

A recording that is stored here stays: it shows that files of an old ktrace can still be read.
"""

import sys
from dataclasses import replace
from pathlib import Path

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent))

from ktrace_cli.trace_file import layout  # noqa: E402
from support.recording import Wave  # noqa: E402
from support.timelines import (  # noqa: E402
    CONSUMER,
    DRAIN,
    LOAD,
    MARK,
    MMA,
    OTHER_UNIT_KEY,
    OUTER,
    PRODUCER,
    TILE,
    WHOLE,
    builder,
)
from support.words import (  # noqa: E402
    f32,
    group,
    i32,
    long_begin,
    long_end,
    mark,
    phase,
    phase_end,
    pop,
    push,
    raw,
    span,
    start,
    stop,
    unit,
)


def producer(begin: int) -> list[object]:
    """Loads in flight across iterations, in a push."""
    return [
        group(PRODUCER, begin + 50),
        push(OUTER, begin + 100, values=[i32(-3)]),
        start(LOAD, begin + 200, token="0", values=[i32(0)]),
        start(LOAD, begin + 300, token="1", values=[i32(1)]),
        stop("0", begin + 400),
        start(LOAD, begin + 450, token="2", values=[i32(2)]),
        mark(MARK, begin + 500, values=[f32(0.1)]),
        stop("1", begin + 600),
        stop("2", begin + 700),
        pop(begin + 900),
    ]


def consumer(begin: int) -> list[object]:
    """Phases in tiles."""
    words = [group(CONSUMER, begin + 60)]
    for i in range(3):
        at = begin + 1000 + 1000 * i
        words += [phase(MMA, at + 100), phase(DRAIN, at + 500), phase_end(at + 800)]
        words.append(span(TILE, at, at + 900, values=[i32(i)]))
    return words


def small() -> None:
    """Two dispatches, and one of everything that can go wrong in a wave."""
    recording, kernel = builder(edges=[("load", "mma")])
    recording.add_clock(realtime=0)
    recording.add_clock(realtime=1_000_000)
    recording.add_dispatch(
        kernel,
        [
            Wave(wave=0, hw_id=0x321, main=producer(21_000), begin=21_000, end=105_000),
            Wave(wave=1, hw_id=0x322, main=consumer(21_000), begin=21_000, end=105_000),
        ],
        block=(128, 1, 1),
    )
    begin = 210_000
    helper = [unit(OTHER_UNIT_KEY)]
    broken = [
        Wave(main=[push(OUTER, begin + 100), push(77, begin + 200)]),
        Wave(main=[pop(begin + 100), stop_nothing(begin + 200), phase_end(begin + 300)]),
        Wave(main=[raw(7, 10 << 27 | 1)], header={"main_cursor": 144}),
        Wave(main=[push(OUTER, begin + 100)], state=1),
        Wave(main=[mark(MARK, begin + 100)], header={"dispatch": 9}),
        Wave(main=[push(OUTER, begin + i) for i in range(16)], dropped_main=44),
        Wave(
            main=[span(TILE, begin + 100, begin + 300), span(TILE, begin + 200, begin + 400)],
            side=[long_begin(1, begin + 350, values=helper), long_end(1, begin + 450)],
        ),
        Wave(main=[long_end(WHOLE, begin + 1_500_000)], side=[long_begin(WHOLE, begin + 100)]),
    ]
    waves = [
        Wave(**{**vars(wave), "wave": number, "begin": begin, "end": begin + 2_100_000})
        for number, wave in enumerate(broken)
    ]
    recording.add_dispatch(kernel, waves, block=(512, 1, 1), region_log2=8, expected=9, launch=5)
    recording.add_loss(1, count=2, kernel="gemm", explanation="the device had no memory")
    recording.write(FOLDER / "small.bin", closed=False)


def part() -> None:
    """What is told and is no loss, and what waves and arrows are told of."""
    recording, kernel = builder(edges=[("load", "mma")])
    begin, end = 21_000, 2_121_000
    load = [start(LOAD, begin + 1000, token="a"), stop("a", begin + 1500)]
    mma = [phase(MMA, begin + 2000), phase_end(begin + 2500)]
    earlier = [phase(MMA, begin + 100), phase_end(begin + 200)]
    for flags, grid in ((0, 2), (layout.DispatchFlag.FILTERED, 3)):
        waves = [
            Wave(wave=0, main=load, header={"exec_end": 0xFF}),
            Wave(wave=1, main=mma, header={"xcc_id_end": 1}),
            Wave(wave=0, block=(1, 0, 0), main=earlier),
            Wave(wave=1, block=(1, 0, 0), main=load, header={"memtime_end": begin + 1200}),
        ]
        if flags:
            waves.append(Wave(wave=1, block=(2, 0, 0), main=[*load, *mma]))
        waves = [Wave(**{**vars(wave), "begin": begin, "end": end}) for wave in waves]
        recording.add_dispatch(
            kernel,
            waves,
            grid=(grid, 1, 1),
            block=(128, 1, 1),
            flags=flags,
            expected=0 if flags else 4,
        )
        begin, end = begin + 10_000_000, end + 10_000_000
        load, mma, earlier = (
            [[replace(word, clock=word.clock + 10_000_000) for word in words] for words in group]
            for group in (load, mma, earlier)
        )
    recording.write(FOLDER / "part.bin")


def stop_nothing(clock: int) -> list[object]:
    return [*raw(clock, 5 << 27 | 40)]


if __name__ == "__main__":
    small()
    part()
