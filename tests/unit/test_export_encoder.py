"""Rows of a timeline to packets, which are read again as a viewer reads them."""

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktrace_cli.export import encoder
from ktrace_cli.export.encoder_layout import COLUMN, SPAN
from ktrace_cli.export.perfetto import write_perfetto
from ktrace_cli.export.slots import fit_slots
from ktrace_cli.export.space import Space
from ktrace_cli.export.tracks import GroupBy
from ktrace_cli.model import (
    DISPATCH,
    FLOW,
    INSTANT,
    NONE,
    SLICE,
    VALUE,
    WAVE,
    Event,
    Kernel,
    Losses,
    Part,
    SliceFlag,
    Timeline,
)
from ktrace_cli.trace_file.layout import ValueType
from support.packets import Packets, read_packets

LANES = ("", "vmem", "overlap")
ZERO = 1_000


@dataclass(frozen=True)
class Lane:
    """Slices of one lane as moves from the wave's begin: wait so many ns, begin one, end one."""

    moves: Sequence[str | int]

    def slices(self, begin: int) -> tuple[list[tuple[int, int, int]], int]:
        """Begin, duration and depth of each, and when the last one has ended."""
        now, rows, open_ = begin, list[list[int]](), list[list[int]]()
        for move in [*self.moves, *(["end"] * len(self.moves))]:
            if move == "begin":
                rows.append([now, 0, len(open_)])
                open_.append(rows[-1])
            elif move == "end" and open_:
                row = open_.pop()
                row[1] = now - row[0]
            elif isinstance(move, int):
                now += move
        return [(a, b, c) for a, b, c in rows], now


@dataclass(frozen=True)
class Wave:
    begin: int
    lanes: Sequence[Lane]
    marks: Sequence[int] = ()


moves = st.lists(st.sampled_from(["begin", "begin", "end", "end", 0, 1, 1, 7, 300]), max_size=20)
waves = st.builds(
    Wave,
    begin=st.integers(ZERO, ZERO + 20),
    lanes=st.lists(st.builds(Lane, moves), min_size=3, max_size=3),
    marks=st.lists(st.integers(0, 30), max_size=4).map(sorted),
)


def timeline(shown: Sequence[Wave], per_part: int) -> Timeline:
    """A kernel's waves, all of them of one wave slot of the hardware."""
    parts, rows = [], np.zeros(len(shown), WAVE)
    for number, wave in enumerate(shown):
        lanes = [lane.slices(wave.begin) for lane in wave.lanes]
        rows[number]["begin_ns"] = wave.begin
        rows[number]["end_ns"] = max([wave.begin, *(end for _, end in lanes)])
        rows[number]["group"], rows[number]["block"] = NONE, (number, 0, 0)
        slices = np.array(
            [
                (number, 0, lane, depth, 0, begin, ns, begin, ns, 0, 0, NONE)
                for lane, (found, _) in enumerate(lanes)
                for begin, ns, depth in found
            ],
            SLICE,
        )
        slices["event"] = np.arange(len(slices)) % 2
        instants = np.zeros(len(wave.marks), INSTANT)
        instants["wave"], instants["event"] = number, 2
        instants["ns"] = wave.begin + np.array(wave.marks, np.int64)
        parts.append((np.array([number]), slices, instants))
    joined = [
        Part(
            *(np.concatenate([part[i] for part in parts[at : at + per_part]]) for i in range(3)),
            values=np.zeros(0, VALUE),
            flows=np.zeros(0, FLOW),
        )
        for at in range(0, len(parts), per_part)
    ]
    dispatches = np.zeros(1, DISPATCH)
    dispatches["number"], dispatches["begin_ns"] = 1, ZERO
    dispatches["end_ns"] = rows["end_ns"].max()
    return Timeline(
        process=None,
        devices=(),
        kernels=(Kernel("gemm", "gemm", "gfx942", ""),),
        events=tuple(Event(name, 0, "", "", 0, 0, 0) for name in ("even", "odd", "mark")),
        lanes=LANES,
        edges=(),
        dispatches=dispatches,
        waves=rows,
        source=lambda _: iter(joined),
        clocks=(),
        losses=Losses(),
        launches=0,
    )


def written(shown: Timeline, **options: Any) -> Packets:
    out = BytesIO()
    write_perfetto(shown, out, **options)
    return read_packets(out.getvalue())


def expected(shown: Sequence[Wave], own: str) -> list[tuple[str, str, int, int, int]]:
    """Lane, name, depth, begin and duration of each slice, those of waves among them."""
    rows = []
    for wave in shown:
        number, end = 0, wave.begin
        for lane, name in enumerate(LANES):
            slices, lane_end = wave.lanes[lane].slices(wave.begin)
            end = max(end, lane_end)
            for begin, ns, depth in slices:
                rows.append((name, ("even", "odd")[number % 2], depth + (lane == 0), begin, ns))
                number += 1
        rows.append(("", own, 0, wave.begin, end - wave.begin))
    return sorted(rows)


