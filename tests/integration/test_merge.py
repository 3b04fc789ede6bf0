"""`ktrace merge` as its users run it."""

import gzip
import subprocess
from pathlib import Path

import pytest

from support.host_traces import (
    SMALL_ROCPD,
    agent_csv,
    call_csv,
    complete,
    kernel_csv,
    kernel_row,
    kineto,
    make_rocpd,
    recording,
    write_json,
)
from support.ktrace_command import ktrace_command, run_ktrace, said
from support.recording import HOST_EPOCH_NS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A recording, and what rocprofv3 wrote of the same run."""
    recording(tmp_path / "a.bin", launches=[(10_000, 20_000), (30_000, 40_000)])
    kernels = [
        kernel_row('jit<"x">(int)', HOST_EPOCH_NS + 5_000, HOST_EPOCH_NS + 9_000, correlation=1),
        kernel_row(
            "gemm(float*, int, ktrace::sink)",
            HOST_EPOCH_NS + 9_900,
            HOST_EPOCH_NS + 20_100,
            correlation=2,
        ),
    ]
    calls = [
        (
            "HIP_RUNTIME_API_EXT",
            "hipLaunchKernel",
            4242,
            77,
            2,
            HOST_EPOCH_NS + 1,
            HOST_EPOCH_NS + 2,
        )
    ]
    (tmp_path / "v3").mkdir()
    (tmp_path / "v3/4242_kernel_trace.csv").write_text(kernel_csv(kernels))
    (tmp_path / "v3/4242_hip_api_trace.csv").write_text(call_csv(calls))
    (tmp_path / "v3/4242_agent_info.csv").write_text(agent_csv())
    return tmp_path


def test_everything_that_is_repaired_matched_and_missing_is_said(folder: Path) -> None:
    done = run_ktrace(folder, "merge", "a.bin", "v3", "-o", "all.pftrace.gz")

    assert done.returncode == 0
    assert said(done) == [
        "warning: v3/4242_*.csv: 1 name has quotes that are not escaped: taken as part of it",
        "warning: v3/4242_*.csv: 2 kernels of gfx950 have half of their VGPR count in the file:"
        " shown doubled",
        "matched 1 of 2 dispatches of a.bin to v3/4242_*.csv",
        "warning: a.bin: 1 dispatch is in no other trace: 1 of gemm(float*, int)",
        "wrote 0 slices of 1 recording and 3 slices of 1 other trace to all.pftrace.gz, on"
        " CLOCK_BOOTTIME of node; open it at https://ui.perfetto.dev",
    ]
    assert done.stdout == ""


def test_the_environment_of_a_database_never_gets_into_a_trace(folder: Path) -> None:
    path = make_rocpd(folder / "x.db", SMALL_ROCPD)

    done = run_ktrace(folder, "merge", "x.db", "-o", "x.pftrace")

    assert done.returncode == 0
    assert b"hunter2" in path.read_bytes()
    assert b"hunter2" not in (folder / "x.pftrace").read_bytes()
    assert b"hipLaunchKernel" in (folder / "x.pftrace").read_bytes()


def test_strict_says_by_its_status_that_something_is_missing(folder: Path) -> None:
    recording(folder / "b.bin", launches=[(10_000, 20_000)])

    lossy = run_ktrace(folder, "merge", "a.bin", "v3", "-o", "x.pftrace", "--strict")
    whole = run_ktrace(folder, "merge", "b.bin", "-o", "y.pftrace", "--strict")

    assert (lossy.returncode, whole.returncode) == (5, 0)
    assert (folder / "x.pftrace").stat().st_size > 0


def test_an_output_is_replaced_only_when_asked_for(folder: Path) -> None:
    (folder / "out.pftrace").write_text("mine")

    refused = run_ktrace(folder, "merge", "a.bin", "-o", "out.pftrace")
    kept = (folder / "out.pftrace").read_text()
    forced = run_ktrace(folder, "merge", "a.bin", "-o", "out.pftrace", "--force")

    assert refused.returncode == 1
    assert said(refused)[0] == "error: out.pftrace exists"
    assert kept == "mine"
    assert forced.returncode == 0
    assert (folder / "out.pftrace").read_bytes()[:1] == b"\x0a"


def test_the_same_inputs_give_the_same_bytes(folder: Path) -> None:
    for name in ("x.pftrace.gz", "y.pftrace.gz", "z.pftrace"):
        run_ktrace(folder, "merge", "a.bin", "v3", "-o", name)

    packed = (folder / "x.pftrace.gz").read_bytes()
    assert packed == (folder / "y.pftrace.gz").read_bytes()
    assert gzip.decompress(packed) == (folder / "z.pftrace").read_bytes()


def test_standard_output_gets_the_trace_and_nothing_else(folder: Path) -> None:
    command = ktrace_command("merge", "v3", "-o", "-")
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=120, check=True)
    run_ktrace(folder, "merge", "v3", "-o", "x.pftrace")

    assert done.stdout == (folder / "x.pftrace").read_bytes()
    assert b"to stdout, on CLOCK_BOOTTIME" in done.stderr


def test_a_base_time_of_0_is_said_to_be_0(folder: Path) -> None:
    document = kineto([complete("aten::mm", "cpu_op", 10, 5)], baseTimeNanoseconds=0)
    write_json(folder / "x.json", document)

    refused = run_ktrace(folder, "merge", "a.bin", "x.json", "-o", "out.pftrace")

    assert refused.returncode == 1
    assert said(refused)[1] == (
        "  why: its times count from a moment that it does not name (its baseTimeNanoseconds is 0)"
    )


def test_clocks_that_nothing_ties_are_an_error_until_the_user_ties_them(folder: Path) -> None:
    document = kineto([complete("aten::mm", "cpu_op", 10, 5)])
    write_json(folder / "x.json", document)

    refused = run_ktrace(folder, "merge", "a.bin", "x.json", "-o", "out.pftrace")
    shift = f"x.json={HOST_EPOCH_NS}"
    tied = run_ktrace(folder, "merge", "a.bin", "x.json", "-o", "out.pftrace", "--shift", shift)

    assert refused.returncode == 1
    assert said(refused) == [
        "error: cannot tell when x.json was recorded",
        "  why: its times count from a moment that it does not name (no baseTimeNanoseconds)",
        "  try: record it with a newer PyTorch, or say what to add to its times with `--shift"
        " FILE=NS`",
    ]
    assert not (folder / "out.pftrace").exists() or tied.returncode == 0
    assert said(tied)[0] == (
        "warning: assumed: x.json: 1,700,000,000,000,000,000 ns are added, as asked for"
    )


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["gone.bin", "-o", "x"], 1, "error: cannot read gone.bin"),
        (["a.bin", "a.bin", "-o", "x"], 2, "error: a.bin is named twice"),
        (["a.bin", "-o", "x", "--shift", "b=1"], 2, "error: --shift names b"),
        (["empty.json", "-o", "x"], 1, "error: cannot merge empty.json"),
        (["a.bin", "-o", "nowhere/x"], 1, "error: cannot write nowhere/x"),
    ],
)
def test_what_cannot_be_merged_is_an_error_with_its_status(
    folder: Path, arguments: list[str], status: int, message: str
) -> None:
    (folder / "empty.json").touch()

    done = run_ktrace(folder, "merge", *arguments)

    assert done.returncode == status
    assert said(done)[0] == message
    assert not (folder / "x").exists()
