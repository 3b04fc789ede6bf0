"""A page of `decode -f html` in headless Chromium."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ktrace_cli.model import Timeline
from support.html_page import page_of

_NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def browser() -> Iterator[Any]:
    """Start Chromium; skip the test if there is none."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next((found for name in _NAMES if (found := shutil.which(name))), None)
    with api.sync_playwright() as playwright:
        try:
            started = playwright.chromium.launch(
                executable_path=path, args=["--no-sandbox", "--disable-gpu"]
            )
        except api.Error as problem:
            pytest.skip(f"no Chromium: {problem.message.splitlines()[0]}")
        try:
            yield started
        finally:
            started.close()


@dataclass
class Opened:
    """A page that has read its recording."""

    page: Any
    problems: list[str] = field(default_factory=list)
    """Console messages, errors, dialogs, and requests for anything but the page itself."""

    def js(self, expression: str, argument: object = None) -> Any:
        return self.page.evaluate(expression, argument)

    def text(self, selector: str) -> str:
        return str(self.page.inner_text(selector))

    def frame(self) -> None:
        """Return when the next frame was drawn."""
        self.js("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def at(self, wave: int, slice_: int) -> tuple[float, float]:
        """Return the middle of a slice, counted within its wave, on the screen."""
        place = self.js(
            """([wave, number]) => {
              const { recording, view, list } = ktrace;
              const slice = recording.waves.firstSlice[wave] + number;
              const row = list.rows[list.rowOfWave[wave]];
              const line = lineOfSlice(recording, row.shape, slice);
              const begin = recording.waves.begin[wave] + recording.slices.begin[slice];
              const box = view.stage.getBoundingClientRect();
              return [
                box.left + view.x(begin + recording.slices.ns[slice] / 2),
                box.top + screenY(view, row.y) + line.y + line.height / 2,
              ];
            }""",
            [wave, slice_],
        )
        return float(place[0]), float(place[1])

    def tip(self) -> dict[str, str]:
        """Return the pairs of the tip; its title is that of ``."""
        self.frame()
        pairs = self.js(
            """() => [...document.querySelectorAll("#tip dt")].map(
              (term) => [term.textContent, term.nextSibling.textContent])"""
        )
        return {"": self.text("#tip .title"), **dict(pairs)}

    def table(self) -> list[list[str]]:
        """Return the cells of the table, its head first."""
        rows: list[list[str]] = self.js(
            """() => [...document.querySelectorAll("#table tr")].map(
              (row) => [...row.children].map((cell) => cell.textContent))"""
        )
        return rows


def open_page(started: Any, timeline: Timeline, folder: Path, **options: Any) -> Opened:
    """Write the page of `timeline` and open it from its file, without a network."""
    path = folder / "page.html"
    path.write_bytes(page_of(timeline))
    return open_file(started, path, **options)


def open_file(started: Any, path: Path, **options: Any) -> Opened:
    context = started.new_context(viewport={"width": 1400, "height": 900}, offline=True, **options)
    opened = Opened(context.new_page())
    page, problems = opened.page, opened.problems
    page.on("console", lambda message: problems.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: problems.append(f"error: {error}"))
    page.on("dialog", lambda dialog: problems.append(f"dialog: {dialog.message}"))
    page.on("request", lambda request: problems.append(f"request: {request.url}"))
    page.goto(path.as_uri())
    assert problems == [f"request: {path.as_uri()}"]
    problems.clear()
    page.evaluate("ktrace.ready")
    opened.frame()
    return opened
