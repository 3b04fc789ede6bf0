"""The pages of `ktrace report` in a browser, from a disk and without a network."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.comparing import Run, ktrace, record_run
from support.timelines import TILE


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    base = record_run(folder / "base.bin", Run(seed=1))
    slow = record_run(folder / "slow.bin", Run(seed=2, scale={TILE: 1.3}))
    done = ktrace("report", base, slow, "-o", folder / "site", "--baseline", base)
    assert done.exit_code == 3
    return folder / "site"


@pytest.fixture
def opened(chromium: Any, request: pytest.FixtureRequest, site: Path) -> Iterator[Any]:
    """The first page; what a page says to the console, or asks of any network, fails the test."""
    options = getattr(request, "param", {})
    problems: list[str] = []
    context = chromium.new_context(offline=True, **options)
    page = context.new_page()
    page.on("console", lambda message: problems.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: problems.append(f"error: {error}"))
    page.on(
        "request",
        lambda request: request.url.startswith(site.as_uri()) or problems.append(request.url),
    )
    page.goto((site / "index.html").as_uri())
    yield page
    assert problems == []
    context.close()


def test_a_runs_page_opens_and_embeds_its_timeline(opened: Any, site: Path) -> None:
    opened.click("text=slow.bin")

    opened.wait_for_selector("h1 .bad")
    assert opened.inner_text("h1").split() == ["slow.bin", "regressed"]
    opened.locator("iframe").scroll_into_view_if_needed()
    (frame,) = (frame for frame in opened.frames if frame.parent_frame)
    frame.wait_for_load_state()
    frame.evaluate("ktrace.ready")
    assert frame.url == (site / "runs/slow/timeline.html").as_uri()
    assert frame.inner_text("#heading") == "gemm"
    opened.click("text=all runs")
    assert opened.inner_text(".banner") == "REGRESSED: 1 of 2 runs"


@pytest.mark.parametrize(
    "opened",
    [{"java_script_enabled": False, "viewport": {"width": 360, "height": 700}}],
    indirect=True,
)
def test_pages_need_no_script_and_fit_narrow_screens(opened: Any) -> None:
    for page in ("index", "slow.bin"):
        if page != "index":
            opened.click(f"text={page}")
        size = opened.locator("html").bounding_box()
        assert size["width"] == 360
        inner = [opened.locator("main").bounding_box(), opened.locator("h1").bounding_box()]
        assert all(box["x"] + box["width"] <= 360 for box in inner)
    assert opened.inner_text("#comparison table tbody tr:first-child").split()[0] == "tile"


@pytest.mark.parametrize(
    "opened", [{"color_scheme": "light"}, {"color_scheme": "dark"}], indirect=True
)
def test_all_text_has_contrast_in_both_schemes(opened: Any) -> None:
    ratios = """() => {
      const luminance = (colour) => {
        const parts = colour.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255)
          .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
      };
      const back = (element) => {
        for (let at = element; at; at = at.parentElement) {
          const colour = getComputedStyle(at).backgroundColor;
          if (colour !== "rgba(0, 0, 0, 0)") return colour;
        }
      };
      return [...document.querySelectorAll("body *")]
        .filter((one) => [...one.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
        .filter((one) => !(one instanceof SVGElement))
        .map((one) => {
          const [a, b] = [luminance(getComputedStyle(one).color), luminance(back(one))];
          return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), one.outerHTML];
        });
    }"""
    found = opened.evaluate(ratios)
    opened.click("text=slow.bin")
    found += opened.evaluate(ratios)

    assert len(found) > 100
    assert [text for ratio, text in found if ratio < 4.5] == []
