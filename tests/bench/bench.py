"""Speed and memory of whole commands beside other tools in the same run, and what is wanted.

`python tests/bench/bench.py [--events N]… [--quick]`; `nox -s bench` calls it. CPU time is that of
one core, of the best of some runs, with everything from the start of Python on. What depends on
this machine and moment has its target next to it; a target that is missed is exit status 1.
Instructions, which `valgrind` counts, do not depend on either.
"""

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from support.make_recording import Shape  # noqa: E402

BARE_TYPER = """
import typer
app = typer.Typer()
app.command("a")(lambda: None)
app.command("b")(lambda: None)
app(["--help"])
"""
KTRACE = [sys.executable, "-m", "ktrace_cli"]
LEAST_RATE = 5.0
"""M events/s, at FULL_EVENTS and above: with fewer, the start of Python weighs more."""
FULL_EVENTS = 9_000_000
LEAST_CSV_RATE = 1.0
MOST_MEMORY_MIB = 1024
MOST_OF_BARE = 1.3
LEAST_OF_FLYDSL = 20  # times its rate
PEER_EVENTS = 1_000_000


@dataclass(frozen=True)
class Usage:
    """What one process used."""

    wall_s: float
    cpu_s: float
    peak_mib: float


def measure(*command: object, repeat: int = 1) -> Usage:
    """Run a command and return the run with the least CPU time."""
    return min((_measure_once([*map(str, command)]) for _ in range(repeat)), key=lambda u: u.cpu_s)


