"""The page of `decode -f html` in a browser: search, statistics, mouse, keys and rows."""

from typing import Any

import numpy as np
import pytest

from ktrace_cli.analysis.summary import summarize
from ktrace_cli.model import Columns, Timeline
from support.browser import Opened


def test_search_counts_marks_and_steps_in_order_of_time(opened: Opened) -> None:
    opened.js("ktrace.show({ dispatch: -1 })")
    opened.page.keyboard.press("/")
    opened.page.keyboard.type("LOA")
    assert opened.text("#found") == "8"

    steps = []
    for key in ("Enter", "Enter", "Shift+Enter", "Shift+Enter"):
        opened.page.keyboard.press(key)
        steps.append(opened.text("#found"))
    assert steps == ["1 of 8", "2 of 8", "1 of 8", "8 of 8"]
    assert opened.text("#facts .title") == "load"
    assert opened.js("ktrace.chosen") == {"kind": "slice", "row": 28}

    opened.page.fill("#search", "published")
    assert opened.text("#found") == "12"
    opened.page.fill("#search", '"publish"')
    assert opened.text("#found") == "0"
    assert opened.page.is_disabled("#next-hit")


def test_search_says_what_lies_outside_of_the_view(opened: Opened) -> None:
    opened.page.fill("#search", "load")

    assert opened.text("#found") == "4 (8 in all)"


def expected_rows(timeline: Timeline, waves: Columns, begin: int, end: int) -> dict[str, Any]:
    """Statistics of slices that touch [begin, end), from the timeline itself."""
    slices = timeline.slices
    first, ns = slices["begin_ns"], slices["ns"]
    last = first + ns
    touches = (first < end) & ((last > begin) | ((ns == 0) & (first == begin)))
    touches &= np.isin(slices["wave"], waves)
    rows: dict[str, Any] = {}
    for event in np.unique(slices["event"][touches]):
        own = touches & (slices["event"] == event)
        inside = np.minimum(last[own], end) - np.maximum(first[own], begin)
        rows[timeline.events[event].name] = {
            "count": int(own.sum()),
            "total": int(ns[own].sum()),
            "inRange": int(inside.sum()),
            "min": int(ns[own].min()),
            "max": int(ns[own].max()),
        }
    return rows


def shown_rows(opened: Opened) -> dict[str, Any]:
    names = ("count", "total", "inRange", "min", "max")
    return {
        row["name"]: {name: row[name] for name in names}
        for row in opened.js("ktrace.statistics.rows")
    }


def test_all_that_is_shown_is_added_up(opened: Opened, timeline: Timeline) -> None:
    begin, end = int(timeline.waves["begin_ns"].min()), int(timeline.waves["end_ns"].max())
    expected = expected_rows(timeline, np.arange(4), begin, end)

    assert shown_rows(opened) == expected
    assert opened.table()[0][:4] == ["phase", "kind", "lane", "count"]
    opened.js("ktrace.show({ dispatch: -1 })")
    assert shown_rows(opened) == expected_rows(timeline, np.arange(8), begin, end)


def test_the_table_has_the_summarys_numbers(opened: Opened, timeline: Timeline) -> None:
    opened.js("ktrace.show({ dispatch: -1 })")

    (kernel,) = summarize(timeline).kernels
    found = opened.js(
        """ktrace.statistics.rows.map((row) => [row.name, row.kind, row.lane, row.count, row.total,
          row.self, Number(row.share.toFixed(6)), row.min, row.p50, row.p99, row.max])"""
    )
    assert sorted(found) == sorted(
        [
            p.name,
            p.kind,
            p.lane,
            p.times.count,
            p.times.total_ns,
            p.times.self_ns,
            p.share,
            p.times.min_ns,
            p.times.percentile(50),
            p.times.percentile(99),
            p.times.max_ns,
        ]
        for p in kernel.phases
    )
    assert [row for row in opened.table() if row[0] == "outer"] == [
        ["outer", "push", "", "4", "1,332 ns", "952 ns", "4.4 %", "3.1 %", *["333 ns"] * 5]
    ]
    assert opened.js("ktrace.statistics.marks") == [{"name": "published", "count": 12}]


