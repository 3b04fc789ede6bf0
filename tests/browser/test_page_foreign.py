"""The page of a buffer of TileOPs': what its own page has, and what its buffer does not tell."""

from pathlib import Path
from typing import Any

import pytest

from ktrace_cli.foreign.shape import Shape
from ktrace_cli.foreign.source import Tool
from support.browser import Opened, open_page
from support.foreign.reading import read
from support.foreign.tileops_buffer import BEGIN, END, INSTANT, Event, tileops_buffer

NAMES = {
    "names": {"load": 0, "mma": 1, "published": 2},
    "lanes": {"0": "main", "1": "tma"},
    "groups": {"0": "producer", "1": "consumer"},
    "edges": [["load", "mma"]],
    "kernel": "fa3",
}


def block(clock: int) -> list[list[Event]]:
    producer = [(clock, 0, BEGIN, 1, 3), (clock + 100, 0, END, 1, 0)]
    consumer = [(clock + 110, 1, BEGIN, 0, 0), (clock + 150, 2, INSTANT, 0, 9),
                (clock + 200, 1, END, 0, 0)]  # fmt: skip
    return [producer, consumer]


@pytest.fixture
def opened(chromium: Any, tmp_path: Path) -> Any:
    content = tileops_buffer([block(10**9 * (at + 1)) for at in range(3)], 8)
    found = read(tmp_path, content, Tool.TILEOPS, NAMES, Shape(capacity=8))
    page = open_page(chromium, found.timeline, tmp_path)
    yield page
    assert page.problems == []
    page.page.context.close()


def test_a_tileops_page_has_what_tileops_own_has(opened: Opened) -> None:
    tabs = opened.js("[...document.querySelectorAll('#workgroup option')].map((o) => o.text)")
    assert tabs == ["all 3", "0,0,0", "1,0,0", "2,0,0"]

    opened.page.keyboard.press("]")
    opened.page.keyboard.press("]")
    opened.frame()
    labels = opened.js("ktrace.list.rows.filter((row) => row.kind === 'wave').length")
    assert labels == 2
    assert opened.js("[...ktrace.recording.tables.lanes]") == ["", "tma"]
    assert opened.js("ktrace.recording.flows.source.length") == 3

    opened.page.mouse.move(*opened.at(2, 0))
    tip = opened.tip()
    assert (tip[""], tip["duration"], tip["payload"]) == ("load", "100 cycles", "3 (u32)")

    before = opened.js("ktrace.view.t1 - ktrace.view.t0")
    opened.page.mouse.wheel(0, -200)
    opened.frame()
    assert opened.js("ktrace.view.t1 - ktrace.view.t0") < before


def test_what_tileops_does_not_record_is_not_shown(opened: Opened) -> None:
    assert "cycles of each block's clock from its first event on" in opened.text("#quality")
    assert opened.js("ktrace.list.rows.filter((row) => row.kind === 'group')[0].note") == ""
    opened.page.mouse.move(*opened.at(0, 0))
    assert opened.tip()["hardware"] == "not recorded"
