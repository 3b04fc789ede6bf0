"""What the interposer adds to a launch, and that no launch goes missing under stress.

`python tests/bench/launch_bench.py [--stress]`; `nox -s bench` and `nox -s stress` call it. Each
line has the target next to what was measured. Counts must meet it: a miss is exit status 1. Times
belong to this machine and this moment, and only say so.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from ktrace_cli.launch.native import INTERPOSER  # noqa: E402
from ktrace_cli.libraries import native_library  # noqa: E402
from ktrace_cli.trace_file.reader import read_recording  # noqa: E402
from support.async_hip import SAXPY_UNTRACED, Bench, build, build_graphs  # noqa: E402
from support.preloaded import run_script  # noqa: E402

LAUNCHES = 64 + 8000
REPEAT = 5


class Table:
    """Prints rows as they come and remembers a count that missed its target."""

    def __init__(self) -> None:
        self.has_missed = False

    def count(self, name: str, value: float, least: float, most: float) -> None:
        is_met = least <= value <= most
        self.has_missed |= not is_met
        target = f"{most:,g}" if least == most else f"{least:,g} to {most:,g}"
        self._row(name, f"{value:,.2f}", target, "met" if is_met else "MISSED")

    def time(self, name: str, value: float, most: float, unit: str) -> None:
        is_met = value < most
        self._row(
            name, f"{value:,.2f} {unit}", f"< {most:,g} {unit}", "met" if is_met else "not here"
        )

    @staticmethod
    def _row(name: str, value: str, target: str, verdict: str) -> None:
        sys.stdout.write(f"{name:<52} {value:>14}   target {target:<16} {verdict}\n")
        sys.stdout.flush()


def folders(root: str) -> Iterator[Path]:
    number = 0
    while True:
        number += 1
        yield Path(root, f"{number}")


def added_times(table: Table, bench: Bench, folder: Iterator[Path]) -> None:
    idle = {"STAND_IN_WORDS": "0", "KTRACE_WORDS": "64"}

    def median_ns(**options: Any) -> float:
        runs = [
            bench.run(next(folder), launches=LAUNCHES, environment=idle, **options)
            for _ in range(REPEAT)
        ]
        return float(min(run.values["ns_median"] for run in runs))

    plain = median_ns(preloads=())
    unannotated = median_ns(code_object=SAXPY_UNTRACED)
    annotated = median_ns(extra="settle")
    table.time("unannotated launch, added on its thread", unannotated - plain, 100, "ns")
    table.time("annotated launch, added on its thread", annotated - plain, 1000, "ns")


def added_calls(table: Table, bench: Bench, folder: Iterator[Path]) -> None:
    # A buffer is cleared when it is first used: that is a call more, once.
    rows: tuple[tuple[str, dict[str, Any], int], ...] = (
        ("unannotated launch", {"code_object": SAXPY_UNTRACED}, 0),
        ("annotated launch", {"extra": "settle"}, 2),
        ("annotated launch, several streams", {"extra": "settle", "streams": 4}, 2),
        ("annotated launch in a program that has captured", {"extra": "capture"}, 2),
    )
    for name, options, least in rows:
        traced = bench.run(next(folder), launches=LAUNCHES, **options)
        table.count(f"{name}: calls of HIP", traced.values["calls"] - 1, least, least + 0.5)


def added_calls_of_graphs(table: Table, folder: Iterator[Path]) -> None:
    """Count what a replay of a graph adds: for the graph, and for each of its kernels."""
    built = build_graphs(next(folder))
    if built is None:
        sys.exit("there is no C++ compiler")
    few, many = (
        calls_of_replay(built.folder / "libamdhip64.so.7", n, next(folder)) for n in (1, 9)
    )
    per_kernel = (many - few) / 8
    table.count("graph replay, for each kernel: calls of HIP", per_kernel, 0, 6)
    table.count("graph replay, for the graph: calls of HIP", few - per_kernel - 1, 0, 4)


def calls_of_replay(hip: Path, kernels: int, folder: Path) -> int:
    outcome = run_script(
        "from support.graph_host import *\n"
        f"host = GraphHost(SAXPY, ctypes.CDLL({str(hip)!r}))\n"
        "hip, stream = host.hip, host.stream()\n"
        f"executable = host.instantiate(host.captured(*[(4, 1, 1)] * {kernels}))\n"
        "for _ in range(8):\n"
        "    hip.fake_calls()\n    assert hip.hipGraphLaunch(executable, stream) == 0\n"
        "    print(hip.fake_calls())\n    hip.hipStreamSynchronize(stream)\n",
        folder,
        preload_device=False,
    )
    if outcome.returncode or outcome.status.dispatches != 8 * kernels:
        sys.exit(f"graphs were not recorded: {outcome.stderr}{outcome.status}")
    # A buffer is cleared when it is first used: that is a call more, once.
    return min(map(int, outcome.stdout.split()[1:]))


def copied_bytes(table: Table, bench: Bench, folder: Iterator[Path]) -> None:
    for words in (512, 8192):
        events = words // 2 - 16
        traced = bench.run(
            next(folder),
            launches=200,
            environment={"KTRACE_WORDS": str(words), "STAND_IN_WORDS": str(events)},
        )
        copied = (traced.values["to_host"] + traced.values["to_device"]) / (200 * events)
        table.count(f"half full regions of {words} words: bytes per event", copied, 8, 10)


def start_ms(preload: bool) -> float:
    """Start a program that does nothing, many times, and return the shortest."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("KTRACE_")}
    if preload:
        environment["LD_PRELOAD"] = str(native_library(INTERPOSER))
    shortest = float("inf")
    for _ in range(200):
        begin = time.perf_counter()
        subprocess.run(["/bin/true"], env=environment, check=True)
        shortest = min(shortest, time.perf_counter() - begin)
    return shortest * 1000


def stress(table: Table, bench: Bench, folder: Iterator[Path], launches: int) -> None:
    for memory in ("1073741824", "1048576"):
        where = next(folder)
        launched = bench.run(
            where,
            threads=8,
            streams=4,
            launches=launches // 8,
            environment={"STAND_IN_ASYNC": "1", "KTRACE_WORDS": "64", "KTRACE_MEMORY": memory},
        )
        status, recording = launched.status, read_recording(launched.recording)
        lost = sum(status.losses.values())
        name = f"8 threads x 4 streams, {int(memory) >> 20} MiB"
        table.count(f"{name}: launches seen", status.launches, launches, launches)
        table.count(f"{name}: recorded + lost", status.dispatches + lost, launches, launches)
        table.count(f"{name}: in the file", len(recording.dispatches), *[status.dispatches] * 2)
        sys.stdout.write(f"  {status.dispatches:,} recorded, {lost:,} counted as lost\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stress", action="store_true", help="100,000 launches instead of times")
    options = parser.parse_args()
    table = Table()
    with tempfile.TemporaryDirectory() as root:
        bench = build(Path(root, "built"))
        if bench is None:
            sys.exit("there is no C++ compiler")
        folder = folders(root)
        if options.stress:
            stress(table, bench, folder, 100_000)
        else:
            added_calls(table, bench, folder)
            added_calls_of_graphs(table, folder)
            copied_bytes(table, bench, folder)
            added_times(table, bench, folder)
            table.time("process start, added", start_ms(True) - start_ms(False), 0.3, "ms")
            stress(table, bench, folder, 8_000)
    if table.has_missed:
        sys.exit(1)


if __name__ == "__main__":
    main()
