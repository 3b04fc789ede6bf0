"""Jobs for rocprofv3, and how runs of it that go wrong are told."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from ktrace_cli.errors import KtraceError, UsageError
from ktrace_cli.rocprof.counting import choose_passes, count, gpu_targets
from ktrace_cli.rocprof.folder import make_folder
from ktrace_cli.rocprof.jobs import (
    KNOWN_KEYS,
    ThreadTrace,
    expression_of,
    iteration_range,
    thread_trace_job,
)
from ktrace_cli.rocprof.thread_trace import Policy, Traced, trace_instructions
from ktrace_cli.rocprof.tool import find_rocprofv3
from support import stand_in_rocprofv3
from support.stand_in_rocprofv3 import put_rocprofv3

PROGRAM = [sys.executable, "-c", "print('hello')"]
KERNELS = {"void gemm<64>(float*, int)": 3, "scale(float*)": 1}


def trace(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    wanted: ThreadTrace | None = None,
    policy: Policy | None = None,
    **settings: object,
) -> Traced:
    for name, value in put_rocprofv3(folder / "bin", **settings).items():
        monkeypatch.setenv(name, value)
    out = folder / "out"
    out.mkdir()
    wanted = wanted or ThreadTrace(kernel="gemm")
    return trace_instructions(find_rocprofv3(), wanted, policy or Policy(), PROGRAM, out)


def test_all_keys_of_jobs_are_rocprofv3s() -> None:
    full = ThreadTrace("gemm", "2", gpus="0,1", decoder=Path("/opt/decoder"))

    job = thread_trace_job(full, Path("out"), 0x100000)

    assert set(job) <= KNOWN_KEYS
    assert KNOWN_KEYS <= stand_in_rocprofv3.KEYS
    assert job["kernel_iteration_range"] == "[2]"
    assert job["att_buffer_size"] == "0x100000"
    assert job["att_shader_engine_mask"] == "0xf"


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("gemm", ["gemm", "void gemm<64>(float*)", "ns::gemm(int)", "gemm.kd"], ["gemm_v2(int)"]),
        ("gemm*", ["gemm_v2(int)", "void gemm<1>(int)"], ["my_gemm(int)"]),
        ("gemm_v?", ["gemm_v2(int)"], ["gemm_v(int)", "gemm_v22(int)"]),
        ("a[0-9]", ["a7(int)"], ["ab(int)"]),
        ("k<a+b>", ["k<a+b>(int)"], ["k<aab>(int)"]),
        ("/attn_(fwd|bwd)/", ["my_attn_bwd_kernel(int)"], ["attn(int)"]),
    ],
)
def test_patterns_become_expressions(pattern: str, matching: list[str], others: list[str]) -> None:
    expression = re.compile(expression_of(pattern))

    assert [name for name in matching + others if expression.search(name)] == matching


def test_iterations_are_counted_from_one() -> None:
    assert iteration_range("3") == "[3]"
    assert iteration_range("2-4") == "[[2-4]]"
    for wrong in ("0", "4-2", "-1", "two", ""):
        with pytest.raises(UsageError, match="cannot read `--iteration"):
            iteration_range(wrong)


def test_a_full_buffer_is_enlarged_until_the_trace_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    traced = trace(tmp_path, monkeypatch, kernels=KERNELS, full_below=300 << 20)

    assert [path.parent.name for path in traced.bundles] == ["attempt_3"]
    assert traced.notes[1:] == (
        "the trace buffer of 96.0 MiB was full: ran again with 192.0 MiB",
        "the trace buffer of 192.0 MiB was full: ran again with 384.0 MiB",
    )
    assert (traced.losses, traced.status) == ((), 0)
    assert capfd.readouterr().out == ""
    job = json.loads((tmp_path / "out" / "attempt_3" / "job.json").read_text())["jobs"][0]
    assert job["att_buffer_size"] == hex(384 << 20)
    assert "hello" not in (tmp_path / "out" / "attempt_1" / "rocprofv3.log").read_text()


def test_a_buffer_that_stays_full_is_a_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = Policy(first_buffer=1 << 20, largest_buffer=2 << 20)

    traced = trace(tmp_path, monkeypatch, policy=policy, kernels=KERNELS, full_below=4 << 20)

    assert len(traced.bundles) == 1
    assert traced.losses == (
        "the trace buffer was full before the kernel ended: the rest of it is missing"
        " (`--max-buffer`, or a smaller problem)",
    )


def test_a_kernel_that_is_launched_once_is_traced_in_its_first_launch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    traced = trace(tmp_path, monkeypatch, ThreadTrace(kernel="scale"), kernels=KERNELS)

    assert traced.notes[-1] == "the kernel is launched once only: its first launch was traced"


@pytest.mark.parametrize(
    ("wanted", "settings", "what", "why", "fix"),
    [
        (
            ThreadTrace(kernel="gem"), {}, "`--kernel gem` selects nothing",
            "the program launched gemm<64>, scale", "did you mean",
        ),
        (
            ThreadTrace(kernel="gemm", iteration="9"), {}, "`--iteration 9` selects nothing",
            "the kernel was launched 3 times", "`--iteration 1`",
        ),
        (
            ThreadTrace(), {"kernels": {}}, "rocprofv3 wrote no trace of instructions",
            "the program launched no kernel", "rocprofv3.log",
        ),
        (
            ThreadTrace(), {"exits": -11}, "rocprofv3 wrote no trace of instructions",
            "signal 11 ended the program before", "without ktrace",
        ),
        (
            ThreadTrace(), {"exits": 3}, "rocprofv3 wrote no trace of instructions",
            "the program exited with 3 before", "without ktrace",
        ),
        (
            ThreadTrace(),
            {"exits": 1, "says": ["Fatal error: rocprof-trace-decoder library path not found"]},
            "rocprofv3 collected nothing",
            "the decoder of thread traces is missing", "`--decoder DIR`",
        ),
        (
            ThreadTrace(), {"help": "usage: rocprofv3 --pmc"}, "cannot trace instructions",
            "it has no option --att", "newer ROCm",
        ),
    ],
)  # fmt: skip
def test_nothing_traced_says_why(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    wanted: ThreadTrace,
    settings: dict[str, object],
    what: str,
    why: str,
    fix: str,
) -> None:
    with pytest.raises(KtraceError) as raised:
        trace(tmp_path, monkeypatch, wanted, **{"kernels": KERNELS, **settings})

    assert what in raised.value.what
    assert why in raised.value.why
    assert fix in raised.value.fix


def test_a_program_that_fails_after_its_kernels_is_shown_with_a_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in put_rocprofv3(tmp_path / "bin", kernels=KERNELS, breaks=[2]).items():
        monkeypatch.setenv(name, value)
    out = make_folder(tmp_path / "out", "pmc")
    passes = [("TCC_HIT_sum",), ("TCC_MISS_sum",)]

    counted = count(find_rocprofv3(), passes, "gemm", PROGRAM, out)

    assert [path.parents[1].name for path in counted.files] == ["pass_1"]
    assert len(counted.timing) == 1
    assert counted.losses == ("pass 2 (TCC_MISS_sum) gave nothing: the program launched no kernel",)


def test_output_is_never_written_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "old.csv").write_text("mine")
    monkeypatch.chdir(tmp_path)

    with pytest.raises(KtraceError, match="will not write into"):
        make_folder(tmp_path / "full", "att")
    folders = [make_folder(None, "att") for _ in range(2)]

    assert folders == [Path("ktrace_out/att-1"), Path("ktrace_out/att-2")]


def test_counters_are_put_into_passes_of_four_of_l2(tmp_path: Path) -> None:
    names = [f"TCC_{n}_sum" for n in range(5)]

    assert choose_passes([" ".join(names), "SQ_WAVES"], "") == [
        (*names[:4], "SQ_WAVES"),
        (names[4],),
    ]
    assert choose_passes([], "gfx950")[1][-1] == "TCC_EA0_RDREQ_128B_sum"
    with pytest.raises(UsageError, match="cannot choose counters") as raised:
        choose_passes([], "", tmp_path)
    assert "no GPU that the driver tells of" in raised.value.why


def test_the_kernel_driver_tells_which_gpus_there_are(tmp_path: Path) -> None:
    for number, version in enumerate((0, 90402, 90402)):
        (tmp_path / str(number)).mkdir()
        text = f"cpu_cores_count 0\ngfx_target_version {version}\n"
        (tmp_path / str(number) / "properties").write_text(text)

    assert gpu_targets(tmp_path) == {"gfx942"}


def test_a_missing_rocprofv3_says_where_it_was_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("ROCM_PATH", str(tmp_path))

    with pytest.raises(KtraceError, match="cannot find rocprofv3") as raised:
        find_rocprofv3()

    assert raised.value.status == 127
    assert str(tmp_path / "bin" / "rocprofv3") in raised.value.why
