"""Gaps between phases, and what goes on while something is in flight on a lane."""

from collections import Counter
from pathlib import Path
from time import process_time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktrace_cli.analysis.axis import Intervals, join, lay_out, shared, union, union_by
from ktrace_cli.analysis.coverage import Coverage, LaneUse
from ktrace_cli.analysis.phases import WAITS, list_phases, matches_any
from ktrace_cli.analysis.results import KernelSummary, Request
from ktrace_cli.analysis.rows import Rows
from ktrace_cli.analysis.summary import summarize
from ktrace_cli.trace_file.layout import DispatchFlag, WaveState
from support.recording import HOST_EPOCH_NS, Wave
from support.timelines import COPY, DRAIN, FETCH, INNER, LOAD, MMA, OUTER, STORE, TILE, decode
from support.words import phase, phase_end, pop, push, span, start, stop

# With waves of 1 ms at 2.1 GHz, 21 cycles are exactly 10 ns.
BEGIN, END = 21_000, 21_000 + 2_100_000

Pairs = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=12)


def at(ns: int) -> int:
    return BEGIN + ns * 21 // 10


def wave(*words: object, number: int = 0) -> Wave:
    return Wave(begin=BEGIN, end=END, main=words, wave=number)


def only_kernel(folder: Path, *waves: Wave, waits: tuple[str, ...] = ()) -> KernelSummary:
    (kernel,) = summarize(decode(waves, folder), Request(waits=waits)).kernels
    return kernel


def covered(pairs: list[tuple[int, int]]) -> set[int]:
    return {ns for begin, length in pairs for ns in range(begin, begin + length)}


def intervals(pairs: list[tuple[int, int]]) -> Intervals:
    begin = np.array([begin for begin, _ in pairs], np.int64)
    return union(begin, begin + np.array([length for _, length in pairs], np.int64))


@given(Pairs, Pairs)
def test_intervals_measure_what_they_have_in_common(
    one: list[tuple[int, int]], other: list[tuple[int, int]]
) -> None:
    first, second = intervals(one), intervals(other)

    assert int(first.length.sum()) == len(covered(one))
    assert int(first.within(second).sum()) == len(covered(one) & covered(other))
    assert int(join(first, second).length.sum()) == len(covered(one) | covered(other))
    assert np.all(first.begin[1:] > first.end[:-1])


@given(st.lists(Pairs, min_size=1, max_size=4))
def test_what_two_of_several_cover_is_found(several: list[list[tuple[int, int]]]) -> None:
    each = [intervals(pairs) for pairs in several]
    begin, end = (np.concatenate([getattr(one, name) for one in each]) for name in ("begin", "end"))

    found = shared(Intervals(begin, end))

    counts = Counter(ns for pairs in several for ns in covered(pairs))
    assert int(found.length.sum()) == sum(count >= 2 for count in counts.values())


@given(st.lists(Pairs, min_size=1, max_size=4), st.sampled_from([0, 1 << 61]))
def test_intervals_of_several_keys_are_joined_within_each(
    several: list[list[tuple[int, int]]], far: int
) -> None:
    rows = [(key, far + at, length) for key, pairs in enumerate(several) for at, length in pairs]
    rows = rows[::2] + rows[1::2]
    key, begin, length = (np.array([row[n] for row in rows], np.int64) for n in range(3))

    found, joined = union_by(key, begin, begin + length)

    each = [intervals(sorted(pairs)) for pairs in several]
    assert found.tolist() == [key for key, one in enumerate(each) for _ in one.begin]
    assert (joined.begin - far).tolist() == [at for one in each for at in one.begin.tolist()]
    assert (joined.end - far).tolist() == [at for one in each for at in one.end.tolist()]


def test_many_lanes_take_no_longer_than_few_with_as_much_in_flight(tmp_path: Path) -> None:
    def seconds(lanes: int) -> float:
        words = [
            word
            for i in range(4_000)
            for word in (
                start(100 + i % lanes, BEGIN + 40 * i, token=f"{i}"),
                push(OUTER, BEGIN + 40 * i + 5),
                pop(BEGIN + 40 * i + 10),
                stop(f"{i}", BEGIN + 40 * i + 20),
            )
        ]
        timeline = decode([wave(*words)], tmp_path, region_log2=18)
        table = list_phases(timeline)
        assert len(table.lanes) == lanes
        (part,) = timeline.parts()
        times = []
        for _ in range(3):
            coverage = Coverage(lay_out(timeline), table, 1)
            begin = process_time()
            coverage.add(Rows(timeline, table, part))
            times.append(process_time() - begin)
        return min(times)

    assert seconds(4_000) < 20 * seconds(4)  # where lanes are looked at one by one, 150 times


