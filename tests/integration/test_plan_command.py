"""`ktrace plan`, as users call it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.counter_files import counter_rows, write_counters
from support.host_traces import recording, write_json
from support.ktrace_command import run_ktrace, said
from support.stand_in_rocprofv3 import write_bundle

ROOT = Path(__file__).parents[2]
SCATTERED = {"TCC_EA0_RDREQ_sum": 100, "TCC_EA0_RDREQ_32B_sum": 60}


def test_a_trace_counters_and_a_recording_of_one_kernel_make_one_plan(tmp_path: Path) -> None:
    write_bundle(tmp_path / "ui_output_agent_5002_dispatch_1", "gemm(float*, int)")
    counters = counter_rows([SCATTERED], kernel="gemm(float*, int)")
    write_counters(tmp_path / "pmc" / "1_counter_collection.csv", counters)
    recording(tmp_path / "run.bin", launches=[(1000, 2000)], mangled="_Z4gemmPfiN6ktrace4sinkE")
    pmc = run_ktrace(tmp_path, "pmc", "--json", "pmc")
    (tmp_path / "pmc.json").write_text(pmc.stdout)
    bundle = "ui_output_agent_5002_dispatch_1"

    text = run_ktrace(tmp_path, "plan", bundle, "run.bin", "pmc.json")
    document = run_ktrace(tmp_path, "plan", "--json", bundle, "run.bin", "pmc")

    (kernel,) = json.loads(document.stdout)["kernels"]
    assert (text.returncode, document.returncode) == (0, 0)
    assert (kernel["name"], kernel["not_given"]) == ("gemm", [])
    assert [one["rule"] for one in kernel["findings"]] == ["memory"]
    assert kernel["stalls"]["by_class"][0] == {"class": "wait_vm", "stall": 400, "idle": 0}
    assert "1. [MED] Counters show memory traffic that is not needed" in text.stdout
    assert "gemm: what to do" in text.stdout


UNTRACED = ROOT / "samples/gemm/gemm.gfx942.untraced.co"


def test_code_objects_and_what_inspect_and_discover_write_are_evidence(tmp_path: Path) -> None:
    kernel = {"name": "gemm<64, 32>", "calls": 3, "share": 0.75}
    write_json(tmp_path / "discover.json", {"kind": "discover", "kernels": [kernel]})
    (tmp_path / "inspect.json").write_text(
        run_ktrace(tmp_path, "inspect", "--json", UNTRACED).stdout
    )
    other = ROOT / "samples/gemm/gemm.gfx950.untraced.co"

    shown = [
        json.loads(run_ktrace(tmp_path, "plan", "--json", code, "discover.json", *more).stdout)
        for code, more in ((UNTRACED, ()), ("inspect.json", ()), (UNTRACED, (other,)))
    ]

    kernels = shown[0]["kernels"]
    (finding,) = kernels[0]["findings"]
    assert shown[1]["kernels"] == kernels
    assert [len(one["kernels"]) for one in shown] == [1, 1, 2]
    assert kernels[0]["time"] == {"share": 0.75, "calls": 3, "origin": "discover.json"}
    assert finding["evidence"] == (
        "4 instead of 3 waves per SIMD need at most 16,384 B of LDS (2,048 fewer); of its code"
        " object, for workgroups of 256 work-items (the most that it allows); how much its waves"
        " wait is not known"
    )


def test_what_takes_most_of_the_time_comes_first(tmp_path: Path) -> None:
    for number, name in enumerate(("scale(float*)", "gemm(float*)")):
        write_bundle(tmp_path / str(number) / f"ui_output_agent_5002_dispatch_{number}", name)
    times = (("scale", 0.2), ("gemm", 0.7), ("copy", 0.1))
    shares = [{"name": name, "calls": 1, "share": share} for name, share in times]
    write_json(tmp_path / "discover.json", {"kind": "discover", "kernels": shares})

    done = run_ktrace(tmp_path, "plan", "0", "1", "discover.json")

    heads = [line for line in done.stdout.splitlines() if ": what to do" in line]
    assert heads == ["gemm: what to do", "scale: what to do"]
    assert "takes 70.0 % of the time of all kernels, in 1 call (discover.json)" in done.stdout
    assert done.stderr.endswith(
        "warning: only the time of 1 kernel is known, so no rule looks at what they do: copy\n"
    )
    assert "idle between instructions (1)" in " ".join(done.stdout.split())


def test_markdown_and_a_kernel_without_findings(tmp_path: Path) -> None:
    recording(tmp_path / "run.bin", launches=[(1000, 2000)])

    done = run_ktrace(tmp_path, "plan", "--markdown", "run.bin")

    assert "### `gemm`: what to do" in done.stdout
    assert "- no rule holds: nothing that ktrace knows of stands out" in done.stdout
    assert "- not given: a thread trace (`ktrace att`): rules on instructions" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "status", "what", "why"),
    [
        (["x.json"], 1, "cannot plan with x.json", "it is JSON of something else"),
        (["bad.json"], 1, "cannot read bad.json", "`ktrace hotspots --json` makes it: KeyError"),
        (["code.json"], 1, "cannot read code.json", "`ktrace inspect --json` makes it: KeyError"),
        (["time.json"], 1, "cannot read time.json", "`ktrace discover --json` makes it: KeyError"),
        (["notes.txt"], 1, "cannot plan with notes.txt", "it is text; wanted are recordings"),
        (["nothing.bin"], 1, "cannot read nothing.bin", "No such file"),
        (["run.bin", "run.bin"], 2, "run.bin is named twice", "counts once"),
        (["--kernel", "conv", "run.bin"], 2, "`--kernel conv` selects nothing", "kernels gemm"),
    ],
)
def test_what_cannot_be_planned_says_why(
    tmp_path: Path, arguments: list[str], status: int, what: str, why: str
) -> None:
    recording(tmp_path / "run.bin", launches=[(1000, 2000)])
    write_json(tmp_path / "x.json", {"kind": "other"})
    write_json(tmp_path / "bad.json", {"by_instruction": []})
    write_json(tmp_path / "code.json", {"code_objects": [{}]})
    write_json(tmp_path / "time.json", {"kind": "discover"})
    (tmp_path / "notes.txt").write_text("remember the milk\n")

    done = run_ktrace(tmp_path, "plan", *arguments)

    lines = said(done)
    assert (done.returncode, done.stdout) == (status, "")
    assert lines[0].startswith(f"error: {what}")
    assert why in lines[1]
