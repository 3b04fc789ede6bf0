"""Every importer on input that nobody meant: an answer or a KtraceError, and nothing is lost."""

import json
import sqlite3
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ktrace_cli.errors import KtraceError
from ktrace_cli.export.merged_lanes import assign_lanes
from ktrace_cli.importers.builder import Builder, Source
from ktrace_cli.importers.clocks import Placement
from ktrace_cli.importers.files import find_inputs
from ktrace_cli.importers.host_trace import Clock, HostTrace, HostTrack, Kind
from ktrace_cli.importers.inputs import RecordingInput, TraceInput
from ktrace_cli.importers.json_file import parse_json
from ktrace_cli.importers.kernel_names import is_same_kernel
from ktrace_cli.importers.kineto import read_kineto
from ktrace_cli.importers.matching import match
from ktrace_cli.importers.perfetto_trace import read_perfetto
from ktrace_cli.importers.reader import read_traces
from ktrace_cli.importers.rocpd import read_rocpd
from ktrace_cli.importers.rocprofv3_csv import read_rocprofv3_csv
from ktrace_cli.importers.rocprofv3_json import read_rocprofv3_json
from ktrace_cli.model import NONE
from ktrace_cli.timeline.build import build_timeline
from ktrace_cli.trace_file.reader import read_recording
from support.host_traces import (
    SMALL_ROCPD,
    call,
    complete,
    dispatch,
    kernel_csv,
    kernel_row,
    kineto,
    make_rocpd,
    recording,
    results_json,
    symbol,
)
from support.recording import HOST_EPOCH_NS

PATH = Path("x")
many = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


def check(trace: HostTrace) -> None:
    """Rows name rows that exist, and times are in order."""
    slices = trace.slices
    assert (slices["begin_ns"] <= slices["end_ns"]).all()
    assert (slices["begin_ns"][1:] >= slices["begin_ns"][:-1]).all()
    assert (slices["track"] < len(trace.tracks)).all()
    assert (slices["name"] < len(trace.strings)).all()
    for argument in trace.arguments:
        assert len(argument.rows) == len(argument.values)
        assert (argument.rows < len(slices)).all()
    for end in ("source", "destination"):
        assert (trace.flows[end] < len(slices)).all()
    assert len(assign_lanes(trace)) == len(slices)


@many
@given(data=st.binary(max_size=200))
def test_any_bytes_are_an_input_or_an_error(data: bytes, tmp_path: Path) -> None:
    for name in ("x.csv", "x.json", "x.db", "x.pftrace"):
        path = tmp_path / name
        path.write_bytes(data)
        with suppress(KtraceError):
            found, _ = find_inputs([path])
            for one in found:
                for trace in read_traces(one):
                    check(trace.trace)


@many
@given(
    name=st.text(
        st.characters(
            codec="utf-8", exclude_characters="\r\n\0\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
        )
    )
)
def test_any_name_of_a_kernel_survives_a_csv_file(name: str, tmp_path: Path) -> None:
    path = tmp_path / "kernel_trace.csv"
    rows = [kernel_row(name, 5, 6), kernel_row("next", 7, 8)]
    path.write_text(kernel_csv(rows), newline="")

    trace = read_rocprofv3_csv([path])

    escaped = name.replace('""', '"') if '"' not in name.replace('""', "") else name
    assert trace.name_of(0) == escaped.removesuffix(".kd")
    assert [int(ns) for ns in trace.slices["begin_ns"]] == [5, 7]


@many
@given(lines=st.lists(st.text('",\n14aZ\u00e9', max_size=60), max_size=8))
def test_any_lines_between_rows_lose_no_row(lines: list[str], tmp_path: Path) -> None:
    path = tmp_path / "kernel_trace.csv"
    first, last = kernel_row("first", 5, 6), kernel_row("last", 7, 8)
    text = kernel_csv([first]) + "".join(f"{line}\n" for line in lines)
    path.write_text(text + kernel_csv([last]).partition("\n")[2])

    trace = read_rocprofv3_csv([path])

    check(trace)
    assert trace.name_of(0) == "first"
    lost = [line for line in "\n".join(lines).split("\n") if line]
    if lost:
        assert trace.repairs.malformed_rows or trace.name_of(len(trace.slices) - 1) != "last"
    else:
        assert trace.name_of(1) == "last"


@many
@given(data=st.binary(max_size=300))
def test_any_bytes_are_json_or_an_error(data: bytes) -> None:
    with suppress(KtraceError):
        parse_json(data, PATH, Counter())


@many
@given(document=values, cut=st.integers(0, 200))
def test_json_that_is_cut_off_anywhere_is_read_or_an_error(document: Any, cut: int) -> None:
    text = json.dumps({"traceEvents": [document, {"a": 1}]}).encode()
    try:
        parsed = parse_json(text[:-cut] if cut else text, PATH, Counter())
    except KtraceError:
        return
    assert isinstance(parsed, dict)


keys = st.sampled_from(["ph", "cat", "name", "pid", "tid", "ts", "dur", "id", "args"])
phases = st.sampled_from(["X", "B", "E", "i", "s", "f", "M", "C", "?"])


@many
@given(
    events=st.lists(
        st.builds(lambda phase, rest: {**rest, "ph": phase}, phases, st.dictionaries(keys, values)),
        max_size=8,
    ),
    base=scalars,
)
def test_any_events_are_a_trace(events: list[Any], base: Any) -> None:
    good = complete("good", "cpu_op", 10, 5)
    document = kineto([good, *events], baseTimeNanoseconds=base)

    trace = read_kineto(json.dumps(document).encode(), PATH)

    check(trace)
    assert "good" in trace.strings


