"""The page of `decode -f html`: every number of the timeline is in it, and nothing else happens."""

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktrace_cli.errors import KtraceError
from ktrace_cli.export.html import blocks, page
from ktrace_cli.export.html.columns import decode_block, encode_block
from ktrace_cli.export.html.page import write_html
from ktrace_cli.model import Columns, Timeline
from ktrace_cli.timeline.select import Selection, select
from ktrace_cli.trace_file.layout import DispatchFlag, WaveState
from support.code_object import EventSource, KernelSource, make_code_object
from support.html_page import Bytes, page_of, read_page
from support.recording import RecordingBuilder, Wave
from support.rich_timeline import rich_timeline
from support.timelines import (
    LOAD,
    OUTER,
    TILE,
    build,
    decode,
)
from support.words import (
    pop,
    push,
    span,
    start,
)


def payloads(rows: Columns, values: Columns) -> list[bytes]:
    firsts, counts = rows["first_value"].tolist(), rows["values"].tolist()
    return [
        values[first : first + count].tobytes() for first, count in zip(firsts, counts, strict=True)
    ]


def without_places(rows: Columns) -> Columns:
    """Payloads are in another order in the page."""
    rows = rows.copy()
    rows["first_value"] = 0
    return rows


def assert_same(timeline: Timeline) -> None:
    found = read_page(page_of(timeline), timeline)
    zero = timeline.zero_ns

    for name in ("slices", "instants"):
        rows, expected = getattr(found, name), getattr(timeline, name)
        assert payloads(rows, found.values) == payloads(expected, timeline.values)
        np.testing.assert_array_equal(without_places(rows), without_places(expected), name)
    np.testing.assert_array_equal(found.flows, timeline.flows)
    assert found.totals == {"slices": len(timeline.slices), "instants": len(timeline.instants)}
    waves = timeline.waves
    np.testing.assert_array_equal(found.waves["begin"] + zero, waves["begin_ns"])
    np.testing.assert_array_equal(found.waves["ns"], waves["end_ns"] - waves["begin_ns"])
    np.testing.assert_array_equal(found.waves["ticks"], waves["end_ticks"] - waves["begin_ticks"])
    for name in ("dispatch", "wave", "xcc", "se", "cu", "simd", "flags", "group", "words"):
        np.testing.assert_array_equal(found.waves[name], waves[name], name)
    for number, axis in enumerate("xyz"):
        np.testing.assert_array_equal(found.waves[axis], waves["block"][:, number])


def test_a_page_holds_every_number_of_the_timeline(tmp_path: Path) -> None:
    timeline = rich_timeline(tmp_path)

    assert len(timeline.slices) == 32
    assert len(timeline.flows) == 4
    assert_same(timeline)


def test_small_parts_share_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = rich_timeline(tmp_path)
    parts = [
        part
        for rows in (range(4), range(4, 8))
        for part in whole.source(np.isin(np.arange(8), list(rows)))
    ]
    timeline = replace(whole, source=lambda _: iter(parts))

    assert read_page(page_of(timeline), timeline).blocks == 1
    assert_same(timeline)

    monkeypatch.setattr(blocks, "_ROWS_PER_BLOCK", 10)
    assert read_page(page_of(timeline), timeline).blocks == len(parts)
    assert_same(timeline)


def test_a_selection_of_waves_and_of_time_is_whole(tmp_path: Path) -> None:
    timeline = rich_timeline(tmp_path)

    assert_same(select(timeline, Selection(dispatches=[range(2, 3)])))
    assert_same(select(timeline, Selection(begin=300, end=900)))


def test_nanoseconds_off_the_waves_own_line_stay_exact(tmp_path: Path) -> None:
    words = [span(TILE, 2_000 + 997 * i, 2_500 + 997 * i) for i in range(40)]
    waves = [
        Wave(wave=0, begin=1_000, end=60_000, main=words, realtime_begin=47, realtime_end=2_900),
        Wave(wave=1, begin=30_000, end=90_000, realtime_begin=1_400, realtime_end=4_300),
    ]

    assert_same(decode(waves, tmp_path))


