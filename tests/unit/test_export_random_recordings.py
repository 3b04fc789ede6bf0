"""Random recordings, also of waves that hang, in all formats: all rows, at their times."""

import json
from collections import Counter
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ktrace_cli.analysis.summary import summarize
from ktrace_cli.errors import KtraceError
from ktrace_cli.export.chrome import write_chrome
from ktrace_cli.export.csv import write_csv
from ktrace_cli.export.html.page import write_html
from ktrace_cli.export.perfetto import write_perfetto
from ktrace_cli.export.text import write_text
from ktrace_cli.export.tracks import GroupBy
from ktrace_cli.model import NONE, Timeline, WaveFlag
from ktrace_cli.timeline.cycles import in_cycles
from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import DispatchFlag, Kind, ValueType, WaveState
from support.packets import read_packets
from support.recording import Wave
from support.timelines import (
    COPY,
    DRAIN,
    FETCH,
    INNER,
    LOAD,
    MARK,
    MMA,
    OUTER,
    PRODUCER,
    STAGE,
    STORE,
    TILE,
    WHOLE,
    build,
    builder,
)
from support.words import Words, mark, pop, push, raw

Given = list[tuple[int, list[dict[str, Any]]]]
"""Flags and waves of each dispatch."""

REGION_LOG2 = 10
MOST_WORDS = 40
EDGES = [("load", "mma"), ("outer", "inner")]


def tag(kind: int, id_: int = 0, side: int = 0) -> int:
    return kind << layout.TAG_KIND_SHIFT | side | id_


# What waves write; a STOP names the word of its START, of which the first one is word 16.
SOUND = [
    *(tag(Kind.START, id_) for id_ in (LOAD, LOAD, LOAD, STORE)),
    *(tag(Kind.STOP, number) for number in (16, 17, 18, 19, 20, 22)),
    *(tag(Kind.PUSH, id_) for id_ in (OUTER, INNER, COPY)),
    *(tag(Kind.POP), tag(Kind.POP), tag(Kind.PHASE_END)),
    *(tag(Kind.PHASE, id_) for id_ in (MMA, DRAIN, STAGE)),
    *(tag(Kind.LONG_BEGIN, id_) for id_ in (TILE, FETCH)),
    *(tag(Kind.LONG_END, id_) for id_ in (TILE, FETCH)),
    *(tag(Kind.MARK, MARK), tag(Kind.GROUP, PRODUCER), tag(Kind.VALUE, ValueType.I32)),
    *(layout.TAG_SPAN | id_ << layout.SPAN_ID_SHIFT | 60 for id_ in (WHOLE, FETCH)),
]
ids = st.integers(0, 60) | st.sampled_from([77, layout.TAG_ID_MASK])
events = st.builds(tag, st.integers(0, 14), ids, st.sampled_from([0, layout.TAG_SIDE]))
spans = st.builds(
    lambda id_, ticks: layout.TAG_SPAN | id_ << layout.SPAN_ID_SHIFT | ticks,
    st.integers(0, 15),
    st.sampled_from([0, 1, 100, 5_000, layout.SPAN_LIMIT - 1]),
)
sound_tags = [st.sampled_from(SOUND) for _ in range(12)]
tags = st.one_of(*sound_tags, events, spans, st.integers(0, 2**32 - 1))
steps = st.sampled_from([0, 0, *[1, 3, 50, 1_000] * 5, -5, 1 << 20, 1 << 31])
headers = st.sampled_from(
    [
        *({} for _ in range(30)),
        *({"main_cursor": cursor} for cursor in (0, 8, 128, 600, 1_500, 1 << 31, 0xFFFFFFF8)),
        *({"realtime_end": time} for time in (0, 1, 1 << 57)),
        *({"memtime_end": time} for time in (0, 1, (1 << 58) - 1, 1 << 60)),
    ]
)
dispatch_flags = st.sampled_from(
    [
        *(0, 0, DispatchFlag.UNFINISHED, DispatchFlag.EAGER, DispatchFlag.RING),
        DispatchFlag.EAGER | DispatchFlag.UNFINISHED,
        DispatchFlag.RING | DispatchFlag.UNFINISHED,
    ]
)
states = st.sampled_from([WaveState.ENDED, WaveState.ENDED, WaveState.BEGUN])


def waves_of(
    words: st.SearchStrategy[int], least: int, **more: st.SearchStrategy[Any]
) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {
            "words": st.lists(st.tuples(steps, words), min_size=least, max_size=MOST_WORDS),
            "begin": st.sampled_from([1_000, 1_000, 5, 1 << 31, (1 << 32) - 100]),
            "rest": st.sampled_from([0, 500, 500, -100, 1 << 33]),
            "state": states,
            "xcc": st.sampled_from([0, 0, 1, 5]),
            "hw_id": st.sampled_from([0, 0, 0x100, 0x2000]),
            "header": headers,
            **more,
        }
    )


def dispatches_of(
    flags: st.SearchStrategy[int], waves: st.SearchStrategy[dict[str, Any]]
) -> st.SearchStrategy[Given]:
    own = st.lists(waves, min_size=1, max_size=3)
    return st.lists(st.tuples(flags, own), min_size=1, max_size=2)


