"""Figures of counters, from every format that rocprofv3 writes."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ktrace_cli.counters.counters import KernelResult, Request, analyse
from ktrace_cli.counters.formulas import METRICS_BY_TARGET, MOST_OF_L2, PASSES_BY_TARGET
from ktrace_cli.errors import KtraceError, UsageError
from support.counter_files import counter_rows, counters_json, counters_rocpd, write_counters
from support.host_traces import kernel_csv, kernel_row, write_json

READ_942 = {"TCC_EA0_RDREQ_sum": 1000, "TCC_EA0_RDREQ_32B_sum": 200, "TCC_BUBBLE_sum": 300}
WRITE_942 = {"TCC_EA0_WRREQ_sum": 100, "TCC_EA0_WRREQ_64B_sum": 60}
READ_950 = {
    "TCC_EA0_RDREQ_sum": 1000,
    "TCC_EA0_RDREQ_32B_sum": 200,
    "TCC_EA0_RDREQ_64B_sum": 500,
    "TCC_EA0_RDREQ_128B_sum": 300,
}


def only(path: Path, **request: object) -> KernelResult:
    (kernel,) = analyse(Request((path,), **request)).kernels  # type: ignore[arg-type]
    return kernel


def median(kernel: KernelResult, key: str) -> float:
    figure = kernel.counters.figure(key)
    assert figure is not None, key
    return figure.spread.median


def table(folder: Path, *dispatches: dict[str, object], target: str = "gfx942") -> Path:
    path = folder / "1_counter_collection.csv"
    return write_counters(path, counter_rows(dispatches), target=target)


@pytest.mark.parametrize(
    ("target", "counters", "fetched"),
    [
        ("gfx942", READ_942, 300 * 128 + 500 * 64 + 200 * 32),
        ("gfx950", READ_950, 300 * 128 + 500 * 64 + 200 * 32),
        ("gfx90a", {"TCC_EA_RDREQ_sum": 1000, "TCC_EA_RDREQ_32B_sum": 200}, 800 * 64 + 200 * 32),
        ("gfx942", {"FETCH_SIZE": 3.5}, 3584),
    ],
)
def test_bytes_fetched_follow_each_targets_formula(
    tmp_path: Path, target: str, counters: dict[str, object], fetched: int
) -> None:
    kernel = only(table(tmp_path, counters, counters, target=target))

    assert median(kernel, "fetched_bytes") == fetched
    assert kernel.counters.target == target
    assert not kernel.counters.is_guessed


def test_without_the_counters_of_gfx950_bytes_are_a_lower_bound(tmp_path: Path) -> None:
    counters = {**READ_942, "TCC_BUBBLE_sum": 0}

    figure = only(table(tmp_path, counters, target="gfx950")).counters.figure("fetched_bytes")

    assert figure is not None
    assert figure.spread.median == 800 * 64 + 200 * 32
    assert "up to twice as much" in figure.bound


def test_writes_hits_and_atomics(tmp_path: Path) -> None:
    counters = {
        **WRITE_942, "TCC_HIT_sum": 30, "TCC_MISS_sum": 10, "TCC_REQ_sum": 40,
        "TCC_ATOMIC_sum": 20, "TCC_EA0_ATOMIC_sum": 5,
    }  # fmt: skip

    kernel = only(table(tmp_path, counters))

    assert median(kernel, "written_bytes") == 40 * 32 + 60 * 64
    assert median(kernel, "writes_64b") == 0.6
    assert median(kernel, "l2_hit_rate") == 0.75
    assert median(kernel, "memory_atomics") == 5
    assert [verdict.key for verdict in kernel.verdicts] == ["many_atomics"]
    assert kernel.verdicts[0].reason == "50.0 % of its requests are atomics"


def test_a_missing_counter_is_named_and_never_taken_for_zero(tmp_path: Path) -> None:
    kernel = only(table(tmp_path, {"TCC_EA0_RDREQ_sum": 1000, "TCC_EA0_RDREQ_32B_sum": 0}))

    assert kernel.counters.figure("fetched_bytes") is None
    missing = {one.metric.key: one.counters for one in kernel.counters.missing}
    assert missing["fetched_bytes"] == ("TCC_BUBBLE_sum",)
    assert missing["l2_hit_rate"] == ("TCC_HIT_sum", "TCC_MISS_sum")
    assert kernel.counters.zero == ("TCC_EA0_RDREQ_32B_sum",)


def test_counters_of_different_runs_are_not_combined(tmp_path: Path) -> None:
    write_counters(tmp_path / "1_counter_collection.csv", counter_rows([{"TCC_HIT_sum": 9}]))
    write_counters(tmp_path / "2_counter_collection.csv", counter_rows([{"TCC_MISS_sum": 1}]))

    kernel = only(tmp_path)

    assert kernel.counters.passes == 2
    assert {one.metric.key: one.why for one in kernel.counters.missing}["l2_hit_rate"] == (
        "TCC_HIT_sum, TCC_MISS_sum come from different runs, which are not alike"
    )


def test_dispatches_of_one_number_in_two_processes_are_two(tmp_path: Path) -> None:
    rows = [
        row
        for pid, hits in ((1, 10), (2, 30))
        for row in counter_rows([{"TCC_HIT_sum": hits, "TCC_MISS_sum": 90}] * 2, pid=pid)
    ]
    path = write_counters(tmp_path / "x_counter_collection.csv", rows)

    kernel = only(path).counters

    assert (kernel.dispatches, kernel.passes, kernel.warm_up) == (2, 2, 2)
    assert kernel.raw["TCC_HIT_sum"].median == 20


def test_the_first_dispatch_of_each_run_warms_up_unless_it_is_the_only_one(tmp_path: Path) -> None:
    hits = [{"TCC_HIT_sum": n, "TCC_MISS_sum": 100 - n} for n in (0, 50, 60, 70)]

    one = only(table(tmp_path, hits[0])).counters
    four = only(table(tmp_path, *hits)).counters
    all_four = only(table(tmp_path, *hits), warm_up=0).counters

    assert (one.dispatches, one.is_all_warm_up) == (1, True)
    assert (four.dispatches, four.warm_up) == (3, 1)
    assert four.figures[0].spread.median == 0.6
    assert round(four.figures[0].spread.p5, 3) == 0.51
    assert all_four.figures[0].spread.median == 0.55


def test_instances_of_json_and_rocpd_are_added_up(tmp_path: Path) -> None:
    dispatches = [{"TCC_HIT_sum": [5.0, 25.0], "TCC_MISS_sum": [10.0]}] * 2

    json = only(counters_json(tmp_path / "1_results.json", dispatches))
    rocpd = only(counters_rocpd(tmp_path / "1_results.db", dispatches))

    assert (median(json, "l2_hit_rate"), json.counters.target) == (0.75, "gfx950")
    assert (median(rocpd, "l2_hit_rate"), rocpd.counters.target) == (0.75, "gfx942")
    assert json.counters.name == rocpd.counters.name == "void gemm<64>(float*, int)"


def test_a_target_is_guessed_by_its_counters_and_that_is_told(tmp_path: Path) -> None:
    kernel = only(table(tmp_path, READ_942, target="")).counters

    assert (kernel.target, kernel.is_guessed) == ("gfx942", True)


def test_bandwidth_is_of_uncounted_launches_of_the_same_shape(tmp_path: Path) -> None:
    counters = table(tmp_path / "pmc", {**READ_942, **WRITE_942}, {**READ_942, **WRITE_942})
    rows = [kernel_row("void gemm<64>(float*, int)", t, t + 2000) for t in (1000, 5000, 9000)]
    timing = tmp_path / "1_kernel_trace.csv"
    timing.write_text(kernel_csv(rows))

    other_shape = only(counters, timing=(timing,))
    path = write_counters(
        tmp_path / "pmc" / "1_counter_collection.csv",
        counter_rows([{**READ_942, **WRITE_942}] * 2, grid=1024),
    )
    kernel = only(path, timing=(timing,))

    assert other_shape.no_bandwidth == ("the timing has it with other grids only: 1,024 work-items")
    assert kernel.bandwidth is not None
    assert kernel.bandwidth.duration_ns.count == 2
    assert kernel.bandwidth.both == (76800 + 5120) / 2e-6


def test_no_time_is_taken_from_a_counted_run(tmp_path: Path) -> None:
    counters = table(tmp_path, READ_942)
    beside = tmp_path / "1_kernel_trace.csv"
    beside.write_text(kernel_csv([kernel_row("gemm", 1, 2)]))
    database = counters_rocpd(tmp_path / "1_results.db", [{"TCC_HIT_sum": [1.0]}])

    for path in (counters, beside, database):
        with pytest.raises(KtraceError, match="no time is taken from") as raised:
            only(counters, timing=(path,))
        assert "counting makes launches wait for each other" in raised.value.why


def test_over_fetch_needs_one_kernel(tmp_path: Path) -> None:
    rows = counter_rows([READ_942]) + counter_rows([READ_942], kernel="scale", pid=2)
    path = write_counters(tmp_path / "1_counter_collection.csv", rows)

    with pytest.raises(UsageError, match="`--ideal-gb` is for one kernel"):
        only(path, ideal_bytes=38400.0)
    kernel = only(path, ideal_bytes=38400.0, kernels=("gemm*",))

    assert kernel.over_fetch == 2
    assert [verdict.key for verdict in kernel.verdicts] == ["over_fetch"]


def test_values_that_are_none_are_counted(tmp_path: Path) -> None:
    bad = {"TCC_HIT_sum": "many", "TCC_MISS_sum": -4, "TCC_REQ_sum": 7, "TCC_ATOMIC_sum": "inf"}

    result = analyse(Request((table(tmp_path, bad),)))

    assert [fault.partition(": ")[2] for fault in result.faults] == [
        "2 values of counters are no numbers and are left out",
        "1 value of a counter is below 0 and is left out",
    ]
    assert list(result.kernels[0].counters.raw) == ["TCC_REQ_sum"]


def test_files_that_hold_no_counters_say_what_they_are(tmp_path: Path) -> None:
    empty = table(tmp_path)
    text = tmp_path / "notes.csv"
    text.write_text("a,b\n1,2\n")
    other = write_json(tmp_path / "x.json", {"rocprofiler-sdk-tool": [{"kernel_symbols": 7}]})
    cases = [
        (empty, "it has no value of a counter for any dispatch"),
        (text, "it is a table without Counter_Name"),
        (other, "it is not made as rocprofv3 makes a results.json"),
        (tmp_path / "nothing.csv", "No such file or directory"),
    ]

    for path, why in cases:
        with pytest.raises(KtraceError) as raised:
            analyse(Request((path,)))
        assert why in raised.value.why


def test_every_pass_has_at_most_four_counters_of_l2_and_whole_formulas() -> None:
    for target, passes in PASSES_BY_TARGET.items():
        assert all(len(names) <= MOST_OF_L2 for names in passes)
        metrics = [m for m in METRICS_BY_TARGET[target] if m.key != "reads_from_dram"]
        for metric in metrics:
            needs = set(metric.formulas[0].needs)
            assert any(needs <= set(names) for names in passes), (target, metric.key)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=400), st.integers(0, 2000), st.sampled_from(("csv", "json", "db")))
def test_damaged_files_are_read_or_refused(tmp_path: Path, data: bytes, at: int, kind: str) -> None:
    if kind == "csv":
        path = table(tmp_path, READ_942, READ_942)
    elif kind == "json":
        path = counters_json(tmp_path / "r_results.json", [{"TCC_HIT_sum": [1.0]}])
    else:
        path = tmp_path / "noise.db"
        path.write_bytes(b"SQLite format 3\0" + data)
    content = path.read_bytes()
    at %= len(content)
    path.write_bytes(content[:at] + data + content[at + len(data) :])

    with suppress(KtraceError):
        kernels = analyse(Request((path,))).kernels
        assert all(kernel.counters.dispatches > 0 for kernel in kernels)
