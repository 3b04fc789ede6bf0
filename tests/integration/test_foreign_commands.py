"""Every command that reads a recording reads other tracers' buffers, and says what it assumes."""

import json
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ktrace_cli.app import app
from ktrace_cli.errors import KtraceError
from support.foreign.flydsl_buffer import MARK, POP, PUSH, U64, FlyWave, bare_buffer, whole_buffer
from support.foreign.quack_buffer import BEGIN, END, QuackWarp, quack_buffer
from support.foreign.tileops_buffer import tileops_buffer
from support.foreign.trace_files import PerfettoFile, ProtonBlock, proton_json, write_json
from support.ktrace_command import run_ktrace
from support.timelines import builder

T = 10**12
NAMES = {"mainloop": 1, "k_tile": 2, "m": 3}


def ktrace(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def wave(number: int, length: int = 20) -> FlyWave:
    made = FlyWave((number, 0, 0), xcc=number % 8).event(T + number, PUSH, 1)
    for k in range(4):
        begin = T + number + 10 + 50 * k
        made.event(begin, PUSH, 2, (U64, k)).event(begin + length, POP)
    return made.event(T + number + 300, MARK, 3).event(T + number + 400, POP)


def refusal(done: Result) -> tuple[int, str]:
    """Status and words of the error that a command ended with."""
    problem = done.exception
    assert isinstance(problem, KtraceError), done.stderr
    return int(problem.status), f"{problem.what}; {problem.why}; {problem.fix}"


@pytest.fixture
def buffer(tmp_path: Path) -> Path:
    path = tmp_path / "gemm.buffer"
    path.write_bytes(whole_buffer(1 << 20, {(0, n): wave(n) for n in range(16)}, {0: 16}))
    (tmp_path / "gemm.buffer.names.json").write_text(json.dumps({"names": NAMES, "kernel": "gemm"}))
    return path


def test_decode_finds_out_whose_buffer_it_is(buffer: Path) -> None:
    done = ktrace("decode", buffer, "-f", "text")

    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[:3] == [
        "# ktrace text 2",
        "# device 0 : measured times",
        f"# zero_ns {T * 10}",
    ]
    assert "1\t0\tgemm\t0,0,0\t0\tpush\tk_tile\t\t1\t100\t200\t10\t20\t\t0" in lines
    assert "read as FlyDSL's buffer of 1.0 MiB: 1 partition, 128 wave regions" in done.stderr
    assert f"names are those in {buffer}.names.json" in done.stderr
    assert "warning" not in done.stderr


@pytest.mark.parametrize("suffix", ["pftrace.gz", "trace.json", "html", "csv", "parquet"])
def test_decode_writes_every_format(buffer: Path, tmp_path: Path, suffix: str) -> None:
    done = ktrace("decode", buffer, "--from", "flydsl", "-o", tmp_path / f"x.{suffix}")

    assert done.exit_code == 0, done.stderr
    assert "wrote 80 slices and 16 marks of 16 waves" in done.stderr
    assert (tmp_path / f"x.{suffix}").stat().st_size > 500


def test_summary_tells_all_that_quacks_summary_tells(tmp_path: Path) -> None:
    lengths = [100, 200, 300, 400]  # cycles, of half a nanosecond
    events, at = [], 5_000_000
    for length in lengths:
        events += [(at, 1, BEGIN), (at + length, 1, END)]
        at += length
    path = tmp_path / "q.bin"
    path.write_bytes(quack_buffer(2, 1, 8, {(0, 0): QuackWarp(events=events), (1, 0): QuackWarp()}))
    (tmp_path / "n.json").write_text('{"mma": 1}')

    done = ktrace("summary", path, "--from", "quack", "--names", tmp_path / "n.json", "--json")

    assert done.exit_code == 0, done.stderr
    phase = json.loads(done.stdout)["kernels"][0]["phases"][0]
    histogram = phase.pop("histogram")
    assert phase | {"share": 0, "lane": "", "kind": ""} == {
        "name": "mma", "kind": "", "lane": "", "share": 0, "unclosed": 0, "open": 0,
        "zero_length": 0, "count": 4, "total_ns": 500, "self_ns": 500, "mean_ns": 125.0,
        "cv": 0.447214, "min_ns": 50, "max_ns": 200, "variance_population": 3125.0,
        "variance_sample": 4166.667, "p5_ns": 50, "p10_ns": 50, "p25_ns": 50, "p50_ns": 100,
        "p75_ns": 150, "p90_ns": 200, "p95_ns": 200, "p99_ns": 200,
    }  # fmt: skip
    assert sum(bucket["count"] for bucket in histogram) == 4


def test_from_is_a_tool_and_a_time(buffer: Path) -> None:
    done = ktrace("decode", buffer, "-f", "text", "--from", "flydsl", "--from", "3us")

    assert done.exit_code == 0, done.stderr
    assert "mark\tm\t" in done.stdout
    assert "k_tile" not in done.stdout


@pytest.mark.parametrize("given", [("flydsl", "quack"), ("1us", "2us"), ("nsight",)])
def test_another_from_is_refused(buffer: Path, given: tuple[str, ...]) -> None:
    options = [part for each in given for part in ("--from", each)]

    done = ktrace("summary", buffer, *options)

    status, words = refusal(done)
    assert status == 2
    assert f"`--from {given[-1]}`" in words


def test_cycles_are_refused_where_no_core_clock_was_recorded(buffer: Path) -> None:
    done = ktrace("summary", buffer, "--unit", "cycles")

    status, words = refusal(done)
    assert status == 2
    assert "FlyDSL records the 100 MHz reference clock only" in words


def test_diff_baseline_and_report_compare_buffers(tmp_path: Path) -> None:
    for name, length in (("a", 20), ("b", 40)):
        waves = [wave(number, length) for number in range(64)]
        (tmp_path / f"{name}.bin").write_bytes(bare_buffer(waves))
    base, new = tmp_path / "a.bin", tmp_path / "b.bin"
    (tmp_path / "n.json").write_text(json.dumps(NAMES))
    told = ("--from", "flydsl", "--names", tmp_path / "n.json")

    same = ktrace("diff", base, base, *told)
    slower = ktrace("diff", base, new, *told)
    kept = ktrace("baseline", base, "-o", tmp_path / "a.json", *told)
    again = ktrace("diff", tmp_path / "a.json", new, *told)
    site = ktrace("report", new, "-o", tmp_path / "site", "--baseline", base, *told)

    assert (same.exit_code, kept.exit_code) == (0, 0), same.stderr
    assert (slower.exit_code, again.exit_code, site.exit_code) == (3, 3, 3), site.stderr
    assert "k_tile" in slower.stdout
    assert "k_tile" in (tmp_path / "site" / "index.html").read_text()


def test_view_draws_a_buffer(buffer: Path) -> None:
    done = ktrace("view", buffer, "--tui", "--ascii")

    assert done.exit_code == 0, done.stderr
    assert "gemm, dispatch 1" in done.stdout


def test_merge_shows_a_buffer_alone_and_asks_how_to_tie_it(buffer: Path, tmp_path: Path) -> None:
    recording = tmp_path / "r.bin"
    builder()[0].write(recording)

    alone = ktrace("merge", buffer, "-o", tmp_path / "m.pftrace")
    untied = ktrace("merge", buffer, recording, "-o", tmp_path / "n.pftrace")

    assert alone.exit_code == 0, alone.stderr
    assert "on the 100 MHz clock of the GPU" in alone.stderr
    assert "which nothing ties to another one" in refusal(untied)[1]


def test_cycles_only_buffers_are_shown_in_cycles(tmp_path: Path) -> None:
    path = tmp_path / "t.bin"
    path.write_bytes(tileops_buffer([[[(T, 0, 0, 0, 0), (T + 1500, 0, 1, 0, 0)]]], 8))
    told = ("--from", "tileops", "--shape", "groups=1,capacity=8")

    cycles = ktrace("decode", path, "-f", "text", *told)
    refused = ktrace("diff", path, path, *told)
    compared = ktrace("diff", path, path, "--unit", "cycles", *told)
    told_rate = ktrace("decode", path, "-f", "text", *told[:3], f"{told[3]},clock=1.5GHz")

    assert "event_0\t\t0\t0\t1500" in cycles.stdout
    assert "they are cycles, as nothing tells a cycle's length" in cycles.stderr
    assert refusal(refused)[0] == 2
    assert "add `--unit cycles`" in refusal(refused)[1]
    assert compared.exit_code == 4  # not enough to judge, and no loss is allowed
    assert "event_0\t\t0\t0\t1000" in told_rate.stdout


def test_what_is_lost_fails_a_strict_reading(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    lossy = wave(0)
    lossy.attempted = 300
    path.write_bytes(bare_buffer([lossy]))

    done = ktrace("summary", path, "--from", "flydsl", "--strict")

    assert done.exit_code == 5
    assert "45 words did not fit their wave's region" in done.stderr


def test_names_that_are_given_for_a_recording_are_not_ignored_silently(tmp_path: Path) -> None:
    recording = tmp_path / "r.bin"
    builder()[0].write(recording)

    done = ktrace("summary", recording, "--from", "flydsl")

    assert "r.bin is a recording of ktrace" in done.stderr


def test_a_missing_file_is_said_as_ever(tmp_path: Path) -> None:
    done = ktrace("decode", tmp_path / "no.bin", "--from", "flydsl")

    assert f"cannot read {tmp_path / 'no.bin'}" in refusal(done)[1]


def test_decode_prints_what_the_page_shows(tmp_path: Path) -> None:
    waves = {(0, number): wave(number) for number in range(16)}
    (tmp_path / "gemm.buffer").write_bytes(whole_buffer(1 << 20, waves, {0: 16}))
    (tmp_path / "names.json").write_text(json.dumps(NAMES))
    page = Path(__file__).parents[2] / "docs" / "reference" / "foreign.md"
    lines = [line[4:] for line in page.read_text().splitlines() if line.startswith("    ")]

    done = run_ktrace(tmp_path, *shlex.split(lines[0])[2:])

    assert lines[0].startswith("$ ktrace decode")
    assert done.stderr.splitlines() == lines[1:]


def proton_file(folder: Path, name: str, length: int) -> Path:
    warps = {0: [("loop", at * 5000, at * 5000 + length) for at in range(4)]}
    blocks = [ProtonBlock(core, core, 5000 + core, warps) for core in range(64)]
    return write_json(folder / name, proton_json([("gemm", blocks)]))


def test_chrome_traces_are_read_by_every_command(tmp_path: Path) -> None:
    base, new = proton_file(tmp_path, "a.json", 1000), proton_file(tmp_path, "b.json", 2000)
    rate = ("--shape", "clock=2GHz")

    summary = ktrace("summary", base, *rate, "--json")
    page = ktrace("decode", base, *rate, "-o", tmp_path / "x.html")
    slower = ktrace("diff", base, new, *rate)
    site = ktrace("report", new, "-o", tmp_path / "site", "--baseline", base, *rate)
    shown = ktrace("view", base, "--tui", "--ascii", *rate)
    untold = ktrace("summary", base)

    phase = json.loads(summary.stdout)["kernels"][0]["phases"][0]
    assert (phase["name"], phase["count"], phase["mean_ns"]) == ("loop", 256, 500.0)
    assert "wrote 256 slices" in page.stderr
    assert (slower.exit_code, site.exit_code) == (3, 3), site.stderr
    assert "loop" in slower.stdout
    assert "gemm, dispatch 1" in shown.stdout
    assert "LENGTHS ARE CYCLES, shown as nanoseconds" in untold.stderr


def test_perfetto_traces_are_read_by_every_command(tmp_path: Path) -> None:
    file = PerfettoFile()
    for number in range(2):
        track = file.track(f"blk{number}_g0", file.process(f"SM_00{number}"))
        file.range(track, 100, 400, "load")
    path = file.write(tmp_path / "f.perfetto-trace")

    summary = ktrace("summary", path, "--json")
    page = ktrace("decode", path, "-o", tmp_path / "x.html")
    same = ktrace("diff", path, path, "--from", "pftrace")

    kernel = json.loads(summary.stdout)["kernels"][0]
    assert kernel["name"] == "flashinfer_kernel"
    assert kernel["phases"][0]["total_ns"] == 600
    assert "wrote 2 slices" in page.stderr
    assert same.exit_code == 0


def test_merge_shows_a_trace_as_it_is_unless_it_is_told_to_read_waves(tmp_path: Path) -> None:
    path = proton_file(tmp_path, "a.json", 1000)

    whole = ktrace("merge", path, "-o", tmp_path / "m.pftrace")
    waves = ktrace("merge", path, "-o", tmp_path / "n.pftrace", "--from", "chrome")

    assert "256 slices of 1 other trace" in whole.stderr
    assert "no time" not in whole.stderr
    assert "256 slices of 1 recording" in waves.stderr