def found(packets: Packets) -> list[tuple[str, str, int, int, int]]:
    lanes = {uuid: name if name in LANES else "" for uuid, name in packets.tracks.items()}
    return sorted(
        (lanes[track], *row)
        for track, rows in packets.slices().items()
        for row in rows
        if not row[0].startswith("dispatch")
    )


@settings(deadline=None)
@given(
    st.lists(waves, min_size=1, max_size=6),
    st.integers(1, 6),
    st.integers(300, 900),
    st.sampled_from(GroupBy),
)
def test_a_viewer_sees_every_slice_as_it_was(
    shown: list[Wave], per_part: int, room: int, group_by: GroupBy
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoder, "_ROOM", room)
        packets = written(timeline(shown, per_part), group_by=group_by)

    assert found(packets) == expected(
        shown, {"workgroup": "wave", "hardware": "gemm"}[group_by.value]
    )
    names = [event.name for event in packets.events if event.type == 3]
    assert names == ["mark"] * sum(len(wave.marks) for wave in shown)


def test_waves_that_follow_each_other_on_a_slot_are_siblings_whatever_their_order() -> None:
    def wave(begin: int, ns: int) -> Wave:
        return Wave(begin, [Lane(["begin", ns, "end"]), Lane([]), Lane([])])

    # The first row begins when the second ends, and ends when the third begins.
    shown = timeline([wave(2_000, 10), wave(1_900, 100), wave(2_010, 50)], per_part=1)

    packets = written(shown, group_by=GroupBy.HARDWARE)

    tracks = [rows for rows in packets.slices().values() if rows[0][0] == "gemm"]
    assert sorted(tracks) == [
        [
            ("gemm", 0, 1_900, 100),
            ("even", 1, 1_900, 100),
            ("gemm", 0, 2_010, 50),
            ("even", 1, 2_010, 50),
        ],
        [("gemm", 0, 2_000, 10), ("even", 1, 2_000, 10)],
    ]


spans = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 12), st.integers(0, 4)), max_size=12)


@given(spans)
def test_rows_that_share_a_slot_end_before_the_next_begins(
    rows: list[tuple[int, int, int]],
) -> None:
    columns = np.zeros(len(rows), WAVE)
    keys = np.array([key for key, _, _ in rows], np.int64)
    columns["begin_ns"] = [begin for _, begin, _ in rows]
    columns["end_ns"] = [begin + ns for _, begin, ns in rows]

    slots = fit_slots([keys], columns)

    assert [slots.keys[slot] for slot in slots.of_row] == [(key,) for key in keys.tolist()]
    for slot in range(len(slots.keys)):
        open_ = None
        events = [
            (int(columns[name][row]), row, name)
            for row in np.flatnonzero(slots.of_row == slot).tolist()
            for name in ("begin_ns", "end_ns")
        ]
        for _, row, name in sorted(events, key=lambda event: event[0]):
            assert open_ == (None if name == "begin_ns" else row)
            open_ = row if name == "begin_ns" else None


def test_a_row_that_fits_on_no_slot_gets_another_one() -> None:
    columns = np.zeros(3, WAVE)
    columns["begin_ns"], columns["end_ns"] = [0, 5, 10], [10, 8, 20]

    slots = fit_slots([np.array([7, 7, 7]), np.array([1 << 40, 1 << 40, 1 << 40])], columns)

    assert list(slots) == [((7, 1 << 40), 0), ((7, 1 << 40), 1)]
    assert slots.of_row.tolist() == [0, 1, 0]


def one_slice(**fields: int) -> Timeline:
    shown = timeline([Wave(ZERO, [Lane(["begin", 10]), Lane([]), Lane([])])], 1)
    (part,) = shown.parts()
    for name, value in fields.items():
        part.slices[name] = value
    return shown


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"event": 3}, "names one that does not exist"),
        ({"event": -1}, "names one that does not exist"),
        ({"lane": 3}, "names one that does not exist"),
        ({"lane": -1}, "names one that does not exist"),
        ({"wave": 1}, "names one that does not exist"),
        ({"values": 1}, "names one that does not exist"),
        ({"values": 1, "first_value": -1}, "names one that does not exist"),
        ({"begin_ns": ZERO - 1}, "times on a track go back"),
        ({"ns": -1}, "times on a track go back"),
        ({"ns": 11}, "times on a track go back"),
        ({"ns": (1 << 63) - 1}, "times on a track go back"),
    ],
)
def test_rows_that_contradict_each_other_are_refused(fields: dict[str, int], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        write_perfetto(one_slice(**fields), BytesIO())


def test_slices_that_cross_on_one_lane_are_refused() -> None:
    shown = timeline([Wave(ZERO, [Lane(["begin", 10, "end", "begin", 5]), Lane([]), Lane([])])], 1)
    (part,) = shown.parts()
    part.slices["ns"][0] = 11

    with pytest.raises(ValueError, match="times on a track go back"):
        write_perfetto(shown, BytesIO())


def test_an_end_has_no_name_and_every_event_needs_the_state() -> None:
    packets = written(timeline([Wave(ZERO, [Lane(["begin", 5])] * 3, marks=[3])], 1))

    assert [(event.type, event.name, event.ns) for event in packets.events] == [
        (1, "dispatch 1", 1_000),
        (2, "", 1_005),
        (1, "wave", 1_000),
        *[(1, name, 1_000) for name in ("even", "odd", "even")],
        (3, "mark", 1_003),
        *[(2, "", 1_005)] * 4,
    ]


def test_the_clock_is_set_back_only_where_time_goes_back() -> None:
    lanes = [Lane(["begin", 5]), Lane([]), Lane([])]

    forward = written(timeline([Wave(1_000, lanes), Wave(1_010, lanes)], 1))
    backward = written(timeline([Wave(1_010, lanes), Wave(1_000, lanes)], 1))

    # Behind the dispatch, too, whose end is not before that of its waves.
    assert (forward.resets, backward.resets) == (2, 3)


def test_an_event_with_many_payloads_has_them_all() -> None:
    shown = one_slice(values=200)
    (part,) = shown.parts()
    values = np.zeros(200, VALUE)
    values["type"], values["bits"] = ValueType.I32, np.arange(200) - 100 & 0xFFFFFFFF
    object.__setattr__(part, "values", values)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoder, "_ROOM", 256)  # less than this one event needs
        (event,) = (e for e in written(shown).events if e.name == "even")

    names = ["value", *(f"value_{n}" for n in range(2, 201))]
    assert event.arguments == dict(zip(names, range(-100, 100), strict=True))


