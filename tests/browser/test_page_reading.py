"""The page of `decode -f html` in a browser: names, tips and colours do not hide or mislead."""

from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktrace_cli.model import Timeline
from ktrace_cli.trace_file.layout import DispatchFlag, WaveState
from support.browser import Opened, open_page
from support.oklab import distance, tint_distance
from support.recording import HOST_EPOCH_NS, Wave
from support.timelines import OUTER, TILE, decode
from support.words import pop, push


@pytest.fixture
def grid(chromium: Any, tmp_path: Path) -> Opened:
    """Sixty workgroups of four waves, which is more than fits the screen."""
    words = [push(OUTER, 1_100), pop(5_000)]
    waves = [Wave(block=(i, 0, 0), wave=n, main=words) for i in range(60) for n in range(4)]
    return open_page(
        chromium, decode(waves, tmp_path, grid=(60, 1, 1), block=(256, 1, 1)), tmp_path
    )


def written(opened: Opened) -> list[tuple[str, float, float]]:
    """Return what the next frame writes, each text with where it begins and its middle."""
    texts: list[tuple[str, float, float]] = opened.js(
        """() => {
          const context = ktrace.view.picture.getContext("2d");
          const texts = [];
          context.fillText = (text, x, y) => texts.push([text, x, y]);
          paintPicture(ktrace);
          delete context.fillText;
          return texts;
        }"""
    )
    return texts


@pytest.mark.parametrize("scroll", range(0, 57, 3))
def test_the_name_beside_compact_rows_is_that_of_their_workgroup(grid: Opened, scroll: int) -> None:
    grid.page.keyboard.press("c")
    grid.js("(y) => scrollTo(ktrace, y)", scroll)

    head = grid.js("ktrace.view.ruler + HEAD")
    names = {t: y for t, _, y in written(grid) if t.startswith("workgroup ") and y > head}
    rows = grid.js(
        """() => ktrace.list.rows.filter((row) => row.caption).map((row) =>
          [row.caption.text, screenY(ktrace.view, row.y)])"""
    )
    own = {name: [y for text, y in rows if text == name] for name in names}
    assert len(names) > 10
    assert all(own[name][0] <= y < own[name][-1] + 7 for name, y in names.items())
    middles = sorted(names.values())
    assert all(b - a >= 13 for a, b in pairwise(middles))


def test_the_tip_hides_while_the_picture_moves_until_the_pointer_does(opened: Opened) -> None:
    def is_hidden() -> bool:
        opened.frame()
        return bool(opened.js("ktrace.tip.hidden"))

    x, y = opened.at(0, 0)
    for act in (
        lambda: opened.page.mouse.wheel(0, -40),
        lambda: opened.page.keyboard.press("w"),
        lambda: opened.page.keyboard.press("s"),
        lambda: opened.page.keyboard.press("0"),
    ):
        opened.page.mouse.move(x + 4, y)
        opened.page.mouse.move(x, y)
        assert not is_hidden()
        act()
        assert is_hidden()
        assert opened.js("ktrace.under.kind") == "slice"
    opened.page.mouse.move(x, y - 1)
    assert is_hidden()
    opened.page.mouse.move(x + 4, y)
    assert not is_hidden()


def test_the_tip_stays_hidden_after_a_drag_and_during_a_search(opened: Opened) -> None:
    x, y = opened.at(0, 0)
    opened.page.mouse.move(x, y)
    opened.page.mouse.down()
    opened.page.mouse.move(x - 40, y, steps=3)
    opened.page.mouse.up()
    opened.frame()
    assert opened.js("ktrace.under.kind") == "slice"
    assert opened.js("ktrace.tip.hidden")

    opened.page.mouse.move(x - 30, y)
    opened.frame()
    assert not opened.js("ktrace.tip.hidden")
    opened.page.keyboard.press("/")
    opened.page.keyboard.type("l")
    opened.frame()
    assert opened.js("ktrace.tip.hidden")


def test_the_tip_of_a_wave_is_one_line(chromium: Any, tmp_path: Path) -> None:
    timeline = decode([Wave(end=22_000, main=[push(OUTER, 1_100), pop(1_500)])], tmp_path)
    opened = open_page(chromium, timeline, tmp_path)
    x, y = opened.at(0, 0)

    opened.page.mouse.move(x + 400, y)
    opened.frame()

    assert opened.js("ktrace.under.kind") == "wave"
    assert opened.text("#tip") == "wave 0 of workgroup 0,0,0 · 10 µs"
    assert opened.js("ktrace.tip.offsetHeight") < 40


