"""A browser for all tests of a module, and a page for each."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ktrace_cli.model import Timeline
from support.browser import Opened, browser, open_page
from support.rich_timeline import rich_timeline


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as started:
        yield started


@pytest.fixture
def timeline(tmp_path: Path) -> Timeline:
    return rich_timeline(tmp_path)


@pytest.fixture
def opened(chromium: Any, timeline: Timeline, tmp_path: Path) -> Iterator[Opened]:
    page = open_page(chromium, timeline, tmp_path)
    yield page
    assert page.problems == []
    page.page.context.close()
