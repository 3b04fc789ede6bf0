"""Counts, totals, self times and percentiles."""

from pathlib import Path

import pytest

from ktrace_cli.analysis.buckets import Bucket
from ktrace_cli.analysis.document import to_document
from ktrace_cli.analysis.durations import Times
from ktrace_cli.analysis.phase_times import Phase
from ktrace_cli.analysis.results import KernelSummary, Mark
from ktrace_cli.analysis.summary import summarize
from support.recording import Wave
from support.timelines import (
    FETCH,
    INNER,
    LOAD,
    MARK,
    OUTER,
    TILE,
    WHOLE,
    build,
    builder,
    code_object,
    decode,
)
from support.words import mark, pop, push, span, start, stop

# With waves of 1 ms at 2.1 GHz, 21 cycles are exactly 10 ns.
BEGIN, END = 21_000, 21_000 + 2_100_000


def at(ns: int) -> int:
    return BEGIN + ns * 21 // 10


def wave(*words: object, number: int = 0) -> Wave:
    return Wave(begin=BEGIN, end=END, main=words, wave=number)


def only_kernel(folder: Path, *waves: Wave) -> KernelSummary:
    (kernel,) = summarize(decode(waves, folder)).kernels
    return kernel


def test_a_phase_has_its_count_times_and_percentiles(tmp_path: Path) -> None:
    spans = [span(TILE, at(1000 * i), at(1000 * i + 10 * i)) for i in range(1, 11)]

    kernel = only_kernel(tmp_path, wave(*spans))

    assert kernel.phases == (
        Phase(
            name="tile",
            kind="range",
            lane="",
            share=0.00055,
            times=Times(
                count=10,
                total_ns=550,
                self_ns=550,
                mean_ns=55.0,
                cv=0.522233,
                variance_population=825.0,
                variance_sample=916.667,
                min_ns=10,
                percentiles=(10, 10, 30, 50, 80, 90, 100, 100),
                max_ns=100,
                zero_length=0,
                histogram=(
                    Bucket(8, 16, 1),
                    Bucket(16, 32, 2),
                    Bucket(32, 64, 3),
                    Bucket(64, 128, 4),
                ),
            ),
            unclosed=0,
            open=0,
        ),
    )
    assert (kernel.name, kernel.dispatches, kernel.waves) == ("gemm", 1, 1)
    assert kernel.signature == "gemm(float*, int)"
    assert kernel.wave_ns == 1_000_000


def test_self_time_leaves_out_what_nests_directly_inside(tmp_path: Path) -> None:
    kernel = only_kernel(
        tmp_path,
        wave(
            push(OUTER, at(100)),
            push(INNER, at(200)),
            span(TILE, at(210), at(240)),
            pop(at(300)),
            span(TILE, at(400), at(450)),
            start(LOAD, at(500), token="a"),
            stop("a", at(900)),
            pop(at(1000)),
        ),
    )

    times = {phase.name: (phase.times.total_ns, phase.times.self_ns) for phase in kernel.phases}
    assert times == {"outer": (900, 750), "inner": (100, 70), "tile": (80, 80), "load": (400, 400)}


def test_overlapping_tokens_are_one_phase_whatever_their_lane(tmp_path: Path) -> None:
    kernel = only_kernel(
        tmp_path,
        wave(
            start(LOAD, at(100), token="a"),
            start(LOAD, at(200), token="b"),
            stop("a", at(300)),
            stop("b", at(500)),
        ),
    )

    (phase,) = kernel.phases
    assert (phase.name, phase.lane) == ("load", "vmem")
    assert (phase.times.count, phase.times.total_ns) == (2, 500)


def test_lanes_named_in_the_source_are_told_and_have_their_own_self_times(tmp_path: Path) -> None:
    kernel = only_kernel(
        tmp_path,
        wave(
            push(OUTER, at(100)),
            span(FETCH, at(200), at(300)),
            span(TILE, at(400), at(450)),
            pop(at(1000)),
        ),
    )

    assert [(phase.name, phase.lane, phase.times.self_ns) for phase in kernel.phases] == [
        ("outer", "", 850),
        ("fetch", "vmem", 100),
        ("tile", "", 50),
    ]


