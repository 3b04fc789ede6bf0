"""How much faster ktrace reads QuACK's, TileOPs' and Proton's data than these tools, in one run.

`python tests/bench/foreign_bench.py [--events N]`; `nox -s outside` installs the tools' packages.
Each tool does what its users call after a run: QuACK and TileOPs decode a buffer and write their
file. Proton's decoder needs its device; its JSON is beside Python's `json.load` of it, which every
script that reads it has to call first. CPU time of this process, of one core, the best of three.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from ktrace_cli.export.formats import choose_target  # noqa: E402
from ktrace_cli.export.write import Looks, write_timeline  # noqa: E402
from ktrace_cli.foreign.shape import Shape  # noqa: E402
from ktrace_cli.foreign.source import Source, Tool, read_foreign  # noqa: E402
from support.foreign.absent import load_part  # noqa: E402
from support.foreign.quack_buffer import BEGIN, END, QuackWarp, quack_buffer  # noqa: E402
from support.foreign.quack_peer import load_quack, session  # noqa: E402
from support.foreign.tileops_buffer import tileops_buffer  # noqa: E402
from support.foreign.tileops_peer import load_tileops  # noqa: E402
from support.foreign.trace_files import ProtonBlock, proton_json, write_json  # noqa: E402

NAMES = {"load": 0, "mma": 1}
PER_WARP = 512


@dataclass(frozen=True)
class Case:
    """One kind of data."""

    title: str
    path: Path
    source: Source
    output: str
    peer: Callable[[], Any] | None
    events: int


def ours(case: Case) -> Callable[[], Any]:
    """Read the data and write a file, without the start of a process."""
    target = choose_target(case.path, case.path.with_suffix(case.output), None, may_replace=True)
    tool = case.source.tool
    assert tool is not None
    return lambda: write_timeline(
        read_foreign(case.path, tool, case.source).timeline, target, Looks()
    )


def quack_case(folder: Path, warps: int) -> Case:
    """A buffer of warps of PER_WARP events, and QuACK's `write_trace` with its summary."""
    events = [
        (5_000_000 + at // 2 * 100 + at % 2 * 60, at // 2 % 2, BEGIN if at % 2 == 0 else END)
        for at in range(PER_WARP)
    ]
    made = {
        (n // 4, n % 4): QuackWarp(final_clock=5_100_000, final_ns=1_050_000, events=events)
        for n in range(warps)
    }
    content = quack_buffer(warps // 4, 4, PER_WARP, made)
    path = folder / "quack.bin"
    path.write_bytes(content)
    quack = load_quack()
    peer = None
    if quack is not None:
        os.environ["QUACK_TRACE"] = "1"
        quack._REGION_REGISTRY.update({number: name for name, number in NAMES.items()})
        one = session(quack, content, warps // 4, 4, PER_WARP)
        peer = lambda: one.write_trace(str(folder / "quack.json"))  # noqa: E731
    source = Source(Tool.QUACK, [write_json(folder / "n.json", NAMES)], Shape(capacity=PER_WARP))
    return Case("QuACK's buffer", path, source, ".pftrace.gz", peer, warps * PER_WARP)


def tileops_case(folder: Path, groups: int) -> Case:
    """A buffer of groups of PER_WARP events, and TileOPs' `decode` and page."""
    events = [(10**9 + at * 50, at // 2 % 2, at % 2, 0, at) for at in range(PER_WARP)]
    content = tileops_buffer([[events, events]] * (groups // 2), PER_WARP)
    path = folder / "tileops.bin"
    path.write_bytes(content)
    decoder, page = load_tileops(), None
    if decoder is not None:
        absent = ("tilelang", "tilelang.language", "tvm", "tvm.ir")
        page = load_part("tileops", "trace._ui", absent) or load_part("tileops", "trace.ui", absent)
    names = {number: name for name, number in NAMES.items()}
    array = np.frombuffer(content, "<i8").reshape(groups // 2, 2, -1)

    def peer() -> None:
        assert decoder is not None
        assert page is not None
        found = decoder.decode(array, id_to_name=names, max_events=PER_WARP, num_groups=2)
        page.export_timeline_html(found, str(folder / "tileops.html"), group_id_to_name={})

    shape = Shape(groups=2, capacity=PER_WARP)
    source = Source(Tool.TILEOPS, [write_json(folder / "n.json", NAMES)], shape)
    works = peer if page is not None else None
    return Case("TileOPs' buffer", path, source, ".html", works, groups * PER_WARP)


def proton_case(folder: Path, warps: int) -> Case:
    """Proton's JSON, and the least that any reader of it in Python does."""
    ranges = [(f"r{at % 2}", at * 100, at * 100 + 60) for at in range(PER_WARP // 2)]
    blocks = [ProtonBlock(n, n, n, dict.fromkeys(range(4), ranges)) for n in range(warps // 4)]
    path = write_json(folder / "proton.json", proton_json([("gemm", blocks)]))
    source = Source(Tool.CHROME, (), Shape(clock=2 * 10**9))
    load = lambda: json.loads(path.read_text())  # noqa: E731
    return Case("Proton's Chrome JSON", path, source, ".pftrace.gz", load, warps * PER_WARP)


@contextmanager
def quiet() -> Iterator[None]:
    """Let a tool say what it does to nobody."""
    with Path(os.devnull).open("w") as nothing, redirect_stdout(nothing):
        yield


def seconds(work: Callable[[], Any]) -> float:
    """Return the CPU time of the best of three runs."""
    best = float("inf")
    for _ in range(3):
        with quiet():
            begin = time.process_time()
            work()
            best = min(best, time.process_time() - begin)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=524_288)
    events = parser.parse_args().events
    os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
    warps = max(events // PER_WARP // 4, 1) * 4
    with tempfile.TemporaryDirectory() as folder:
        for make in (quack_case, tileops_case, proton_case):
            case = make(Path(folder), warps)
            own = seconds(ours(case))
            rate = f"ktrace {case.events / own / 1e6:6.2f} M events/s"
            if case.peer is None:
                sys.stdout.write(f"{case.title:<24} {rate}  (the tool is not installed)\n")
                continue
            other = seconds(case.peer)
            note = f"the other {case.events / other / 1e6:6.3f} M events/s"
            sys.stdout.write(f"{case.title:<24} {rate}  {note}  {other / own:6.1f} x\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
