"""`ktrace discover`, `pmc` and `att`, as users call them; rocprofv3 is a stand-in."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from support.counter_files import counter_rows, write_counters
from support.host_traces import (
    SMALL_ROCPD,
    agent_csv,
    csv_text,
    dispatch,
    kernel_csv,
    kernel_row,
    make_rocpd,
    results_json,
    symbol,
    write_json,
)
from support.ktrace_command import TRACED, run_ktrace, said
from support.stand_in_rocprofv3 import put_rocprofv3

KERNELS = {"void gemm<64>(float*, int)": 3, "saxpy(float*)": 1}
COUNTERS = "c_counter_collection.csv"
PROGRAM = ["--", sys.executable, "-c", "print('to stdout')"]


def table(printed: str) -> list[list[str]]:
    """Return the cells of a table's rows."""
    lines = printed.splitlines()
    begin = next(n for n, line in enumerate(lines) if "──" in line)
    rows = lines[begin + 1 :]
    rows = rows[: next((n for n, line in enumerate(rows) if not line.strip()), None)]
    return [[cell.strip() for cell in row.split("   ") if cell.strip()] for row in rows]


def test_every_format_tells_the_same_kernels(tmp_path: Path) -> None:
    name = "gemm(float*, int)"
    (tmp_path / "1_kernel_trace.csv").write_text(kernel_csv([kernel_row(name, 2_000, 5_000)]))
    (tmp_path / "1_agent_info.csv").write_text(agent_csv("gfx950"))
    make_rocpd(tmp_path / "1_results.db", SMALL_ROCPD)
    document = results_json(kernel_dispatch=[dispatch(9, 2_000, 5_000)], symbols=[symbol(9, name)])
    write_json(tmp_path / "1_results.json", document)
    columns = ("Name", "Calls", "TotalDurationNs", "AverageNs", "Percentage", "MinNs", "MaxNs")
    stats = csv_text(columns, [(name, 1, 3000, 3000, 100, 3000, 3000), ("bad", "x", 1, 1, 1, 1, 1)])
    (tmp_path / "1_kernel_stats.csv").write_text(stats)

    shown = [
        table(run_ktrace(tmp_path, "discover", f"1_{file}").stdout)
        for file in ("kernel_trace.csv", "results.json", "results.db")
    ]
    told = run_ktrace(tmp_path, "discover", "1_kernel_stats.csv")

    resources = ["248", "0", "48", "512 B", "0 B", "-"]
    times = ["gemm", "1", "3 us", "3 us", "100.0 %"]
    without_sgprs = [*times, "248", "0", "-", "512 B", "0 B", "-"]
    assert shown == [[times + resources], [times + resources], [without_sgprs]]
    assert table(told.stdout) == [[*times, "-", "-", "-", "-", "-", "-"]]
    assert said(told) == ["warning: 1_kernel_stats.csv: 1 row cannot be read and is left out"]


def test_discover_runs_a_program_and_knows_what_is_annotated(tmp_path: Path) -> None:
    environment = put_rocprofv3(tmp_path / "bin", kernels=KERNELS, target="gfx942")

    done = run_ktrace(tmp_path, "discover", "--json", "--code", TRACED, *PROGRAM, **environment)

    kernels = json.loads(done.stdout)["kernels"]
    assert done.returncode == 0
    assert [(k["name"], k["calls"], k["is_annotated"]) for k in kernels] == [
        ("gemm<64>", 3, None),
        ("saxpy", 1, True),
    ]
    assert "to stdout" in done.stderr
    assert (tmp_path / "ktrace_out" / "discover-1" / "job.json").is_file()