@many
@given(data=st.data())
def test_any_change_of_a_results_json_is_a_trace_or_an_error(data: st.DataObject) -> None:
    document = results_json(
        symbols=[symbol(9, "gemm")],
        kernel_dispatch=[dispatch(9, 2_000, 3_000)],
        hip_api=[call(0, 1_000, 1_100)],
    )
    here: Any = document
    while isinstance(here, (dict, list)) and here:
        key = data.draw(
            st.sampled_from(sorted(here) if isinstance(here, dict) else range(len(here)))
        )
        if not isinstance(here[key], (dict, list)) or not here[key] or data.draw(st.booleans()):
            here[key] = data.draw(values)
            break
        here = here[key]
    with suppress(KtraceError):
        for trace in read_rocprofv3_json(document, PATH):
            check(trace)


@many
@given(data=st.data())
def test_any_value_in_a_database_is_a_trace_or_an_error(
    data: st.DataObject, tmp_path: Path
) -> None:
    path = tmp_path / "x.db"
    path.unlink(missing_ok=True)
    table = data.draw(st.sampled_from(sorted(SMALL_ROCPD)))
    rows = [list(row) for row in SMALL_ROCPD[table]]
    row = data.draw(st.integers(0, len(rows) - 1))
    column = data.draw(st.integers(0, len(rows[row]) - 1))
    rows[row][column] = data.draw(
        st.none()
        | st.integers(-(1 << 63), (1 << 63) - 1)
        | st.floats(allow_nan=False)
        | st.text(st.characters(codec="utf-8"), max_size=5)
        | st.binary(max_size=5)
    )

    trace = read_rocpd(make_rocpd(path, {**SMALL_ROCPD, table: rows}))

    check(trace)
    lost = trace.repairs.no_times
    assert len(trace.slices) + lost == 5


@many
@given(data=st.binary(max_size=300))
def test_any_packets_are_a_trace_or_an_error(data: bytes) -> None:
    with suppress(KtraceError):
        check(read_perfetto(data, PATH))


@many
@given(
    ranges=st.lists(st.tuples(st.integers(1, 40), st.integers(0, 20)), max_size=30),
    kind=st.sampled_from([Kind.CALL, Kind.KERNEL]),
)
def test_slices_of_a_lane_nest_and_kernels_never_overlap(
    ranges: list[tuple[int, int]], kind: Kind
) -> None:
    builder = Builder()
    track = builder.track(HostTrack(builder.process(1), "t"))
    builder.add(
        kind,
        {
            "track": [track] * len(ranges),
            "name": [builder.text("a")] * len(ranges),
            "begin_ns": [begin for begin, _ in ranges],
            "end_ns": [begin + length for begin, length in ranges],
        },
    )
    trace = builder.build(Source(PATH, "made", Clock.BOOTTIME))

    lanes = assign_lanes(trace)

    pairs = [(row, other) for row in range(len(lanes)) for other in range(row)]
    for row, other in pairs:
        if lanes[row] != lanes[other]:
            continue
        early, late = trace.slices[other], trace.slices[row]
        apart = late["begin_ns"] >= early["end_ns"]
        inside = kind is Kind.CALL and late["end_ns"] <= early["end_ns"]
        assert apart or inside


@many
@given(name=st.text("ab<>():, ~._Z3N6E…", max_size=20))
def test_any_two_names_can_be_compared(name: str) -> None:
    assert isinstance(is_same_kernel("_Z4gemmPfi", name), bool)
    assert is_same_kernel(name, name) or not name.strip()


def test_a_database_that_is_no_longer_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KtraceError) as problem:
        read_rocpd(tmp_path / "gone.db")

    assert isinstance(problem.value.__cause__, sqlite3.Error)


@many
@given(
    ours=st.lists(st.tuples(st.integers(1, 60), st.integers(1, 20)), min_size=1, max_size=8),
    theirs=st.lists(st.tuples(st.integers(1, 60), st.integers(0, 20)), max_size=8),
)
def test_each_dispatch_is_at_most_one_kernel_and_each_kernel_one_dispatch(
    ours: list[tuple[int, int]], theirs: list[tuple[int, int]], tmp_path: Path
) -> None:
    launches = [(1_000 * begin, 1_000 * (begin + length)) for begin, length in ours]
    path = recording(tmp_path / "a.bin", launches=launches)
    builder = Builder()
    track = builder.track(HostTrack(builder.process(0), "queue 1"))
    builder.add(
        Kind.KERNEL,
        {
            "track": [track] * len(theirs),
            "name": [builder.text("gemm")] * len(theirs),
            "begin_ns": [HOST_EPOCH_NS + 1_000 * begin for begin, _ in theirs],
            "end_ns": [HOST_EPOCH_NS + 1_000 * (begin + length) for begin, length in theirs],
        },
    )
    trace = builder.build(Source(PATH, "made", Clock.BOOTTIME))
    places = (Placement(0, 0), Placement(0, 0))
    timeline = build_timeline(read_recording(path))

    found = match(RecordingInput(path, path, timeline), TraceInput(PATH, trace), places)

    assert found is not None
    rows = [row for row in found.slice_of_dispatch.tolist() if row != NONE]
    assert len(rows) == len(set(rows)) == found.count
    assert found.candidates == len(theirs)
    free = set(range(len(theirs))) - set(rows)
    for alone in np.flatnonzero(found.slice_of_dispatch == NONE):
        begin, end = (int(timeline.dispatches[name][alone]) for name in ("begin_ns", "end_ns"))
        for row in free:
            kernel = trace.slices[row]
            assert kernel["end_ns"] <= begin or kernel["begin_ns"] >= end
