"""Recordings of any content as packets: what the timeline holds is what a viewer sees."""

from collections import Counter
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from ktrace_cli.export.perfetto import write_perfetto
from ktrace_cli.export.tracks import GroupBy
from ktrace_cli.model import SliceFlag, Timeline, WaveFlag
from ktrace_cli.timeline.cycles import in_cycles
from ktrace_cli.timeline.select import Selection, select
from ktrace_cli.trace_file.layout import WaveState
from support.packets import read_packets
from support.recording import Wave
from support.timelines import WHOLE, build, builder
from support.words import raw, span

_words = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 5, 5, 300, 1 << 31]),
        st.integers(0, 15),
        st.integers(0, 40),
        st.booleans(),
    ),
    max_size=25,
)
_waves = st.tuples(
    _words,
    st.integers(1_000, 3_000),  # begin
    st.sampled_from([-50, 0, 100, 100, 5_000]),  # from the last word to the end
    st.sampled_from([0, 0, 0, 17]),  # how wrong the reference clock is
    st.sampled_from([WaveState.ENDED, WaveState.ENDED, WaveState.BEGUN]),
)


def recorded(waves: list[tuple[list[tuple[int, int, int, bool]], int, int, int, int]]) -> Timeline:
    """A dispatch per wave, all on one wave slot."""
    recording, kernel = builder(edges=[("load", "mma"), ("tile", "tile")])
    for words, begin, rest, error, state in waves:
        now, main, side = begin, [], []
        for step, kind, id_, is_side in words:
            now += step
            tag = kind << 27 | (is_side << 26) | id_
            if kind == 0 and not is_side:
                main.append(span(WHOLE, now - min(id_, now - begin), now))
            else:
                (side if is_side else main).append(raw(now & 0xFFFFFFFF, tag or 1))
        end = max(now + rest, 0)
        wave = Wave(
            main=main,
            side=side,
            begin=begin,
            end=end,
            realtime_begin=begin // 21 + error,
            realtime_end=end // 21 + error,
            state=state,
        )
        recording.add_dispatch(kernel, [wave], grid=(1, 1, 1))
    with TemporaryDirectory() as folder:
        return build(recording, Path(folder))


def told(timeline: Timeline, *, uses_slots: bool) -> Counter[tuple[str, int, int, int]]:
    """Name, depth on its track, begin and duration of each slice, those of waves among them."""
    names = [event.name for event in timeline.events]
    rows: Counter[tuple[str, int, int, int]] = Counter()
    for row in timeline.slices:
        name = names[row["event"]]
        name += " (unfinished)" if row["flags"] & SliceFlag.RUNNING else ""
        depth = int(row["depth"]) + int(row["lane"] == 0)
        rows[name, depth, int(row["begin_ns"]), int(row["ns"])] += 1
    for wave in timeline.waves:
        name = "gemm" if uses_slots else [*names, "wave"][wave["group"]]
        if not wave["flags"] & WaveFlag.TORN:
            rows[name, 0, int(wave["begin_ns"]), int(wave["end_ns"] - wave["begin_ns"])] += 1
    for row in timeline.dispatches:
        times = int(row["begin_ns"]), int(row["end_ns"] - row["begin_ns"])
        rows[(f"dispatch {row['number']}", 0, *times)] += 1
    return rows


@settings(max_examples=150, deadline=None)
@given(
    st.lists(_waves, min_size=1, max_size=4),
    st.sampled_from([None, *GroupBy]),
    st.sampled_from(["ns", "cycles", "window"]),
)
def test_any_recording_is_written_as_it_is_decoded(
    waves: list[tuple[list[tuple[int, int, int, bool]], int, int, int, int]],
    group_by: GroupBy | None,
    way: str,
) -> None:
    timeline = recorded(waves)
    if way == "cycles":
        timeline = in_cycles(timeline)
    elif way == "window":
        timeline = select(timeline, Selection(begin=0, end=1_000))
    out = BytesIO()

    written = write_perfetto(timeline, out, group_by=group_by)

    packets = read_packets(out.getvalue())
    seen = Counter(row for rows in packets.slices().values() for row in rows)
    assert seen == told(timeline, uses_slots=written.uses_slots)
    marks = Counter((event.name, event.ns) for event in packets.events if event.type == 3)
    assert marks == Counter(
        (timeline.events[row["event"]].name, int(row["ns"])) for row in timeline.instants
    )
    assert (written.slices, written.instants) == (len(timeline.slices), len(timeline.instants))
    arrows = [arrow for event in packets.events for arrow in event.flows]
    assert sorted(arrows) == sorted(a for event in packets.events for a in event.ended_flows)
    assert len(set(arrows)) == written.arrows
