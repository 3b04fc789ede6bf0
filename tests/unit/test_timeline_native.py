"""The native reader, given what nobody vouches for: everything is shown or counted, twice alike."""

import resource
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ktrace_cli.errors import ExitStatus, KtraceError
from ktrace_cli.model import NONE, WaveFlag
from ktrace_cli.timeline import batch, native
from ktrace_cli.timeline.lanes import name_lanes
from ktrace_cli.timeline.native import EventFlag, ReaderFlag
from ktrace_cli.timeline.word_reader import Clock, Reader, Rows
from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import ChunkType, Kind, Mode
from support.recording import RecordingBuilder, Wave
from support.timelines import MARK, OUTER, build, builder, decode
from support.words import mark, pop, push, u32

FLAGS = [
    *(0, 0, 0, WaveFlag.UNFINISHED, WaveFlag.DROPPED, WaveFlag.TORN),
    *(ReaderFlag.EAGER, ReaderFlag.RING, ReaderFlag.RING | WaveFlag.OVERWRITTEN),
    ReaderFlag.RING | ReaderFlag.EAGER | WaveFlag.UNFINISHED | WaveFlag.OVERWRITTEN,
    ReaderFlag.RUNNING | WaveFlag.UNFINISHED,
    ReaderFlag.RUNNING | ReaderFlag.EAGER | WaveFlag.UNFINISHED | WaveFlag.DROPPED,
]
CLOCK = Clock(np.array([0, 5_000]), np.array([0, 2_000]), np.array([0.4, 0.5]))
NAMED, ON_A_LANE, UNNAMED = 1, 2, 40
EVENTS = np.array(
    [(0, 7, NAMED, Kind.PUSH, 0, 0), (0, 7, ON_A_LANE, Kind.RANGE, 1, EventFlag.LANE)],
    native.EVENT,
)

clocks = st.integers(0, 300) | st.sampled_from([1 << 31, (1 << 32) - 1]) | st.integers(0, 2**32 - 1)
span_tags = st.builds(
    lambda id_, ticks: layout.TAG_SPAN | id_ << layout.SPAN_ID_SHIFT | ticks,
    st.integers(0, 3),
    st.integers(0, 300),
)
event_tags = st.builds(
    lambda kind, side, id_: kind << layout.TAG_KIND_SHIFT | side << 26 | id_,
    st.integers(0, 15),
    st.booleans(),
    st.integers(0, 40) | st.integers(0, layout.TAG_ID_MASK),
)
streams = st.lists(st.tuples(clocks, span_tags | event_tags | st.integers(0, 2**32 - 1)))
times = st.integers(0, 400) | st.sampled_from([1 << 32, 1 << 57, 1 << 58, -1, -(1 << 63)])
waves = st.fixed_dictionaries(
    {
        "words": streams,
        "main_words": st.integers(0, 40),
        "room": st.integers(-1, 9),
        "main_cursor": st.integers(0, 900),
        "flags": st.sampled_from(FLAGS),
        "begin_ticks": times,
        "end_ticks": times,
    }
)


def reader() -> Reader:
    """One that knows NAMED and ON_A_LANE of kernel 0."""
    return Reader(np.array([7]), EVENTS, 2)


def rows_of(given_waves: list[dict[str, Any]]) -> tuple[NDArray[Any], list[NDArray[Any]]]:
    """Return native.WAVE, and the words that it points to."""
    rows = np.zeros(len(given_waves), native.WAVE)
    kept = [np.array(wave["words"], layout.WORD) for wave in given_waves]
    for number, (row, wave, own) in enumerate(zip(rows, given_waves, kept, strict=True)):
        main = min(wave["main_words"], len(own))
        row["words"], row["main_words"], row["side_words"] = own.ctypes.data, main, len(own) - main
        row["region_words"] = max(len(own) + wave["room"], 0)
        for name in ("main_cursor", "flags", "begin_ticks", "end_ticks"):
            row[name] = wave[name]
        row["row"], row["pieces"] = 10 * number, len(CLOCK.ticks)
    return rows, kept


def decoded(native_reader: Reader, rows: NDArray[Any]) -> tuple[Rows, NDArray[Any]]:
    scanned, _ = native_reader.scan(rows)
    events, lanes = native_reader.events(), native_reader.lanes()
    native_reader.arrange(np.arange(len(events)), np.arange(len(lanes)))
    return native_reader.decode(rows, scanned, CLOCK), scanned