random_recordings = dispatches_of(dispatch_flags, waves_of(tags, 0))
hanging_recordings = dispatches_of(
    st.just(int(DispatchFlag.UNFINISHED)),
    waves_of(
        st.sampled_from(SOUND), 5, state=st.just(WaveState.BEGUN), header=st.just(dict[str, Any]())
    ),
)


def wave(given: dict[str, Any], number: int, *, is_ring: bool) -> Wave:
    main: list[Words] = []
    now = given["begin"]
    for step, word in given["words"]:
        now = max(now + step, 0)
        main.append(raw(now & 0xFFFFFFFF, word))
    header = {**given["header"]}
    if is_ring:
        half = 1 << (REGION_LOG2 - 1)
        header = {"main_cursor": half + 8 * len(main), "side_cursor": half - 8, **header}
    return Wave(
        main=main,
        block=(number // 2, 0, 0),
        wave=number % 2,
        begin=given["begin"],
        end=max(now + given["rest"], 1),
        state=given["state"],
        header=header,
        xcc=given["xcc"],
        hw_id=given["hw_id"],
    )


def timeline_of(
    given: list[tuple[int, list[dict[str, Any]]]], edges: list[tuple[str, str]]
) -> Timeline:
    recording, kernel = builder(edges)
    # This one tells how long a cycle is, whatever the others say.
    sound = Wave(
        main=[push(OUTER, 2_000), mark(MARK, 2_100), pop(2_200)], begin=1_900, end=1_000_000
    )
    recording.add_dispatch(kernel, [sound])
    for flags, own in given:
        is_ring = bool(flags & DispatchFlag.RING)
        recording.add_dispatch(
            kernel,
            [wave(each, number, is_ring=is_ring) for number, each in enumerate(own)],
            grid=(2, 1, 1),
            block=(128, 1, 1),
            region_log2=REGION_LOG2,
            flags=int(flags),
        )
    with TemporaryDirectory() as folder:
        return build(recording, Path(folder))


def check_rows(timeline: Timeline) -> None:
    """On a lane, what is in another slice lies within it; rows are in order."""
    rows = timeline.slices
    assert (rows["ns"] >= 0).all()
    assert (rows["ticks"] >= 0).all()
    end = rows["begin_ns"] + rows["ns"]
    inner = rows["parent"] != NONE
    outer = rows["parent"][inner]
    for name in ("wave", "lane"):
        assert (rows[name][inner] == rows[name][outer]).all()
    assert (rows["depth"][inner] == rows["depth"][outer] + 1).all()
    assert (rows["begin_ns"][inner] >= rows["begin_ns"][outer]).all()
    assert (end[inner] <= end[outer]).all()
    keys = rows[["wave", "lane", "begin_ticks"]].tolist()
    assert keys == sorted(keys)


def check_trace(timeline: Timeline, group_by: GroupBy | None) -> None:
    """A viewer sees each slice as long as it was."""
    out = BytesIO()
    written = write_perfetto(timeline, out, group_by=group_by)
    assert (written.slices, written.instants) == (len(timeline.slices), len(timeline.instants))
    tracks = read_packets(out.getvalue()).slices().values()
    seen = Counter((begin, ns) for rows in tracks for _, _, begin, ns in rows)
    is_shown = (timeline.waves["flags"] & WaveFlag.TORN) == 0
    for rows in (timeline.dispatches, timeline.waves[is_shown]):
        columns = (rows["begin_ns"], rows["end_ns"] - rows["begin_ns"])
        seen.subtract(zip(*(column.tolist() for column in columns), strict=True))
    seen.subtract(timeline.slices[["begin_ns", "ns"]].tolist())
    assert not +seen
    assert not -seen


def check_others(timeline: Timeline) -> None:
    rows = (len(timeline.slices), len(timeline.instants))
    for write in (write_text, write_csv, write_chrome):
        out = BytesIO()
        written = write(timeline, out)
        assert (written.slices, written.instants) == rows
    events = json.loads(out.getvalue())["traceEvents"]
    assert all(event["dur"] >= 0 for event in events if event["ph"] == "X")
    refusal = ""
    try:
        write_html(timeline, BytesIO())
    except KtraceError as error:
        refusal = str(error)
    assert refusal in ("", "cannot write an HTML page")


def check(timeline: Timeline) -> None:
    for shown in (timeline, in_cycles(timeline)):
        check_rows(shown)
        check_trace(shown, GroupBy.WORKGROUP)
        check_trace(shown, GroupBy.HARDWARE)
        check_others(shown)
        summarize(shown)


@settings(max_examples=60, deadline=None)
@given(random_recordings, st.sampled_from([[], EDGES]))
def test_any_recording_is_written_whole_in_any_format(
    given_recording: Given, edges: list[tuple[str, str]]
) -> None:
    check(timeline_of(given_recording, edges))


@settings(max_examples=40, deadline=None)
@given(hanging_recordings)
def test_what_hangs_is_written_whole_in_any_format(given_recording: Given) -> None:
    check(timeline_of(given_recording, []))
