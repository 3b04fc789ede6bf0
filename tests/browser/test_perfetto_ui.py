"""A recording in the Perfetto UI that `ktrace view --offline` serves."""

from pathlib import Path
from typing import Any

from ktrace_cli.export.opening import plan_opening
from ktrace_cli.export.output import compressed, open_output
from ktrace_cli.export.perfetto import write_perfetto
from ktrace_cli.model import Timeline
from ktrace_cli.viewer.perfetto_ui import Look, offline_site
from ktrace_cli.viewer.server import serving
from support.recording import Wave
from support.timelines import LOAD, OUTER, decode
from support.words import pop, push, start, stop


def load(timeline: Timeline, folder: Path) -> tuple[Path, Look]:
    path = folder / "a run.pftrace.gz"
    with open_output(path, may_replace=False) as out, compressed(out) as stream:
        write_perfetto(timeline, stream)
    opening = plan_opening(timeline)
    assert opening is not None
    return path, Look(opening.tracks, opening.begin_ns, opening.end_ns)


def test_it_shows_the_first_workgroups_waves_and_lanes(chromium: Any, tmp_path: Path) -> None:
    words = [push(OUTER, 1_100), start(LOAD, 1_200, token="a"), stop("a", 1_900), pop(2_000)]
    waves = [Wave(block=(i, 0, 0), wave=n, main=words) for i in range(2) for n in range(2)]
    timeline = decode(waves, tmp_path, grid=(2, 1, 1), block=(128, 1, 1))
    trace, look = load(timeline, tmp_path)

    with serving(offline_site(trace, trace.name, look), (0,)) as server:
        own = f"127.0.0.1:{server.server_port}"
        page = chromium.new_page(viewport={"width": 1600, "height": 1000})
        answered: list[str] = []
        page.on("response", lambda response: answered.append(response.url))
        page.goto(server.link)
        titles = page.locator(".pf-track__title-popup")
        titles.filter(has_text="workgroup 1,0,0").wait_for(state="attached", timeout=120_000)
        names = titles.all_inner_texts()
        title = page.title()
        page.close()

    assert server.wait_for_fetch(0)
    assert title.startswith("a_run.pftrace.gz")
    assert names[names.index("gemm") :] == [
        "gemm",
        "dispatch 1",
        "XCD 0 · SE 0 · CU 0",
        "workgroup 0,0,0",
        "wave 0",
        "vmem",
        "wave 1",
        "vmem",
        "workgroup 1,0,0",
    ]
    assert {url.partition("//")[2].partition("/")[0] for url in answered if "//" in url} == {own}