@settings(max_examples=100, deadline=None)
@given(st.lists(waves, max_size=4))
def test_any_words_give_rows_that_agree_with_each_other(given_waves: list[dict[str, Any]]) -> None:
    rows, kept = rows_of(given_waves)
    native_reader = reader()

    made, scanned = decoded(native_reader, rows)

    again = native_reader.decode(rows, scanned, CLOCK)
    assert [made.slices.tobytes(), made.instants.tobytes(), made.values.tobytes()] == [
        again.slices.tobytes(),
        again.instants.tobytes(),
        again.values.tobytes(),
    ]
    assert (scanned["words"] <= [len(own) for own in kept]).all()
    assert (scanned["slices"] + scanned["instants"] <= scanned["words"]).all()
    of = np.repeat(np.arange(len(rows)), scanned["slices"])
    assert made.slices["wave"].tolist() == (10 * of).tolist()
    assert (made.slices["begin_ticks"] >= rows["begin_ticks"][of]).all()
    assert (made.slices["ticks"] >= 0).all()
    check_values(made)
    check_lanes(made.slices)
    check_times(made)


def check_values(made: Rows) -> None:
    """Values are given to slices, then to instants, each one to one."""
    next_value = 0
    for row in (*made.slices, *made.instants):
        assert row["first_value"] == next_value
        next_value += int(row["values"])
    assert next_value == len(made.values)


def check_lanes(rows: NDArray[Any]) -> None:
    place, begin = rows["wave"].astype(np.int64) << 32 | rows["lane"], rows["begin_ticks"]
    end = begin + rows["ticks"]
    assert (np.diff(place) >= 0).all()
    assert (np.diff(begin)[np.diff(place) == 0] >= 0).all()
    for number, row in enumerate(rows):
        parent = int(row["parent"])
        assert (parent == NONE) == (row["depth"] == 0)
        if parent != NONE:
            assert parent < number
            assert place[parent] == place[number]
            assert rows["depth"][parent] == row["depth"] - 1
            assert begin[parent] <= begin[number] <= end[number] <= end[parent]


def check_times(made: Rows) -> None:
    def to_ns(ticks: int) -> int:
        piece = int(ticks >= 5_000)
        return (0, 2_000)[piece] + int(np.rint((ticks - (0, 5_000)[piece]) * (0.4, 0.5)[piece]))

    for row in made.slices:
        begin, end = int(row["begin_ticks"]), int(row["begin_ticks"] + row["ticks"])
        assert (row["begin_ns"], row["begin_ns"] + row["ns"]) == (to_ns(begin), to_ns(end))
    assert made.instants["ns"].tolist() == [to_ns(t) for t in made.instants["ticks"].tolist()]


def word(kind: int, id_: int, clock: int) -> tuple[int, int]:
    return clock, kind << layout.TAG_KIND_SHIFT | id_


def wave_of(words: list[tuple[int, int]]) -> dict[str, Any]:
    times = {"begin_ticks": 0, "end_ticks": 10_000}
    return {
        "words": words,
        "main_words": len(words),
        "room": 16,
        "main_cursor": 0,
        "flags": 0,
    } | times


def test_words_that_changed_since_the_scan_are_an_error() -> None:
    rows, kept = rows_of([wave_of([word(Kind.PUSH, NAMED, 100), word(Kind.MARK, NAMED, 200)])])
    native_reader = reader()
    _, scanned = decoded(native_reader, rows)

    for kind in (Kind.PUSH, Kind.GROUP):  # two slices, then one slice and no mark
        kept[0]["tag"][1] = kind << layout.TAG_KIND_SHIFT | NAMED
        with pytest.raises(KtraceError, match="changed while it was read"):
            native_reader.decode(rows, scanned, CLOCK)


def test_an_id_that_the_scan_did_not_meet_is_an_error() -> None:
    rows, kept = rows_of([wave_of([word(Kind.MARK, NAMED, 200)])])
    native_reader = reader()
    _, scanned = decoded(native_reader, rows)
    kept[0]["tag"] = Kind.MARK << layout.TAG_KIND_SHIFT | UNNAMED

    with pytest.raises(KtraceError, match="changed while it was read"):
        native_reader.decode(rows, scanned, CLOCK)