def test_gaps_are_between_the_top_level_phases_of_one_wave(tmp_path: Path) -> None:
    kernel = only_kernel(
        tmp_path,
        wave(
            push(OUTER, at(100)),
            span(TILE, at(150), at(200)),
            span(TILE, at(300), at(350)),
            pop(at(400)),
            phase(MMA, at(500)),
            phase(DRAIN, at(600)),
            phase_end(at(700)),
            span(TILE, at(1000), at(1100)),
        ),
        wave(span(TILE, at(5000), at(6000)), number=1),
    )

    gaps = kernel.gaps
    assert (gaps.times.count, gaps.times.total_ns) == (2, 400)
    assert (gaps.times.percentile(50), gaps.times.percentile(99)) == (100, 300)
    assert (gaps.before_first_ns, gaps.after_last_ns) == (100 + 5000, 998_900 + 994_000)
    top_level = 300 + 200 + 100 + 1000
    between = gaps.before_first_ns + gaps.after_last_ns + gaps.times.total_ns
    assert top_level + between == kernel.wave_ns == 2_000_000


def test_a_wave_without_a_phase_is_all_before_its_first(tmp_path: Path) -> None:
    gaps = only_kernel(tmp_path, wave()).gaps

    assert (gaps.times.count, gaps.before_first_ns, gaps.after_last_ns) == (0, 1_000_000, 0)


def test_what_is_in_flight_is_overlapped_or_exposed(tmp_path: Path) -> None:
    kernel = only_kernel(
        tmp_path,
        wave(
            start(LOAD, at(100), token="a"),
            push(OUTER, at(200)),
            start(LOAD, at(250), token="b"),
            span(TILE, at(260), at(280)),
            pop(at(300)),
            stop("a", at(400)),
            stop("b", at(600)),
        ),
        wave(span(TILE, at(100), at(900)), number=1),
    )

    assert kernel.lanes == (
        LaneUse(
            lane="vmem",
            ranges=2,
            in_flight_ns=500,
            overlapped_ns=100,
            waiting_ns=0,
            beside_ns=0,
            exposed_ns=400,
        ),
    )


def test_what_is_in_flight_during_a_wait_is_not_overlapped(tmp_path: Path) -> None:
    words = (
        start(LOAD, at(100), token="a"),
        push(OUTER, at(100)),
        push(INNER, at(200)),
        pop(at(300)),
        pop(at(500)),
        stop("a", at(700)),
    )

    (lane,) = only_kernel(tmp_path, wave(*words), waits=("in*",)).lanes

    assert (lane.in_flight_ns, lane.overlapped_ns, lane.waiting_ns) == (600, 300, 100)
    assert lane.exposed_ns == 200


def test_other_lanes_alone_are_told_apart_from_nothing(tmp_path: Path) -> None:
    words = (
        start(STORE, at(100), token="a"),
        span(FETCH, at(200), at(300)),
        stop("a", at(400)),
        push(COPY, at(350)),
        pop(at(500)),
    )

    lanes = {
        lane.lane: (lane.in_flight_ns, lane.overlapped_ns, lane.beside_ns, lane.exposed_ns)
        for lane in only_kernel(tmp_path, wave(*sorted(words, key=lambda w: w[-1].clock))).lanes
    }

    assert lanes == {
        "dma": (150, 0, 50, 100),
        "store": (300, 0, 150, 150),
        "vmem": (100, 0, 100, 0),
    }


def test_what_had_not_ended_is_not_in_flight(tmp_path: Path) -> None:
    timeline = decode(
        [
            Wave(side=[push(OUTER, 2_100), pop(2_102_100)], begin=2_100, end=2_102_100),
            Wave(
                side=[start(LOAD, 21_000, token="a")],
                wave=1,
                begin=2_100,
                end=2_100,
                state=WaveState.BEGUN,
            ),
        ],
        tmp_path,
        flags=DispatchFlag.EAGER | DispatchFlag.UNFINISHED,
        launched_ns=HOST_EPOCH_NS + 1_000,
        completed_ns=HOST_EPOCH_NS + 2_000_000,
    )

    (kernel,) = summarize(timeline).kernels

    assert kernel.lanes == ()
    assert [(phase.name, phase.open) for phase in kernel.phases if phase.open] == [("load", 1)]


@pytest.mark.parametrize("name", ["wait", "WAIT_lds", "s_barrier", "sync_threads", "lds_wait"])
def test_names_of_waits_are_known_without_being_told(name: str) -> None:
    assert matches_any(name, WAITS)
    assert not matches_any("mma", WAITS)
