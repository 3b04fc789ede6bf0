"""The page of `decode -f html` in a browser: what it reads and what it shows."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktrace_cli.export.html.columns import encode_block
from ktrace_cli.export.values import to_python
from ktrace_cli.model import NONE, Columns, Timeline
from ktrace_cli.timeline.cycles import in_cycles
from ktrace_cli.timeline.select import Selection, select
from support.browser import Opened, open_page
from support.code_object import EventSource, KernelSource, make_code_object
from support.html_page import page_of
from support.recording import RecordingBuilder, Wave
from support.timelines import LOAD, MARK, OUTER, TILE, build, decode
from support.words import mark, pop, push, span, start


def columns(opened: Opened, rows: str, *names: str) -> list[list[int]]:
    found: list[list[int]] = opened.js(
        "([rows, names]) => names.map((name) => Array.from(ktrace.recording[rows][name]))",
        [rows, list(names)],
    )
    return found


def assert_rows_read(opened: Opened, timeline: Timeline) -> None:
    slices, instants, waves = timeline.slices, timeline.instants, timeline.waves
    of, at = waves[slices["wave"]], waves[instants["wave"]]
    names = ("event", "lane", "depth", "flags", "beginTicks", "ticks", "begin", "ns")
    assert columns(opened, "slices", *names) == [
        slices["event"].tolist(),
        slices["lane"].tolist(),
        slices["depth"].tolist(),
        slices["flags"].tolist(),
        (slices["begin_ticks"] - of["begin_ticks"]).tolist(),
        slices["ticks"].tolist(),
        (slices["begin_ns"] - of["begin_ns"]).tolist(),
        slices["ns"].tolist(),
    ]
    assert columns(opened, "instants", "event", "ticks", "begin") == [
        instants["event"].tolist(),
        (instants["ticks"] - at["begin_ticks"]).tolist(),
        (instants["ns"] - at["begin_ns"]).tolist(),
    ]
    assert opened.js(
        "Array.from(ktrace.recording.slices.ns, (_, row) => parentOf(ktrace.recording, row))"
    ) == [int(parent) for parent in slices["parent"]]
    assert opened.js(
        "Array.from(ktrace.recording.slices.ns, (_, row) => waveOfSlice(ktrace.recording, row))"
    ) == [int(wave) for wave in slices["wave"]]


def test_the_page_reads_every_number(opened: Opened, timeline: Timeline) -> None:
    assert NONE == -1
    assert_rows_read(opened, timeline)
    assert columns(opened, "flows", "source", "destination") == [
        timeline.flows["source"].tolist(),
        timeline.flows["destination"].tolist(),
    ]


def payload_texts(values: Columns, rows: Columns) -> list[list[str]]:
    firsts, counts = rows["first_value"].tolist(), rows["values"].tolist()
    texts = []
    for first, count in zip(firsts, counts, strict=True):
        own = to_python(values[first : first + count])
        texts.append([str(v).lower() if isinstance(v, bool) else str(v) for v in own])
    return texts


@pytest.mark.parametrize("rows", ["slices", "instants"])
def test_payloads_read_as_in_text(opened: Opened, timeline: Timeline, rows: str) -> None:
    found = opened.js(
        """(rows) => Array.from(ktrace.recording[rows].event, (_, row) =>
          payloads(ktrace.recording, ktrace.recording[rows], row).map(({ text }) => text))""",
        rows,
    )

    assert found == payload_texts(timeline.values, getattr(timeline, rows))


def test_waves_of_any_length_keep_their_nanoseconds(chromium: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    far = 1_000 + (1 << 34)
    waves = [Wave(begin=1_000, end=far, main=[push(OUTER, 2_000), pop(far - 1 & 0xFFFFFFFF)])]
    for wave in range(1, 5):
        at = 2_000 + np.cumsum(rng.integers(500, 3_000, 80))
        words = [span(TILE, int(t), int(t + rng.integers(0, 400))) for t in at]
        end = int(at[-1]) + 1_000
        waves.append(Wave(wave=wave, begin=1_500, end=end, realtime_end=end // 21 + 9, main=words))
    timeline = decode(waves, tmp_path)

    opened = open_page(chromium, timeline, tmp_path)

    assert_rows_read(opened, timeline)
    assert opened.problems == []


def test_the_head_says_what_it_is(opened: Opened) -> None:
    assert opened.text("#heading") == "gemm"
    assert opened.text("#modelled") == "modelled times: software device"
    assert opened.text("#device").startswith(
        "2 dispatches, 8 waves, 32 ranges, 12 marks · device 0: gfx942 Virtual Instinct, 2."
    )
    assert opened.text("#device").endswith(" GHz (clock: bounds)")
    assert opened.text("#quality").startswith("⚠ 4 ends of arrows have no other end 0 is 17")


def test_a_whole_recording_is_said_to_be_whole(chromium: Any, tmp_path: Path) -> None:
    opened = open_page(chromium, decode([Wave()], tmp_path), tmp_path)

    assert opened.text("#quality").startswith("✓ nothing is missing · 0 is 17")


def test_what_is_missing_is_shown(chromium: Any, tmp_path: Path) -> None:
    words = [pop(1_100), push(OUTER, 1_200), start(LOAD, 1_300, token="a")]
    timeline = decode([Wave(main=words, dropped_main=200)], tmp_path, expected=2)

    opened = open_page(chromium, timeline, tmp_path)

    assert (
        opened.text("#quality")
        .splitlines()[0]
        .startswith("⚠ 1 wave has no record: it never began, or all slots were taken")
    )
    for sentence in timeline.losses.sentences():
        assert f"⚠ {sentence}" in opened.text("#quality")
    opened.page.mouse.move(*opened.at(0, 0))
    opened.frame()
    flags = opened.js("[...document.querySelectorAll('#tip .flag')].map((f) => f.textContent)")
    assert flags == [
        "unclosed: no end was recorded: shown up to its wave's last record",
        "truncated: its wave's region was full: the end may be among the words that did not fit",
    ]


def test_an_empty_recording_says_so(chromium: Any, tmp_path: Path) -> None:
    timeline = build(RecordingBuilder(), tmp_path)

    opened = open_page(chromium, timeline, tmp_path)

    assert opened.text("#message").startswith("no wave was recorded")
    opened.page.keyboard.press("w")
    opened.page.keyboard.press("]")
    opened.page.mouse.wheel(0, 100)
    assert opened.problems == []


def test_the_picture_shows_the_ranges(opened: Opened) -> None:
    colours, is_drawn = opened.js(
        """() => {
          const { picture, gutter, ratio } = ktrace.view;
          const copy = document.createElement("canvas");
          [copy.width, copy.height] = [picture.width, picture.height];
          const context = copy.getContext("2d", { willReadFrequently: true });
          context.drawImage(picture, 0, 0);
          const { data } = context.getImageData(
            gutter * ratio, 0, copy.width - gutter * ratio, copy.height);
          const pixels = new Set(new Uint32Array(data.buffer));
          const events = [...new Set(ktrace.recording.slices.event)];
          return [pixels.size, events.map((event) => pixels.has(ktrace.palette.pixel[event]))];
        }"""
    )

    assert colours > 20
    assert is_drawn == [True] * 7


def test_a_tip_tells_everything_of_a_range(opened: Opened, timeline: Timeline) -> None:
    outer = timeline.slices[0]
    zero = int(timeline.dispatches["begin_ns"].min())

    opened.page.mouse.move(*opened.at(0, 0))

    assert outer["ns"] == 333
    assert opened.tip() == {
        "": "outer",
        "duration": "333 ns · 700 cycles",
        "begin": f"{int(outer['begin_ns']) - zero} ns",
        "in its wave": "48 ns · 100 cycles",
        "payload": "-7 (i32), 0.1 (f32)",
        "kind": "push",
        "wave": "wave 0 · producer of workgroup 0,0,0",
        "dispatch": "1 · gemm",
        "hardware": "XCD 0 · SE 0 · CU 0 · SIMD 0 · slot 0",
        "source": "saxpy.hip:10",
    }


def test_a_tip_names_the_range_around_and_the_lane(opened: Opened, timeline: Timeline) -> None:
    opened.page.mouse.move(*opened.at(0, 1))
    assert opened.tip()["inside"] == "outer"

    row = next(i for i, s in enumerate(timeline.slices) if timeline.lanes[s["lane"]] == "vmem 2")
    opened.page.mouse.move(*opened.at(0, row))
    assert opened.tip()["kind"] == "start on lane vmem 2"
    assert opened.tip()[""] == "load"


def test_a_tip_tells_everything_of_a_mark(opened: Opened) -> None:
    x, y = opened.js(
        """() => {
          const { view, recording, list } = ktrace;
          const box = view.stage.getBoundingClientRect();
          const row = list.rows[list.rowOfWave[0]];
          return [box.left + view.x(recording.waves.begin[0] + recording.instants.begin[0]),
            box.top + screenY(view, row.y) + 5];
        }"""
    )
    opened.page.mouse.move(x, y)

    tip = opened.tip()
    assert tip[""] == "published"
    assert tip["payload"] == "-1099511627776 (i64), true (bool)"
    assert tip["in its wave"] == "262 ns · 550 cycles"


@pytest.mark.parametrize(("scheme", "back"), [("light", 255), ("dark", 20)])
def test_colours_follow_the_systems_scheme(
    chromium: Any, timeline: Timeline, tmp_path: Path, scheme: str, back: int
) -> None:
    opened = open_page(chromium, timeline, tmp_path, color_scheme=scheme)

    corner = opened.js(
        """() => ktrace.view.picture.getContext("2d").getImageData(
          5, ktrace.view.picture.height - 5, 1, 1).data[0]"""
    )

    assert corner == back


HOSTILE = "</script><img src=x onerror=alert(1)>"


def test_hostile_names_are_only_text(chromium: Any, tmp_path: Path) -> None:
    recording = RecordingBuilder()
    source = KernelSource(HOSTILE, unit_key=0x55)
    image = make_code_object(
        [source], [EventSource(1, HOSTILE, kernel=HOSTILE, unit_key=0x55, lane="<b>x</b>")]
    )
    kernel = recording.add_kernel(
        HOSTILE, code_object=recording.add_code_object(image), unit_key=0x55
    )
    recording.add_dispatch(kernel, [Wave(main=[push(1, 1_100), pop(5_200), mark(MARK, 6_000)])])

    opened = open_page(chromium, build(recording, tmp_path), tmp_path)
    opened.page.mouse.move(*opened.at(0, 0))
    opened.page.mouse.click(*opened.at(0, 0))
    opened.frame()

    assert opened.tip()[""] == HOSTILE
    assert opened.table()[1][0] == HOSTILE
    assert opened.js("document.querySelectorAll('img, b').length") == 0
    assert opened.problems == []


def test_cycles_are_shown_as_cycles(chromium: Any, timeline: Timeline, tmp_path: Path) -> None:
    opened = open_page(chromium, in_cycles(timeline), tmp_path)

    opened.page.mouse.move(*opened.at(0, 0))

    assert opened.tip()["duration"] == "700 cycles"
    assert opened.tip()["in its wave"] == "100 cycles"
    assert "these clocks are not aligned with each other" in opened.text("#quality")
    assert opened.problems == []


def test_a_part_of_the_time_can_be_shown(chromium: Any, timeline: Timeline, tmp_path: Path) -> None:
    part = select(timeline, Selection(begin=300, end=900))

    opened = open_page(chromium, part, tmp_path)

    assert_rows_read(opened, part)
    heads = [
        "phase",
        "kind",
        "lane",
        "count",
        "total ▾",
        "share",
        "mean",
        "min",
        "p50",
        "p99",
        "max",
    ]
    assert opened.table()[0] == heads
    assert opened.problems == []


def test_a_torn_wave_has_no_row(chromium: Any, tmp_path: Path) -> None:
    waves = [
        Wave(header={"main_cursor": 3}),
        Wave(wave=1, main=[push(OUTER, 1_100), pop(1_200)]),
    ]

    opened = open_page(chromium, decode(waves, tmp_path), tmp_path)

    assert opened.js("ktrace.list.rows.map((row) => row.label)")[1:] == [
        "workgroup 0,0,0",
        "wave 1",
    ]
    assert "⚠ 1 wave has a damaged header" in opened.text("#quality")


def test_a_range_without_length_is_a_line_that_has_a_tip(chromium: Any, tmp_path: Path) -> None:
    opened = open_page(
        chromium, decode([Wave(main=[span(TILE, 5_000, 5_000)])], tmp_path), tmp_path
    )

    opened.page.mouse.move(*opened.at(0, 0))

    assert opened.tip()["duration"] == "0 ns · 0 cycles"
    assert opened.js("ktrace.statistics.rows.map(({ count, total }) => [count, total])") == [[1, 0]]


@pytest.mark.parametrize("share", [0.5, 0.9, 0.999])
def test_a_cut_file_says_so(
    chromium: Any, timeline: Timeline, tmp_path: Path, share: float
) -> None:
    path = tmp_path / "cut.html"
    whole = page_of(timeline)
    begin = whole.index(b'id="tables"')
    path.write_bytes(whole[: begin + int(share * (whole.index(b'id="totals"') - begin))])

    page = chromium.new_page()
    page.goto(path.as_uri())
    problem = page.evaluate("ktrace.ready.catch(String)")

    assert problem == "Error: the file is cut: its end is missing"
    assert page.inner_text("#message").splitlines() == [
        "this page cannot be shown",
        "",
        "Error: the file is cut: its end is missing",
    ]
    page.close()


_columns = st.lists(
    st.lists(st.integers(-(1 << 52), 1 << 52)) | st.lists(st.integers(0, 255)), max_size=5
)


def test_the_browser_reads_any_column(chromium: Any, tmp_path: Path) -> None:
    opened = open_page(chromium, decode([Wave()], tmp_path), tmp_path)

    @settings(deadline=None, max_examples=60)
    @given(_columns)
    def same(columns: list[list[int]]) -> None:
        names = [f"c{number}" for number in range(len(columns))]
        block = encode_block([np.array(column, np.int64) for column in columns])
        found = opened.js(
            """([bytes, names]) => {
              const columns = readBlock(Uint8Array.from(bytes), names);
              return names.map((name) => Array.from(columns[name]));
            }""",
            [list(block), names],
        )
        assert found == columns

    same()