def test_flags_are_arguments_and_a_running_slice_is_called_so() -> None:
    flags = SliceFlag.UNCLOSED | SliceFlag.RUNNING | SliceFlag.LONG_GAP

    begins = {e.name: e for e in written(one_slice(flags=int(flags))).events}

    told = begins["even (unfinished)"].arguments
    assert told == {"unclosed": True, "unfinished": True, "length_uncertain": True}


def test_only_tracks_of_lanes_that_are_in_use_take_memory() -> None:
    tracks = encoder.Tracks(first=1, count=1 << 40, lanes=1 << 20)
    spans = np.zeros(3, SPAN)
    spans["row"], spans["track"], spans["end_ns"] = [0, 1, 2], [1, 1 << 40, 1 << 40], 9
    slices = np.zeros(3, SLICE)
    slices["wave"], slices["lane"] = [0, 1, 2], (1 << 20) - 1
    nothing = (np.zeros(0, INSTANT), np.zeros(0, VALUE), np.zeros(0, FLOW))
    told = encoder.Spans(spans, np.zeros(0, COLUMN), np.zeros((3, 0), np.int64))
    names = encoder.Names(np.ones(1, np.uint32), np.ones(1, np.uint32), first_value=2, flags={})

    with encoder.Encoder(names, tracks, 1, 0, b"reset") as made:
        pieces = list(made.encode(encoder.Batch(told, Part(np.arange(3), slices, *nothing), None)))

    assert [piece.new_tracks for piece in pieces] == [[(1 << 40) + (1 << 20) - 1, (1 << 60)]]
    assert tracks.lane_of(1 << 60) == (1 << 40, (1 << 20) - 1)


def test_arrows_end_where_their_slice_begins_or_else_where_it_ends() -> None:
    shown = timeline(
        [
            Wave(
                ZERO, [Lane(["begin", 5, "end", "begin", 5, "end", "begin", 5]), Lane([]), Lane([])]
            )
        ],
        1,
    )
    (part,) = shown.parts()
    flows = np.zeros(3, FLOW)
    flows["source"], flows["destination"] = [0, 1, 0], [1, 0, 2]
    object.__setattr__(part, "flows", flows)

    events = written(shown, space=Space(first_flow=7)).events

    assert [(e.ns, e.type, e.flows, e.ended_flows) for e in events if e.flows or e.ended_flows] == [
        (1_000, 1, (7, 9), ()),
        (1_005, 2, (), (8,)),
        (1_005, 1, (8,), (7,)),
        (1_010, 1, (), (9,)),
    ]


@settings(deadline=None)
@given(st.lists(waves, min_size=1, max_size=3), st.data())
def test_whatever_is_in_the_rows_it_is_written_or_refused(
    shown: list[Wave], data: st.DataObject
) -> None:
    broken = timeline(shown, per_part=2)
    for part in broken.parts():
        flows = np.zeros(len(part.slices) and 2, FLOW)
        object.__setattr__(part, "flows", flows)
        object.__setattr__(part, "values", np.zeros(3, VALUE))
        for rows in (part.slices, part.instants, part.values):
            raw = rows.view(np.uint8)
            if len(raw):
                for at in data.draw(st.lists(st.integers(0, len(raw) - 1), max_size=2)):
                    raw[at] = data.draw(st.sampled_from([0, 1, 2, 3, 127, 128, 255]))

    try:
        packets, refusal = written(broken), ""
    except ValueError as refused:
        packets, refusal = Packets(), str(refused)

    assert refusal[:17] in ("", "a row of the time", "times on a track ")
    assert all(row[3] >= 0 for rows in packets.slices().values() for row in rows)