def test_ids_without_a_name_are_events_up_to_a_limit() -> None:
    words = [word(Kind.MARK, 1_000 + number, number) for number in range(65_536 + 9)]
    rows, _ = rows_of([wave_of(words)])
    native_reader = reader()

    made, _ = decoded(native_reader, rows)

    events = native_reader.events()
    assert len(events) == len(EVENTS) + 65_536 + 1
    assert events["id"][-2:].tolist() == [1_000 + 65_535, native.OTHER_ID]
    assert made.instants["event"][-10:].tolist() == [len(events) - 2] + 9 * [len(events) - 1]
    assert native_reader.losses()["unnamed_events"] == 65_536 + 9


def test_words_may_lie_at_any_address() -> None:
    rows, kept = rows_of([wave_of([word(Kind.MARK, NAMED, 100), word(Kind.PUSH, NAMED, 200)])])
    shifted = np.frombuffer(b"\0\0\0" + kept[0].tobytes(), "u1")
    rows["words"] = shifted.ctypes.data + 3

    made, _ = decoded(reader(), rows)

    assert made.instants["ticks"].tolist() == [100]
    assert made.slices["begin_ticks"].tolist() == [200]


@pytest.mark.parametrize(
    ("kind", "lanes", "deep"),
    [
        # The last START begins when all others end.
        (Kind.START, 139_999, 0),
        # 65,536 depths on each lane.
        (Kind.PUSH, 3, 74_464),
        (Kind.PHASE, 1, 0),
    ],
)
def test_more_than_a_hundred_thousand_ranges_that_nothing_ends_are_read(
    kind: Kind, lanes: int, deep: int
) -> None:
    rows, _ = rows_of([wave_of([word(kind, NAMED, number) for number in range(140_000)])])
    native_reader = reader()

    made, _ = decoded(native_reader, rows)

    assert len(made.slices) == 140_000
    assert len(np.unique(made.slices["lane"])) == lanes
    assert native_reader.losses()["deep_slices"] == deep


def test_what_is_open_in_a_running_wave_holds_its_lane() -> None:
    words = [word(Kind.START, NAMED, 100), word(Kind.START, NAMED, 200)]
    ended = wave_of(words) | {"flags": WaveFlag.UNFINISHED}
    running = wave_of(words) | {"flags": WaveFlag.UNFINISHED | ReaderFlag.RUNNING}

    rows, _ = rows_of([ended, running])
    made, _ = decoded(reader(), rows)

    assert [(int(row["wave"]), int(row["lane"])) for row in made.slices] == [
        *((0, 1), (0, 1)),
        *((10, 1), (10, 2)),
    ]


def test_a_large_id_of_each_kernel_takes_no_memory_for_the_smaller_ones() -> None:
    kernels, id_ = 2_000, 65_535
    events = np.zeros(kernels, native.EVENT)
    events["kernel"], events["id"], events["kind"] = np.arange(kernels), id_, Kind.MARK
    words = [word(Kind.MARK, id_, 100), word(Kind.MARK, id_ - 1, 200)]
    rows, _ = rows_of([wave_of(words) for _ in range(kernels)])
    rows["kernel"] = np.arange(kernels)
    before = resident()

    native_reader = Reader(np.zeros(kernels), events, 1)
    made, _ = decoded(native_reader, rows)

    assert resident() - before < 16 << 20
    assert made.instants["event"].tolist() == [
        row for number in range(kernels) for row in (number, kernels + number)
    ]


