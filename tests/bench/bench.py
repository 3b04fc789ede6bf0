"""Time and memory of whole commands, as ratios to other tools in the same run.

`python tests/bench/bench.py [--events N]`; `nox -s bench` calls it. Prints one line per
measure. What a line says belongs to this machine and this moment; the ratios are what to compare.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from support.make_recording import make_recording  # noqa: E402

BARE_TYPER = """
import typer
app = typer.Typer()
app.command("a")(lambda: None)
app.command("b")(lambda: None)
app(["--help"])
"""
BUILDER_PACKETS = 100_000


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


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def builder_events_per_second() -> float:
    """Encode slices one by one with the perfetto package's builder, as a script would."""
    from perfetto.trace_builder.proto_builder import TraceProtoBuilder

    builder = TraceProtoBuilder()
    begin = time.process_time()
    for number in range(BUILDER_PACKETS):
        packet = builder.add_packet()
        packet.timestamp = number * 100
        packet.trusted_packet_sequence_id = 1
        packet.track_event.type = 1 + number % 2
        packet.track_event.track_uuid = 7
        if number % 2 == 0:
            packet.track_event.name = "phase"
    builder.serialize()
    return BUILDER_PACKETS / (time.process_time() - begin)


def reading(recording: Path, events: int) -> None:
    ktrace = [sys.executable, "-m", "ktrace_cli"]
    peer = builder_events_per_second()
    decode = measure(*ktrace, "decode", "--force", "-o", recording.with_suffix(".gz"), recording)
    summary = measure(*ktrace, "summary", recording)
    for name, used in (("decode to .pftrace.gz", decode), ("summary", summary)):
        rate = events / used.cpu_s
        say(
            f"{name}: {rate / 1e6:.2f} M events/s, {used.peak_mib:,.0f} MiB; "
            f"{rate / peer:.1f} x the perfetto package's builder ({peer / 1e6:.2f} M events/s)"
        )


def starting() -> None:
    ours = measure(sys.executable, "-m", "ktrace_cli", "--help", repeat=5)
    bare = measure(sys.executable, "-c", BARE_TYPER, repeat=5)
    say(f"ktrace --help: {ours.cpu_s:.2f} s, {ours.cpu_s / bare.cpu_s:.2f} x a bare typer app")


def running() -> None:
    run = [sys.executable, "-m", "ktrace_cli", "run", "--device", "soft", "--force", "-o"]
    for name, script in (("saxpy", "samples/saxpy/run.py"), ("gemm", "samples/gemm/run.py")):
        with tempfile.TemporaryDirectory() as folder:
            traced = measure(*run, f"{folder}/t.bin", "--", sys.executable, script)
            plain = measure(*run, f"{folder}/u.bin", "--", sys.executable, script, "--untraced")
        say(
            f"{name} on the software device: {traced.cpu_s:.2f} s traced, "
            f"{traced.cpu_s / plain.cpu_s:.2f} x untraced, {traced.peak_mib:,.0f} MiB"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=2_000_000)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as folder:
        recording = Path(folder, "big.bin")
        events = make_recording(recording, options.events)
        say(f"{events:,} events, {recording.stat().st_size / 2**20:,.0f} MiB")
        reading(recording, events)
    starting()
    running()


if __name__ == "__main__":
    main()
