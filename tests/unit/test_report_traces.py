"""Traces of other tools in `ktrace report`: shown with their kernels, and never compared."""

from pathlib import Path

import pytest

from support.comparing import Run, ktrace, record_run
from support.host_traces import KERNEL_COLUMNS, csv_text, kernel_row
from support.report_site import read_page, read_report


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A folder as rocprofv3 writes it: five launches of four kernels, one row without times."""
    folder = tmp_path / "rocprof"
    folder.mkdir()
    rows = [
        kernel_row("gemm(float*, int)", 1_000, 3_000, correlation=1),
        kernel_row("gemm(float*, int)", 4_000, 8_000, correlation=2),
        kernel_row("copy<<b>>(int)", 9_000, 10_000, correlation=3),
        kernel_row("sum(int, ktrace::sink)", 11_000, 11_500, correlation=5),
        kernel_row("sum(float, ktrace::sink)", 12_000, 12_500, correlation=6),
        kernel_row("gemm(float*, int)", "", "", correlation=4),
    ]
    (folder / "77_kernel_trace.csv").write_text(csv_text(KERNEL_COLUMNS, rows))
    return folder


def test_a_trace_is_shown_with_its_kernels(tmp_path: Path, trace: Path) -> None:
    done = ktrace("report", trace, trace / "77_kernel_trace.csv", "-o", tmp_path / "site")

    assert done.exit_code == 0
    index = read_page(tmp_path / "site/index.html")
    assert index.row("rocprof") == [
        *("rocprof", "not compared", "gemm, copy<<b>>, sum(float) and 1 more", "agent 2", "5"),
        "11.5 us",
        *("2 warnings", "not compared: a trace of another tool has no phases"),
    ]
    page = read_page(tmp_path / "site/runs/rocprof/index.html")
    assert page.tables == [
        [
            ["kernel", "launches", "% of kernels", "total", "mean", "median", "min", "max"],
            ["gemm", "2", "75.0 %", "6 us", "3 us", "3 us", "2 us", "4 us"],
            ["copy<<b>>", "1", "12.5 %", "1 us", "1 us", "1 us", "1 us", "1 us"],
            ["sum(float)", "1", "6.2 %", *["500 ns"] * 5],
            ["sum(int)", "1", "6.2 %", *["500 ns"] * 5],
        ]
    ]
    assert "Recorded0 calls, 5 kernels, 0 copies" in page.text
    assert "1 row cannot be read and is left out" in page.text
    (first, second) = read_report(tmp_path / "site")["runs"]
    assert first["recordings"][0]["tool"] == "rocprofv3 CSV"
    assert second["page"] == "runs/77_kernel_trace.csv/index.html"


def test_a_trace_beside_a_recording_does_not_decide(tmp_path: Path, trace: Path) -> None:
    run = record_run(tmp_path / "run.bin", Run())

    both = ktrace("report", run, trace, "-o", tmp_path / "both", "--baseline", run)
    alone = ktrace("report", trace, "-o", tmp_path / "alone", "--baseline", run)

    assert (both.exit_code, alone.exit_code) == (0, 4)
    assert both.stderr.splitlines()[-1].endswith(
        "PASSED: 1 run; 1 trace of other tools not compared"
    )
    assert alone.stderr.splitlines()[-1].endswith(
        "NOT COMPARABLE: there is no recording to compare"
    )


def test_a_part_of_a_trace_is_not_selected_and_that_is_said(tmp_path: Path, trace: Path) -> None:
    done = ktrace("report", trace, "-o", tmp_path / "site", "--kernel", "gemm*")

    assert f"ktrace: {trace} is shown whole: of traces of other tools nothing is selected" in (
        done.stderr.splitlines()
    )
