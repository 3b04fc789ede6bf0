"""Kernels of files of rocprofv3: what they add up to, and what damaged files do."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ktrace_cli.errors import KtraceError
from ktrace_cli.rocprof.discovered import discover_kernels
from support.host_traces import (
    agent_csv,
    dispatch,
    kernel_csv,
    kernel_row,
    results_json,
    symbol,
    write_json,
)

STATS = (
    'Name,Calls,TotalDurationNs,AverageNs,Percentage,MinNs,MaxNs\n"gemm<a,b>",2,30,15,60,10,20\n'
)


def trace(folder: Path, target: str = "gfx950") -> Path:
    rows = [
        kernel_row("scale(float*)", 100, 110),
        kernel_row("gemm(float*)", 200, 260, accum=8),
        kernel_row("gemm(float*)", 300, 340, accum=8),
    ]
    (folder / "1_agent_info.csv").write_text(agent_csv(target))
    path = folder / "1_kernel_trace.csv"
    path.write_text(kernel_csv(rows))
    return path


def test_kernels_come_with_the_longest_first(tmp_path: Path) -> None:
    found = discover_kernels([trace(tmp_path, "gfx942")], [])

    assert [(k.name, k.calls, k.total_ns, k.median_ns) for k in found.kernels] == [
        ("gemm(float*)", 2, 100, 50),
        ("scale(float*)", 1, 10, 10),
    ]
    assert found.total_ns == 110
    assert found.kernels[0].used is not None
    assert (found.kernels[0].used.vgprs, found.kernels[0].used.agprs) == (124, 8)


def test_names_with_commas_are_read_in_statistics(tmp_path: Path) -> None:
    (tmp_path / "1_kernel_stats.csv").write_text(STATS)

    (kernel,) = discover_kernels([tmp_path / "1_kernel_stats.csv"], []).kernels

    assert (kernel.name, kernel.calls, kernel.mean_ns) == ("gemm<a,b>", 2, 15)
    assert (kernel.median_ns, kernel.least_ns, kernel.most_ns) == (None, 10, 20)


def test_a_folder_stands_for_its_kernel_traces(tmp_path: Path) -> None:
    trace(tmp_path)
    (tmp_path / "empty").mkdir()

    found = discover_kernels([tmp_path], [])

    assert len(found.kernels) == 2
    with pytest.raises(KtraceError, match="no kernel trace in"):
        discover_kernels([tmp_path / "empty"], [])


def test_a_trace_without_launches_says_so(tmp_path: Path) -> None:
    path = tmp_path / "1_kernel_trace.csv"
    path.write_text(kernel_csv([]))

    with pytest.raises(KtraceError, match="tells of no kernel") as raised:
        discover_kernels([path], [])

    assert raised.value.why == "there is no launch with a time in it"


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200), st.integers(0, 3000), st.sampled_from(("stats", "csv", "json")))
def test_damaged_files_are_read_or_refused(tmp_path: Path, data: bytes, at: int, kind: str) -> None:
    if kind == "stats":
        path = tmp_path / "1_kernel_stats.csv"
        path.write_text(STATS)
    elif kind == "csv":
        path = trace(tmp_path)
    else:
        records = results_json(kernel_dispatch=[dispatch(9, 2, 5)], symbols=[symbol(9, "gemm")])
        path = write_json(tmp_path / "1_results.json", records)
    content = path.read_bytes()
    at %= len(content)
    path.write_bytes(content[:at] + data + content[at + len(data) :])

    with suppress(KtraceError):
        assert all(kernel.calls > 0 for kernel in discover_kernels([path], []).kernels)