def test_pmc_runs_a_program_once_a_pass_and_once_for_time(tmp_path: Path) -> None:
    counters = {"TCC_HIT_sum": 1, "TCC_MISS_sum": 3, "TCC_EA0_RDREQ_sum": 10}
    environment = put_rocprofv3(tmp_path / "bin", kernels=KERNELS, counters=counters)
    options = ("--arch", "gfx942", "--kernel", "gemm", "-d", "out")

    done = run_ktrace(tmp_path, "pmc", "--json", *options, *PROGRAM, **environment)
    again = run_ktrace(tmp_path, "pmc", *options, *PROGRAM, **environment)

    (kernel,) = json.loads(done.stdout)["kernels"]
    assert kernel["figures"]["l2_hit_rate"]["median"] == 0.25
    assert kernel["figures"]["fetched_bytes"]["median"] == 640
    assert done.stderr.count("to stdout") == 4
    assert "ktrace: ran the program 4 times: for 3 passes, and its time" in done.stderr
    assert (again.returncode, said(again)[0]) == (1, "error: will not write into out")


def test_att_traces_a_kernel_and_shows_where_it_waits(tmp_path: Path) -> None:
    environment = put_rocprofv3(tmp_path / "bin", kernels=KERNELS, full_below=100 << 20)

    done = run_ktrace(tmp_path, "att", "--json", "--kernel", "gemm", *PROGRAM, **environment)

    (hotspots,) = json.loads(done.stdout)["hotspots"]
    assert done.returncode == 0
    assert (hotspots["totals"]["stall"], hotspots["by_class"][0]["class"]) == (404, "wait_vm")
    assert "ktrace: the trace buffer of 96.0 MiB was full: ran again with 192.0 MiB" in done.stderr


def test_att_of_a_program_that_fails_shows_what_there_is_and_fails(tmp_path: Path) -> None:
    environment = put_rocprofv3(tmp_path / "bin", kernels=KERNELS, fails_late=3)

    done = run_ktrace(tmp_path, "att", "--kernel", "gemm", *PROGRAM, **environment)

    assert done.returncode == 1
    assert "wait_vm" in done.stdout
    assert "ktrace: warning: the program exited with 3" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "what", "why"),
    [
        (["discover"], 2, "there is nothing to show", "there is no file"),
        (["discover", "hip_stats.csv"], 1, "hip_stats.csv tells of no kernels", "as its name says"),
        (["discover", COUNTERS], 1, f"{COUNTERS} is no kernel trace", "a table of something else"),
        (["pmc", "x.csv", "--", "y"], 2, "either files are read or a program", "x.csv stands"),
        (["pmc", "--ideal-gb", "0", COUNTERS], 2, "cannot read `--ideal-gb 0.0`", "more than 0"),
        (["pmc", "--arch", "gfx1100", COUNTERS], 2, "no formulas for gfx1100", "known for gfx90a"),
        (["pmc", "--kernel", "scale", COUNTERS], 2, "`--kernel scale` selects", "kernels gemm<64>"),
        (["att", "--", "true"], 127, "cannot find rocprofv3", "neither in PATH nor at"),
        (["att", "--simds", "0", "true"], 2, "cannot read `--simds 0`", "at least one bit"),
        (["att", "--buffer", "1K", "true"], 2, "`--buffer` is 1.0 KiB", "at least 1 MiB"),
        (["att", "--iteration", "0", "true"], 2, "cannot read `--iteration 0`", "counted from 1"),
    ],
)
def test_what_cannot_be_done_says_why(
    tmp_path: Path, arguments: list[str], status: int, what: str, why: str
) -> None:
    write_counters(tmp_path / COUNTERS, counter_rows([{"TCC_HIT_sum": 1}]))
    (tmp_path / "hip_stats.csv").write_text("Name,Calls,TotalDurationNs\nhipMalloc,1,5\n")

    done = run_ktrace(tmp_path, *arguments, PATH=str(tmp_path), ROCM_PATH=str(tmp_path))

    lines = said(done)
    assert (done.returncode, done.stdout) == (status, "")
    assert lines[0].startswith(f"error: {what}")
    assert lines[1].startswith("  why: ")
    assert why in lines[1]
    assert lines[2].startswith("  try: ")