def test_a_selected_time_is_added_up(opened: Opened, timeline: Timeline) -> None:
    zero = int(timeline.dispatches["begin_ns"].min())
    x0, y = opened.at(0, 1)
    x1, _ = opened.at(1, 1)

    opened.page.keyboard.down("Shift")
    opened.page.mouse.move(x0, y)
    opened.page.mouse.down()
    opened.page.mouse.move(x1, y + 30, steps=3)
    opened.page.mouse.up()
    opened.page.keyboard.up("Shift")

    chosen = opened.js("ktrace.range")
    assert 140 < chosen["begin"] < 200
    assert 1_600 < chosen["end"] < 1_750
    expected = expected_rows(timeline, np.arange(4), zero + chosen["begin"], zero + chosen["end"])
    assert shown_rows(opened) == expected
    assert {"outer", "inner", "load", "tile", "mma", "drain", "fetch"} == set(expected)
    length = chosen["end"] - chosen["begin"]
    assert opened.text("#table caption").startswith(f"Selection: {length:,} ns")
    opened.page.keyboard.press("Escape")
    assert opened.js("ktrace.range") is None


def test_the_table_sorts_by_any_column(opened: Opened) -> None:
    def names() -> list[str]:
        return [row[0] for row in opened.table()[1:]]

    opened.page.click("#table th:first-child button")
    assert names() == ["drain", "fetch", "inner", "load", "mma", "outer", "tile", "published"]
    opened.page.click("#table th:first-child button")
    assert names() == ["tile", "outer", "mma", "load", "inner", "fetch", "drain", "published"]
    opened.page.click("#table th:has-text('count') button")
    assert names()[0] == "load"
    assert opened.js("document.querySelector('[aria-sort]').textContent") == "count ▾"


def test_a_click_tells_of_a_range_and_of_all_like_it(opened: Opened) -> None:
    opened.page.mouse.click(*opened.at(0, 0))

    text = opened.text("#facts")
    assert "333 ns · 700 cycles" in text
    assert "outer: 2 shown" in text
    assert "333 ns, 333 ns" in text
    opened.page.keyboard.press("m")
    assert opened.js("ktrace.range.end - ktrace.range.begin") == 333


def test_keys_and_wheel_move_in_time(opened: Opened) -> None:
    def length() -> float:
        return float(opened.js("ktrace.view.t1 - ktrace.view.t0"))

    x, y = (round(place) for place in opened.at(0, 0))
    opened.page.mouse.move(x, y)
    whole = length()
    under = opened.js("(x) => ktrace.view.time(x)", x)
    opened.page.mouse.wheel(0, -200)
    opened.frame()
    assert length() == pytest.approx(whole * np.exp(-0.4))
    assert opened.js("(x) => ktrace.view.time(x)", x) == pytest.approx(under)

    opened.page.keyboard.press("0")
    for key, check in (("w", 0.7), ("s", 1.0), ("+", 0.7), ("-", 1.0)):
        opened.page.keyboard.press(key)
        assert length() == pytest.approx(whole * check)
    begin = opened.js("ktrace.view.t0")
    opened.page.keyboard.press("d")
    assert opened.js("ktrace.view.t0") == pytest.approx(begin + 0.15 * whole)
    opened.page.keyboard.press("ArrowLeft")
    assert opened.js("ktrace.view.t0") == pytest.approx(begin)


def test_a_drag_moves_the_picture(opened: Opened) -> None:
    x, y = opened.at(0, 0)
    begin, per_pixel = opened.js("[ktrace.view.t0, ktrace.view.perPixel]")

    opened.page.mouse.move(x, y)
    opened.page.mouse.down()
    opened.page.mouse.move(x - 100, y, steps=4)
    opened.page.mouse.up()

    assert opened.js("ktrace.view.t0") == pytest.approx(begin + 100 * per_pixel)
    assert opened.js("ktrace.chosen.kind") == ""


def row_labels(opened: Opened) -> list[str]:
    labels: list[str] = opened.js("ktrace.list.rows.map((row) => row.label)")
    return labels


def test_waves_are_rows_of_their_workgroup(opened: Opened) -> None:
    assert row_labels(opened) == [
        "dispatch 1 · gemm",
        "workgroup 0,0,0",
        "wave 0 · producer",
        "wave 1 · consumer",
        "workgroup 1,0,0",
        "wave 0 · producer",
        "wave 1 · consumer",
    ]

    opened.page.keyboard.press("]")
    opened.page.keyboard.press("]")
    assert row_labels(opened)[1:] == ["workgroup 1,0,0", "wave 0 · producer", "wave 1 · consumer"]
    assert opened.js("document.getElementById('workgroup').value") == "1,0,0"