def test_marks_and_slices_of_no_length_are_counted(tmp_path: Path) -> None:
    kernel = only_kernel(
        tmp_path,
        wave(mark(MARK, at(10)), span(TILE, at(100), at(100)), span(TILE, at(200), at(210))),
        wave(mark(MARK, at(10)), push(OUTER, at(20)), number=1),
    )

    assert kernel.marks == (Mark("published", 2),)
    counts = {p.name: (p.times.count, p.times.zero_length, p.unclosed) for p in kernel.phases}
    assert counts == {"tile": (2, 1, 0), "outer": (1, 1, 1)}


def test_kernels_of_one_name_are_one_kernel(tmp_path: Path) -> None:
    recording, first = builder()
    again = recording.add_code_object(code_object(edges=[("load", "mma")]))
    second = recording.add_kernel(
        "_Z4gemmPfiN6ktrace4sinkE", code_object=again, unit_key=0x5555_0000_1111
    )
    for kernel in (first, second, second):
        recording.add_dispatch(kernel, [wave(span(WHOLE, at(100), at(200)))])

    (summary,) = summarize(build(recording, tmp_path)).kernels

    assert (summary.dispatches, summary.waves) == (3, 3)
    assert [(p.name, p.times.count, p.times.total_ns) for p in summary.phases] == [
        ("whole", 3, 300)
    ]


def test_json_has_the_promised_keys(tmp_path: Path) -> None:
    timeline = decode([wave(span(TILE, at(100), at(110)), pop(at(200)))], tmp_path)

    document = to_document(summarize(timeline))

    assert list(document) == [
        *("schema", "unit"),
        *("kernels", "launches", "process", "losses", "device", "devices", "unfinished"),
        *("by", "waits", "is_window", "quality"),
    ]
    assert document["unfinished"] == []
    assert document["launches"] == 1
    assert document["process"] == {
        "pid": 4242,
        "parent_pid": 4241,
        "host": "host",
        "directory": "/home/user",
        "arguments": ("app", "--size", "64"),
        "boottime_ns": 1_700_000_000_000_000_000,
        "monotonic_ns": 1_699_999_999_999_995_000,
        "realtime_ns": 1_700_000_000_000_007_000,
    }
    (kernel,) = document["kernels"]
    assert list(kernel) == [
        "name",
        "signature",
        "mangled",
        "target",
        "dispatches",
        "waves",
        "wave_ns",
        "unfinished_waves",
        "filtered_dispatches",
        "words",
        "side_words",
        "phases",
        "marks",
        "launch_times",
        "imbalance",
        "wave_starts",
        "tail",
        "longest_wave",
        "gaps",
        "lanes",
        "units",
    ]
    assert list(kernel["phases"][0]) == [
        "name",
        "kind",
        "lane",
        "count",
        "total_ns",
        "share",
        "self_ns",
        "mean_ns",
        "min_ns",
        *(f"p{percent}_ns" for percent in (5, 10, 25, 50, 75, 90, 95, 99)),
        "max_ns",
        "zero_length",
        "unclosed",
        "open",
        "cv",
        "variance_population",
        "variance_sample",
        "histogram",
    ]
    assert document["losses"] == {"stray_ends": 1}
    assert document["device"]["target"] == "gfx942:sramecc+:xnack-"
    assert document["device"]["modelled_time"] is True
    assert document["device"]["core_hz"] == pytest.approx(2.1e9)


def test_an_empty_recording_has_an_empty_summary(tmp_path: Path) -> None:
    recording, _ = builder()

    assert summarize(build(recording, tmp_path)).kernels == ()


def test_a_wave_without_events_is_a_kernel_without_phases(tmp_path: Path) -> None:
    kernel = only_kernel(tmp_path, wave())

    assert (kernel.waves, kernel.phases, kernel.marks) == (1, (), ())


def test_a_range_for_whose_end_its_wave_had_no_room_is_in_no_time(tmp_path: Path) -> None:
    words = [push(OUTER, at(0)), pop(at(1_000)), push(OUTER, at(2_000)), mark(MARK, at(900_000))]

    kernel = only_kernel(tmp_path, Wave(begin=BEGIN, end=END, main=words, dropped_main=120))

    (phase,) = kernel.phases
    assert (phase.times.count, phase.times.total_ns, phase.times.max_ns) == (1, 1_000, 1_000)
    assert (phase.open, phase.unclosed) == (1, 0)