def test_ranges_that_were_running_last_at_least_so_long(chromium: Any, tmp_path: Path) -> None:
    ended = Wave(side=[push(OUTER, 2_100), pop(2_102_100)], begin=2_100, end=2_102_100)
    running = Wave(
        side=[push(OUTER, 21_000), push(TILE, 42_000)],
        wave=1,
        begin=2_100,
        end=2_100,
        state=WaveState.BEGUN,
    )
    timeline = decode(
        [ended, running],
        tmp_path,
        flags=DispatchFlag.EAGER | DispatchFlag.UNFINISHED,
        launched_ns=HOST_EPOCH_NS + 1_000,
        completed_ns=HOST_EPOCH_NS + 2_000_000,
    )
    opened = open_page(chromium, timeline, tmp_path)

    opened.page.mouse.move(*opened.at(1, 0))
    opened.frame()
    assert opened.text("#tip .flag") == (
        "running: its dispatch was still running: shown up to the last known time"
    )
    assert opened.tip()["duration"] == "at least 1,990,000 ns (1.99 ms) (unfinished)"
    texts = [text for text, _, _ in written(opened)]
    assert {"≥ 1.99 ms", "≥ 1.98 ms"} <= set(texts)
    opened.page.mouse.click(*opened.at(1, 0))
    assert "this one" not in opened.text("#facts")
    opened.js("ktrace.choose({ kind: 'wave', row: 1 })")
    assert "at least 1,999,000 ns (2.00 ms) (unfinished)" in opened.text("#facts")
    found = opened.js("ktrace.statistics.rows.map(({ name, count, open }) => [name, count, open])")
    assert sorted(found) == [["outer", 0, 1], ["tile", 0, 1]]


@pytest.mark.parametrize("width", [1_400, 1_150, 900, 640])
def test_no_label_of_the_ruler_is_cut(opened: Opened, width: int) -> None:
    opened.page.set_viewport_size({"width": width, "height": 900})
    opened.frame()

    for _ in range(12):
        opened.js("zoom(ktrace, 0.83, ktrace.view.gutter + 200)")
        right = opened.js("ktrace.view.width")
        middle = opened.js("ktrace.view.ruler - 15")
        labels = sorted((x, text) for text, x, y in written(opened) if y == middle)
        ends = [x + opened.js("(t) => ktrace.view.textWidth(t)", text) for x, text in labels]
        assert len(labels) > 2
        assert max(ends) <= right
        assert all(end < x for end, (x, _) in zip(ends, labels[1:], strict=False))


def colours(opened: Opened, names: list[str], *, dark: bool) -> list[list[int]]:
    found: list[list[int]] = opened.js(
        """([names, dark]) => makePalette(names.map((name) => ({ name })), dark).fill.map(
          (text) => text.match(/[0-9]+/g).map(Number))""",
        [names, dark],
    )
    return found


NAMES = ["round", "k_tile", "mma", "wait", "store", "load"]


@pytest.mark.parametrize("dark", [False, True])
def test_the_ranges_of_a_kernel_have_colours_that_are_far_apart(opened: Opened, dark: bool) -> None:
    shown = colours(opened, NAMES, dark=dark)

    assert min(tint_distance(a, b) for a, b in combinations(shown, 2)) > 0.08
    assert colours(opened, NAMES[::-1], dark=dark) == shown[::-1]


def test_any_few_names_have_colours_that_are_apart(opened: Opened) -> None:
    @settings(deadline=None, max_examples=80)
    @given(st.lists(st.text(min_size=1, max_size=8), unique=True, min_size=2, max_size=6))
    def apart(names: list[str]) -> None:
        for dark in (False, True):
            shown = colours(opened, names, dark=dark)
            assert min(distance(a, b) for a, b in combinations(shown, 2)) > 0.07

    apart()


def test_names_keep_their_colour_when_later_names_come(opened: Opened) -> None:
    few, more = (colours(opened, names, dark=False) for names in (["a", "b"], ["a", "b", "z"]))

    assert more[:2] == few


_lengths = st.lists(st.integers(0, 50) | st.integers(0, 1 << 40), min_size=1, max_size=60)


def test_the_nth_least_length_is_the_nth_of_all(opened: Opened) -> None:
    @settings(deadline=None, max_examples=120)
    @given(_lengths, st.data())
    def same(lengths: list[int], data: Any) -> None:
        n = data.draw(st.integers(0, len(lengths) - 1))
        found = opened.js(
            "([all, n]) => nthLeast(Float64Array.from(all), 0, all.length, n)", [lengths, n]
        )
        assert found == sorted(lengths)[n]

    same()


def test_self_is_without_what_nests_inside_of_a_selected_time(
    opened: Opened, timeline: Timeline
) -> None:
    zero = int(timeline.dispatches["begin_ns"].min())
    begin, end = zero + 100, zero + 330
    opened.js("([begin, end]) => ktrace.select({ begin, end })", [begin - zero, end - zero])

    slices = timeline.slices
    first = slices["begin_ns"]
    inside = np.maximum(0, np.minimum(first + slices["ns"], end) - np.maximum(first, begin))
    is_own = timeline.waves["dispatch"][slices["wave"]] == 0
    own = inside.copy()
    inner = np.flatnonzero(slices["parent"] != -1)
    np.subtract.at(own, slices["parent"][inner], inside[inner])
    waves = timeline.waves[timeline.waves["dispatch"] == 0]
    time = np.minimum(waves["end_ns"], end) - np.maximum(waves["begin_ns"], begin)
    of = np.array([event.name == "outer" for event in timeline.events])[slices["event"]] & is_own
    (outer,) = opened.js("ktrace.statistics.rows.filter(({ name }) => name === 'outer')")
    assert outer["selfShare"] == pytest.approx(own[of].sum() / np.maximum(time, 0).sum())
    assert outer["selfShare"] < outer["share"]