def test_roles_and_hardware_have_rows(opened: Opened) -> None:
    opened.page.select_option("#dispatch", "-1")
    opened.page.click("#modes button:has-text('roles')")
    assert row_labels(opened) == [
        "producer",
        "1 · 0,0,0 · wave 0",
        "1 · 1,0,0 · wave 0",
        "2 · 0,0,0 · wave 0",
        "2 · 1,0,0 · wave 0",
        "consumer",
        "1 · 0,0,0 · wave 1",
        "1 · 1,0,0 · wave 1",
        "2 · 0,0,0 · wave 1",
        "2 · 1,0,0 · wave 1",
    ]

    opened.page.click("#modes button:has-text('hardware')")
    assert row_labels(opened) == [
        "XCD 0 · SE 0 · CU 0",
        "SIMD 0 · slot 0",
        "SIMD 1 · slot 0",
        "XCD 1 · SE 0 · CU 0",
        "SIMD 0 · slot 0",
        "SIMD 1 · slot 0",
    ]
    assert opened.js("ktrace.list.rows[1].waves") == [0, 4]


def test_lanes_and_depths_are_lines_of_their_wave(opened: Opened) -> None:
    lines = opened.js(
        """ktrace.list.rows[ktrace.list.rowOfWave[0]].shape.lines.map(
          ({ lane, depth, label }) => [lane, depth, label])"""
    )

    assert [line[1:] for line in lines] == [[0, ""], [1, ""], [0, "vmem"], [0, "vmem 2"]]


def test_a_compact_row_is_a_line_of_outermost_ranges(opened: Opened) -> None:
    opened.page.keyboard.press("c")

    assert opened.js("ktrace.list.rows.filter((row) => row.shape).map((row) => row.height)") == [
        7,
        7,
        7,
        7,
    ]


def test_a_click_on_a_name_adds_up_its_waves_alone(opened: Opened, timeline: Timeline) -> None:
    begin, end = int(timeline.waves["begin_ns"].min()), int(timeline.waves["end_ns"].max())
    box = opened.js("(({ left, top }) => [left, top])(ktrace.view.stage.getBoundingClientRect())")

    def click_name(row: int) -> None:
        y = opened.js("(row) => screenY(ktrace.view, ktrace.list.rows[row].y) + 10", row)
        opened.page.mouse.click(box[0] + 60, box[1] + y)

    click_name(3)
    assert shown_rows(opened) == expected_rows(timeline, np.array([1]), begin, end)
    assert opened.text("#table caption").startswith("wave 1 · consumer of workgroup 0,0,0")

    click_name(4)
    assert shown_rows(opened) == expected_rows(timeline, np.array([2, 3]), begin, end)
    opened.page.keyboard.press("Escape")
    assert shown_rows(opened) == expected_rows(timeline, np.arange(4), begin, end)


def test_a_double_click_on_a_workgroup_shows_it_alone(opened: Opened) -> None:
    box = opened.js("(({ left, top }) => [left, top])(ktrace.view.stage.getBoundingClientRect())")
    y = opened.js("screenY(ktrace.view, ktrace.list.rows[4].y) + 10")

    opened.page.mouse.dblclick(box[0] + 60, box[1] + y)

    assert opened.js("ktrace.scope.group") == "1,0,0"
    assert opened.js("[...ktrace.list.waves]") == [2, 3]


def test_arrows_join_the_ranges_of_an_edge(opened: Opened, timeline: Timeline) -> None:
    ends = opened.js(
        """() => {
          const { recording } = ktrace;
          const name = (slice) => recording.events[recording.slices.event[slice]].name;
          const { source, destination } = recording.flows;
          return Array.from(source, (slice, i) => [name(slice), name(destination[i])]);
        }"""
    )

    assert ends == [["load", "mma"]] * 4
    row = int(timeline.flows["source"][0])
    opened.page.mouse.click(*opened.at(0, row))
    x, y = opened.js(
        """() => {
          const { recording } = ktrace;
          const end = arrowEnd(ktrace, recording.flows.destination[0]);
          return [ktrace.view.x(end.begin) - 3, end.y];
        }"""
    )
    opened.frame()
    assert pixel(opened, x, y) == colour(opened, "accent")


def pixel(opened: Opened, x: float, y: float) -> list[int]:
    found: list[int] = opened.js(
        """([x, y]) => {
          const { picture, ratio } = ktrace.view;
          const copy = document.createElement("canvas");
          [copy.width, copy.height] = [picture.width, picture.height];
          const context = copy.getContext("2d", { willReadFrequently: true });
          context.drawImage(picture, 0, 0);
          return [...context.getImageData(x * ratio, y * ratio, 1, 1).data.slice(0, 3)];
        }""",
        [x, y],
    )
    return found


def colour(opened: Opened, name: str) -> list[int]:
    text = str(opened.js("(name) => ktrace.colours[name]", name)).lstrip("#")
    return [int(text[at : at + 2], 16) for at in (0, 2, 4)]