def test_a_wave_longer_than_32_bits_of_cycles_stays_exact(tmp_path: Path) -> None:
    far = 1_000 + (1 << 34)
    wave = Wave(begin=1_000, end=far, main=[push(OUTER, 2_000), pop(3_000)])

    assert_same(decode([wave], tmp_path))


def test_what_is_missing_is_said_in_the_page(tmp_path: Path) -> None:
    words = [pop(1_100), push(OUTER, 1_200), start(LOAD, 1_300, token="a")]
    timeline = decode([Wave(main=words, dropped_main=200), Wave(wave=1)], tmp_path, expected=3)

    found = read_page(page_of(timeline), timeline)

    assert found.tables["losses"] == [
        "1 wave has no record: it never began, or all slots were taken",
        "91 words did not fit their wave's region",
        "1 wave filled its region",
        "2 ranges have no end",
        "1 end has no begin",
    ]
    assert found.slices["flags"].tolist() == [3, 3]


def test_a_running_dispatch_and_a_torn_wave_are_in_the_page(tmp_path: Path) -> None:
    waves = [
        Wave(state=WaveState.BEGUN, main=[push(OUTER, 1_100)]),
        Wave(wave=1, header={"main_cursor": 3}),
    ]
    timeline = decode(waves, tmp_path, flags=DispatchFlag.UNFINISHED)

    found = read_page(page_of(timeline), timeline)

    assert found.tables["dispatches"][0]["unfinished"] is True
    assert found.slices["flags"].tolist() == [17]
    assert found.waves["flags"].tolist() == timeline.waves["flags"].tolist()
    assert_same(timeline)


def test_modelled_times_are_marked(tmp_path: Path) -> None:
    timeline = rich_timeline(tmp_path)

    modelled = read_page(page_of(timeline), timeline).tables["devices"]

    assert [device["modelled"] for device in modelled] == [True]
    assert modelled[0]["target"] == "gfx942:sramecc+:xnack-"


def test_a_partly_wanted_dispatch_is_a_note(tmp_path: Path) -> None:
    timeline = decode([Wave()], tmp_path, flags=DispatchFlag.FILTERED)

    assert read_page(page_of(timeline), timeline).tables["notes"] == [
        "recorded only in part, as asked for (--blocks, --waves or --xcc): 1 of 1 dispatch"
    ]


def test_a_page_says_what_its_writer_was_told(tmp_path: Path) -> None:
    timeline = decode([Wave()], tmp_path)
    out = Bytes()

    write_html(timeline, out, notes=["1 of 8 waves was selected"])

    assert read_page(out.data, timeline).tables["notes"] == ["1 of 8 waves was selected"]


def test_every_script_of_the_folder_is_in_the_page() -> None:
    folder = Path(page.__file__).parent

    assert sorted(page.SCRIPTS) == sorted(path.name for path in folder.glob("*.js"))


def test_an_empty_recording_has_a_page(tmp_path: Path) -> None:
    timeline = build(RecordingBuilder(empty=True), tmp_path)

    found = read_page(page_of(timeline), timeline)

    assert found.tables["title"] == "nothing recorded"
    assert found.totals == {"slices": 0, "instants": 0}
    assert_same(timeline)


def test_the_same_timeline_gives_the_same_bytes(tmp_path: Path) -> None:
    assert page_of(rich_timeline(tmp_path)) == page_of(rich_timeline(tmp_path))


def test_a_page_that_no_browser_holds_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timeline = rich_timeline(tmp_path)
    monkeypatch.setattr(page, "MOST_ROWS", 43)

    with pytest.raises(KtraceError, match=r"cannot write an HTML page") as refused:
        write_html(timeline, Bytes())
    assert refused.value.why == "a page holds at most 43 slices and marks, and there are more"
    monkeypatch.setattr(page, "MOST_ROWS", 44)
    assert write_html(timeline, Bytes()) == page.Written(slices=32, instants=12)