def resident() -> int:
    """Return how many bytes of memory this process uses."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * resource.getpagesize()


def test_a_hundred_thousand_spans_that_cross_are_read() -> None:
    count = 100_000
    ticks = layout.SPAN_LIMIT - 1
    spans = [(ticks + number, layout.TAG_SPAN | NAMED << 20 | ticks) for number in range(count)]
    rows, _ = rows_of([wave_of(spans) | {"end_ticks": 1 << 22}])

    made, _ = decoded(reader(), rows)

    assert len(np.unique(made.slices["lane"])) == count
    assert made.slices["begin_ticks"].tolist() == list(range(count))


def test_lanes_are_named_after_their_base_and_none_twice() -> None:
    lanes = np.array(
        [(native.OVERLAP, 0), (1, 1), (0, 0), (1, 0), (native.OVERLAP, 0), (2, 0)], native.LANE
    )

    names, place = name_lanes(lanes, ["overlap", "dma", "dma 2"])

    assert names == ("", "overlap", "overlap 2", "dma", "dma 2", "dma 2 2")
    assert place.tolist() == [0, 4, 2, 3, 1, 5]


def test_a_dispatch_comes_in_parts_of_whole_workgroups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "_BATCH_WORDS", 60)
    own = [push(OUTER, 1_100), mark(MARK, 1_200, [u32(7)]), pop(1_300)]
    waves = [Wave(block=(number // 2, 0, 0), wave=number % 2, main=own) for number in range(8)]

    timeline = decode(waves, tmp_path, grid=(4, 1, 1), block=(128, 1, 1))

    parts = list(timeline.parts())
    assert [part.wave_rows.tolist() for part in parts] == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert [part.slices["wave"].tolist() for part in parts] == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert [part.instants["first_value"].tolist() for part in parts] == [[0, 1]] * 4
    wanted = np.arange(8) == 5
    assert [part.wave_rows.tolist() for part in timeline.source(wanted)] == [[4, 5]]
    assert [part.wave_rows.tolist() for part in timeline.source(~wanted)] == [
        [0, 1], [2, 3], [4, 5], [6, 7],
    ]  # fmt: skip


def test_waves_are_in_order_of_launch_whoever_claimed_first(tmp_path: Path) -> None:
    places = [((1, 1, 0), 0), ((0, 0, 0), 1), ((1, 0, 0), 0), ((0, 1, 0), 0), ((0, 0, 0), 0)]
    waves = [
        Wave(block=block, wave=number, main=[mark(MARK, 1_100 + slot)])
        for slot, (block, number) in enumerate(places)
    ]
    fields = {"grid": (2, 2, 1), "block": (128, 1, 1), "mode": Mode.CLAIM}

    timeline = decode(waves, tmp_path, **fields)

    assert timeline.waves["slot"].tolist() == [4, 1, 2, 3, 0]
    assert timeline.instants["wave"].tolist() == [0, 1, 2, 3, 4]
    assert timeline.instants["ticks"].tolist() == [1_104, 1_101, 1_102, 1_103, 1_100]


def test_a_wave_with_more_words_than_its_region_has_is_torn(tmp_path: Path) -> None:
    recording, kernel = builder()
    words = [mark(MARK, 1_100 + number) for number in range(60)]
    recording.add_dispatch(kernel, [Wave(main=words, header={"side_cursor": 504})], region_log2=10)
    payload = bytearray(recording._chunks.pop()[layout.CHUNK_HEADER.itemsize :])
    record = np.frombuffer(payload, layout.DISPATCH, 1)
    assert len(build(with_dispatch(payload), tmp_path).instants) == 60

    record["region_log2"][:] = 9

    timeline = build(with_dispatch(payload), tmp_path)
    assert timeline.losses.counted() == {"torn_waves": 1}
    assert len(timeline.instants) == 0


def with_dispatch(payload: bytearray) -> RecordingBuilder:
    recording, _ = builder()
    recording.add_chunk(ChunkType.DISPATCH, bytes(payload))
    return recording


def test_without_its_library_a_recording_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KTRACE_NATIVE_DIR", str(tmp_path))
    monkeypatch.setattr("ktrace_cli.libraries.files", lambda _: tmp_path)
    native.load_reader.cache_clear()
    try:
        with pytest.raises(KtraceError, match="has no libktrace_reader") as raised:
            decode([Wave()], tmp_path)
    finally:
        native.load_reader.cache_clear()

    assert "pip install" in raised.value.fix
    assert raised.value.status == ExitStatus.FAILED


def test_a_library_that_is_none_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / native.LIBRARY).write_text("no library")
    monkeypatch.setenv("KTRACE_NATIVE_DIR", str(tmp_path))
    native.load_reader.cache_clear()
    try:
        with pytest.raises(KtraceError, match=r"cannot load .*libktrace_reader\.so"):
            decode([Wave()], tmp_path)
    finally:
        native.load_reader.cache_clear()