def _measure_once(command: list[str]) -> Usage:
    begin = time.perf_counter()
    child = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT
    )
    _, status, used = os.wait4(child.pid, 0)
    wall = time.perf_counter() - begin
    if status:
        sys.exit(f"{' '.join(command)} failed with {os.waitstatus_to_exitcode(status)}")
    return Usage(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def instructions(*command: object) -> int | None:
    """Count the instructions of a command; None without valgrind."""
    if shutil.which("valgrind") is None:
        return None
    tool = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    done = subprocess.run(
        [*tool, *map(str, command)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        check=True,
    )
    found = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    return int(found[1].replace(",", "")) if found else None


@dataclass
class Table:
    """Prints rows as they come, and remembers what missed its target."""

    missed: list[str] = field(default_factory=list)

    def head(self, title: str) -> None:
        self._print(f"\n{title}")

    def row(self, what: str, value: str, note: str = "") -> None:
        self._print(f"  {what:<44}{value:>14}  {note}".rstrip())

    def at_least(self, what: str, value: float, least: float, unit: str, note: str = "") -> None:
        self._judged(what, f"{value:,.2f} {unit}", f">= {least:g} {unit}", value >= least, note)

    def at_most(self, what: str, value: float, most: float, unit: str, note: str = "") -> None:
        self._judged(what, f"{value:,.2f} {unit}", f"<= {most:g} {unit}", value <= most, note)

    def _judged(self, what: str, value: str, target: str, is_met: bool, note: str) -> None:
        verdict = "met" if is_met else "MISSED"
        if not is_met:
            self.missed.append(what)
        self.row(what, value, f"target {target:<16} {verdict}  {note}")

    @staticmethod
    def _print(text: str) -> None:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


@dataclass(frozen=True)
class Made:
    """A recording."""

    path: Path
    events: int
    title: str

    @property
    def has_target(self) -> bool:
        return self.events >= FULL_EVENTS


def make(folder: Path, events: int, shape: Shape) -> Made:
    """Make a recording, in another process: what this one holds counts as its children's, too."""
    path = folder / f"{events}_{shape.dispatches}.bin"
    numbers = ("--events", events, "--dispatches", shape.dispatches, "--waves", shape.waves)
    command = [sys.executable, ROOT / "tests/support/make_recording.py", *numbers, path]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=True)
    made = int(done.stderr.split()[0].replace(",", ""))
    dispatches = "one dispatch" if shape.dispatches == 1 else f"{shape.dispatches} dispatches"
    size = path.stat().st_size / 2**20
    return Made(
        path, made, f"{made:,} events, {shape.waves:,} waves in {dispatches} ({size:,.0f} MiB)"
    )


def reading(table: Table, made: Made, repeat: int, *, counts: bool) -> dict[str, float]:
    """Measure what reads a recording; return M events/s by name."""
    table.head(made.title)
    rates = {}
    for name, least, arguments in (
        ("decode to .pftrace.gz", LEAST_RATE, ["decode", "--force", "-f", "pftrace", "-o"]),
        ("summary", LEAST_RATE, ["summary"]),
        ("decode to .csv", LEAST_CSV_RATE, ["decode", "--force", "-f", "csv", "-o"]),
    ):
        output = [made.path.with_suffix(".pftrace.gz" if "gz" in name else ".csv")]
        command = [*KTRACE, *arguments, *(output if arguments[-1] == "-o" else []), made.path]
        used = measure(*command, repeat=repeat)
        rates[name] = rate = made.events / used.cpu_s / 1e6
        note = f"{used.cpu_s:.2f} s"
        if counts and (count := instructions(*command)):
            note += f", {count / made.events:,.0f} instructions an event"
        if made.has_target:
            table.at_least(name, rate, least, "M/s", note)
        else:
            table.row(name, f"{rate:,.2f} M/s", note)
        table.at_most(f"{name}: memory", used.peak_mib, MOST_MEMORY_MIB, "MiB")
    return rates


def peers(table: Table, rates: dict[str, float]) -> None:
    """Measure other tools with the same events, and how many times as fast ktrace is."""
    ours = rates["decode to .pftrace.gz"]
    table.head(
        "Other tools on the first waves of the same events; ktrace's figures are those above"
    )
    for peer, title in (
        ("flydsl", "FlyDSL: buffer to .pftrace.gz"),
        ("builder", "TraceProtoBuilder: decoded events to gz"),
    ):
        done = subprocess.run(
            [sys.executable, ROOT / "tests/bench/peers.py", peer, str(PEER_EVENTS)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            table.row(title, "-", done.stderr.strip().splitlines()[-1])
            continue
        steps = [line.split(" ", 2) for line in done.stdout.splitlines()]
        events = int(steps[0][0])
        times = {what: float(seconds) for _, seconds, what in steps}
        summarize = times.pop("summarize", None)
        rate = events / sum(times.values()) / 1e6
        parts = ", ".join(f"{what} {events / s / 1e6:.2f}" for what, s in times.items())
        table.row(title, f"{rate:,.3f} M/s", f"ktrace: {ours / rate:,.0f} x  ({parts})")
        if peer == "flydsl":
            same_buffer(table, rate)
        if summarize is not None:
            whole = events / (times["decode_records"] + summarize) / 1e6
            ratio = rates["summary"] / whole
            table.row("FlyDSL: buffer to summary", f"{whole:,.3f} M/s", f"ktrace: {ratio:,.0f} x")


def same_buffer(table: Table, rate: float) -> None:
    """Let ktrace decode FlyDSL's own buffer of the same events, where FlyDSL takes `rate` M/s."""
    command = [sys.executable, ROOT / "tests/bench/peers.py", "ktrace", str(PEER_EVENTS)]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=True)
    events, seconds, _ = done.stdout.split(" ", 2)
    ours = int(events) / float(seconds) / 1e6
    note = f"{ours:,.2f} M/s"
    table.at_least(
        "ktrace: FlyDSL's buffer to .pftrace.gz", ours / rate, LEAST_OF_FLYDSL, "x", note
    )


def starting(table: Table, repeat: int) -> None:
    table.head("ktrace --help beside a typer app of two commands")
    bare_command = [sys.executable, "-c", BARE_TYPER]
    ours = measure(*KTRACE, "--help", repeat=repeat)
    bare = measure(*bare_command, repeat=repeat)
    note = f"{ours.cpu_s:.3f} s to {bare.cpu_s:.3f} s"
    table.at_most("CPU time", ours.cpu_s / bare.cpu_s, MOST_OF_BARE, "x", note)
    counts = instructions(*KTRACE, "--help"), instructions(*bare_command)
    if counts[0] and counts[1]:
        note = f"{counts[0] / 1e6:,.0f} M to {counts[1] / 1e6:,.0f} M"
        table.at_most("instructions", counts[0] / counts[1], MOST_OF_BARE, "x", note)


def running(table: Table) -> None:
    table.head("Samples on the software device, traced")
    run = [*KTRACE, "run", "--device", "soft", "--force", "-o"]
    for name, script in (("saxpy", "samples/saxpy/run.py"), ("gemm", "samples/gemm/run.py")):
        with tempfile.TemporaryDirectory() as folder:
            traced = measure(*run, f"{folder}/t.bin", "--", sys.executable, script)
            plain = measure(*run, f"{folder}/u.bin", "--", sys.executable, script, "--untraced")
        ratio = traced.cpu_s / plain.cpu_s
        table.row(
            name, f"{traced.cpu_s:.2f} s", f"{ratio:.2f} x untraced, {traced.peak_mib:,.0f} MiB"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--events", type=int, action="append", help="Sizes. Without it: 1 M and 10 M."
    )
    parser.add_argument("--quick", action="store_true", help="One run each, no instructions.")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])  # children inherit the one core
    repeat = 1 if options.quick else 3
    table = Table()
    with tempfile.TemporaryDirectory() as folder:
        sizes = options.events or [1_000_000, 10_000_000]
        for events in sizes:
            made = make(Path(folder), events, Shape())
            counts = events == min(sizes) and not options.quick
            rates = reading(table, made, repeat, counts=counts)
            made.path.unlink()
        one = make(Path(folder), max(sizes), Shape(dispatches=1))
        reading(table, one, 1, counts=False)
    peers(table, rates)
    starting(table, 5)
    running(table)
    if table.missed:
        sys.exit(f"\nmissed: {', '.join(table.missed)}")


if __name__ == "__main__":
    main()