def test_times_that_a_browser_cannot_tell_apart_are_refused(tmp_path: Path) -> None:
    timeline = rich_timeline(tmp_path)
    waves = timeline.waves.copy()
    waves["end_ns"][1] += 1 << 52

    with pytest.raises(KtraceError, match=r"cannot write an HTML page") as refused:
        write_html(replace(timeline, waves=waves), Bytes())
    assert refused.value.why.startswith("its times are more than 52 days apart")


class Elements(HTMLParser):
    """Counts elements, and lists attributes that load or run something."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.active: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.active += [n for n, _ in attrs if n in {"src", "href", "style"} or n.startswith("on")]


def elements(html: bytes) -> Elements:
    parser = Elements()
    parser.feed(html.decode())
    parser.close()
    return parser


def named(kernel: str, event: str, folder: Path) -> Timeline:
    recording = RecordingBuilder()
    source = KernelSource(kernel, unit_key=0x55)
    events = [EventSource(1, event, kernel=kernel, unit_key=0x55)]
    image = recording.add_code_object(make_code_object([source], events))
    number = recording.add_kernel(kernel, code_object=image, unit_key=0x55)
    recording.add_dispatch(number, [Wave(main=[push(1, 1_100), pop(1_200)])])
    return build(recording, folder)


HOSTILE = "</script><img src=x onerror=alert(1)>"


def test_hostile_names_make_no_elements(tmp_path: Path) -> None:
    harmless = elements(page_of(named("k", "e", tmp_path)))

    hostile = page_of(timeline := named(HOSTILE, f"<!--{HOSTILE}", tmp_path))

    assert elements(hostile).tags == harmless.tags
    assert elements(hostile).active == []
    tables = read_page(hostile, timeline).tables
    assert tables["kernels"][0]["mangled"] == HOSTILE
    assert tables["events"][0][0] == f"<!--{HOSTILE}"


_names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)


@settings(deadline=None, max_examples=40)
@given(_names, _names)
def test_any_name_comes_back_as_it_was(kernel: str, event: str) -> None:
    with TemporaryDirectory() as folder:
        timeline = named(kernel, event, Path(folder))
    html = page_of(timeline)

    tables = read_page(html, timeline).tables
    assert tables["kernels"][0]["mangled"] == timeline.kernels[0].mangled
    assert [row[0] for row in tables["events"]] == [e.name for e in timeline.events]
    assert elements(html).tags == elements(page_of(timeline)).tags
    assert elements(html).active == []


def test_the_page_runs_its_own_script_and_nothing_else(tmp_path: Path) -> None:
    html = page_of(rich_timeline(tmp_path)).decode()

    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    for rule, text in (("script-src", script), ("style-src", style)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"


_columns = st.lists(
    st.lists(st.integers(-(1 << 52), 1 << 52)) | st.lists(st.integers(0, 255)), max_size=5
)


@given(_columns)
def test_columns_come_back_from_a_block(columns: list[list[int]]) -> None:
    block = encode_block([np.array(column, np.int64) for column in columns])

    assert [column.tolist() for column in decode_block(block)] == columns


def test_highest_bytes_of_nothing_but_zeros_are_left_out() -> None:
    block = encode_block([np.array([0, 255], np.int64), np.zeros(1000, np.int64)])

    assert len(block) == 4 + 2 * 8 + 2


def test_all_64_bits_of_a_payload_come_back() -> None:
    bits = np.array([1 << 63, (1 << 64) - 1], np.uint64)

    (found,) = decode_block(encode_block([bits]))

    assert found.view(np.uint64).tolist() == [1 << 63, (1 << 64) - 1]
