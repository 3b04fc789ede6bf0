"""How fast the HTML page is made, opens and moves: `python tests/bench/page_bench.py`.

Needs playwright and Chromium. Frames are the times between two of them while the page zooms and
moves through everything; a browser that keeps up with the screen has about 17 ms.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from ktrace_cli.export.html.page import write_html
from ktrace_cli.timeline.build import build_timeline
from ktrace_cli.trace_file.reader import read_recording
from support.browser import browser
from support.make_recording import make_recording

SCENES = {
    "one dispatch": "{ mode: 'groups', dispatch: 0, compact: false }",
    "hardware": "{ mode: 'hardware', dispatch: -1, compact: false }",
    "hardware, compact": "{ mode: 'hardware', dispatch: -1, compact: true }",
    "all workgroups": "{ mode: 'groups', dispatch: -1, compact: false }",
}
MOVE = """async () => {
  const { view } = ktrace;
  const frames = [];
  fit(ktrace);
  for (let i = 0, last = 0; i < 120; i++) {
    const now = await new Promise((done) => requestAnimationFrame(done));
    if (i > 2) frames.push(now - last);
    last = now;
    if (i < 40) zoom(ktrace, 0.85, view.gutter + 300 + 10 * i);
    else if (i < 80) { pan(ktrace, 30); scrollTo(ktrace, view.scroll + 29); }
    else zoom(ktrace, 1 / 0.85, view.gutter + 300);
  }
  return frames;
}"""


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def measure(started: Any, path: Path) -> None:
    page = started.new_page(viewport={"width": 1600, "height": 1000})
    begin = time.perf_counter()
    page.goto(path.as_uri())
    page.evaluate("ktrace.ready")
    say(f"ready after {time.perf_counter() - begin:.2f} s")
    for name, scene in SCENES.items():
        page.evaluate(f"ktrace.show({scene})")
        frames = sorted(page.evaluate(MOVE))
        say(
            f"{name:18} frames: median {statistics.median(frames):5.1f} ms,"
            f" 95 % below {frames[len(frames) * 95 // 100]:5.1f} ms, longest {frames[-1]:5.1f} ms"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=11_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, browser() as started:
        recording, path = Path(folder, "run.bin"), Path(folder, "run.html")
        events = make_recording(recording, options.events)
        begin = time.perf_counter()
        timeline = build_timeline(read_recording(recording))
        with path.open("wb") as out:
            written = write_html(timeline, out)
        seconds, size = time.perf_counter() - begin, path.stat().st_size
        say(f"{events:,} events, {written.slices:,} slices: written in {seconds:.2f} s")
        say(f"{size:,} bytes, {size / written.slices:.2f} per slice")
        measure(started, path)


if __name__ == "__main__":
    main()
