"""`ktrace hotspots` as a user meets it: text, JSON, Markdown, words."""

import json
from pathlib import Path

import jsonschema
import pytest
import typer
from typer.testing import CliRunner, Result

from ktrace_cli.att.document import read_schema
from ktrace_cli.commands.hotspots import hotspots
from ktrace_cli.errors import ExitStatus, KtraceError
from ktrace_cli.kernel_code.instructions import InstructionClass
from support.att import AttBundle, Launched, Step, write_agents, write_kernel_trace
from support.code_object import KernelSource, make_code_object
from support.schemas import strict

NAME = "ui_output_agent_7_dispatch_3"


def run(*arguments: object) -> Result:
    app = typer.Typer()
    app.command()(hotspots)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def lines(*arguments: object) -> list[str]:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return [" ".join(line.split()) for line in result.stdout.splitlines()]


def words(*arguments: object) -> tuple[str, str, str, ExitStatus]:
    problem = run(*arguments).exception
    assert isinstance(problem, KtraceError)
    return problem.what, problem.why, problem.fix, problem.status


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    bundle = AttBundle("_Z4gemmPf")
    bundle.sources = {"/src/gemm.hip": "one\ntwo\nthree\nfour\n"}
    load = bundle.add("global_load_dword v1, v[2:3], off", "/src/gemm.hip:2")
    wait = bundle.add("s_waitcnt vmcnt(0)", "/src/gemm.hip:3")
    matrix = bundle.add(
        "v_mfma_f32_32x32x8_f16 v[0:15], v[16:17], v[18:19], v[0:15]",
        "/src/mma.h:30 -> /src/gemm.hip:4",
    )
    bundle.run([Step(load, 4, gap=8), Step(wait, 100, on=[load]), Step(matrix, 20)])
    write_agents(tmp_path / "9_agent_info.csv", "gfx942")
    write_kernel_trace(
        tmp_path / "9_kernel_trace.csv", Launched(3, "gemm", 20_480, 200, 56, 32, 256)
    )
    return bundle.write(tmp_path / NAME)


def test_the_report_says_what_stalls_and_how_it_knows(folder: Path) -> None:
    shown = lines(folder)

    assert shown[1:8] == [
        "gemm: 3 instructions of 1 wave, 136 cycles of latency, of which 124 stall (91.2 %), and 8"
        " idle between them",
        "target: gfx942 (by 9_agent_info.csv)",
        "occupancy: at most 2 of 8 waves per SIMD, limited by VGPRs; waves per SIMD by each limit"
        " alone: VGPRs 2, LDS 3, SGPRs 8, workgroup size 8, hardware 8",
        "3 waves need at most 168 VGPRs (88 fewer)",
        "resources: 256 VGPRs and 32 SGPRs by 9_kernel_trace.csv and instructions;"
        " 20,480 B LDS and 256 work-items of a workgroup by 9_kernel_trace.csv; not known: dynamic"
        " LDS",
        "observed: at most 1 wave on one SIMD at a time",
        "scope: 1 wave on SE 0 CU 1 of 1 wave on 1 CU that the trace saw: rocprofv3 traces"
        " instructions of one CU of a shader engine, and other CUs may do otherwise",
    ]
    assert "wait_vm 100 80.6 % 0 0.0 % 104 1" in shown
    assert "mma.h:30 20 16.1 % 83.3 % 0 mfma 1 gemm.hip:4" in shown
    assert "wait_vm vmem_load 1 100 80.6 %" in shown
    assert "SE 0 CU 1 SIMD 0 1 3 144 86.1 % 1 2.8 %" in shown


def test_mode_and_topk_choose_tables_and_rows(folder: Path) -> None:
    by_line, by_instruction = lines(folder, "--mode", "src", "--topk", 1), lines(
        folder, "--mode", "asm", "--topk", 2
    )  # fmt: skip

    assert "stall by source line, cycles (the first 1 of 3):" in by_line
    assert not [line for line in by_line if line.startswith("stall by instruction")]
    assert "stall by instruction, cycles (the first 2 of 3):" in by_instruction
    assert not [line for line in by_instruction if line.startswith("stall by source")]


def test_details_show_the_source_and_the_worst_instructions(folder: Path) -> None:
    shown = lines(folder, "--detail", "--context", 1)

    begin = shown.index("/src/gemm.hip:3: 100 cycles of stall")
    assert shown[begin + 1 : begin + 4] == ["2 `two`", "> 3 `three`", "4 `four`"]
    assert "s_waitcnt vmcnt(0) 100 0 1 0x1004" in shown[begin:]
    assert "inlined into `/src/gemm.hip:4`" in shown
    assert "instructions that were waited for last:" in shown


def test_details_by_instruction_show_the_code_around(folder: Path) -> None:
    shown = lines(folder, "--mode", "asm", "--detail", "--context", 1, "--topk", 1)

    begin = shown.index("0x1004: 100 cycles of stall")
    assert shown[begin + 4 : begin + 7] == [
        "global_load_dword v1, v[2:3], off 4 8 1 0x1000 gemm.hip:2",
        "> s_waitcnt vmcnt(0) 100 0 1 0x1004 gemm.hip:3",
        "v_mfma_f32_32x32x8_f16 v[0:15…8:19], v[0:15] 20 0 1 0x1008 mma.h:30",
    ]
    assert "/src/gemm.hip:3: 100 cycles of stall" not in shown


def test_a_folder_above_is_enough_where_there_is_one_bundle(folder: Path) -> None:
    assert lines(folder.parent)[1].startswith("gemm: 3 instructions")


def test_markdown_is_for_github(folder: Path) -> None:
    text = run(folder, "--markdown").stdout

    assert text.startswith("### `gemm`: 3 instructions of 1 wave")
    assert "\n| `s_waitcnt vmcnt(0)` | 100 | 80.6 % | 0 | 1 |" in text


def test_json_is_what_its_schema_says(folder: Path) -> None:
    document = json.loads(run(folder, "--json").stdout)

    schema = read_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(strict(schema)).validate(document)
    assert schema["$defs"]["class_name"]["enum"] == [kind.value for kind in InstructionClass]
    assert (document["schema_version"], document["arch"], document["kernel"]) == (
        1,
        "gfx942",
        "gemm",
    )
    assert document["totals"] == {
        "hit": 3, "latency": 136, "stall": 124, "idle": 8, "executed_instructions": 3,
        "instructions": 3,
    }  # fmt: skip
    occupancy = document["occupancy"]
    assert (occupancy["waves_per_simd"], occupancy["limited_by"]) == (2, "vgpr")
    assert document["by_class"][0] == {
        "class": "wait_vm", "hit": 1, "latency": 104, "stall": 100, "idle": 0,
    }  # fmt: skip
    assert (document["by_source"][0]["path"], document["by_source"][0]["line"]) == (
        "/src/gemm.hip", 3,
    )  # fmt: skip
    assert (document["by_phase"], document["faults"]) == ([], {})


def test_what_is_missing_is_said_on_stderr(folder: Path) -> None:
    (folder / "source_0_gemm.hip").unlink()

    assert run(folder).stderr == (
        "ktrace: warning: snapshots.json names 1 source file that the bundle lacks: no text to"
        " show\n"
    )


def test_a_kernel_that_is_not_there_is_an_error(folder: Path) -> None:
    assert words(folder, "--kernel", "attn*") == (
        "no kernel of the bundle is like `attn*`",
        "it holds `gemm`",
        "give one of these, or a shell pattern such as `*gemm*`",
        ExitStatus.USAGE,
    )


def test_a_folder_without_a_bundle_is_an_error(tmp_path: Path) -> None:
    what, why, fix, _ = words(tmp_path)

    assert what == f"{tmp_path} holds no thread trace"
    assert why == "it has neither code.json nor a folder ui_output_agent_*_dispatch_*"
    assert fix.startswith("record one with `rocprofv3 --att -d FOLDER -- PROGRAM`")


def test_a_folder_with_several_bundles_is_an_error(folder: Path) -> None:
    other = folder.parent / "ui_output_agent_7_dispatch_10"
    other.mkdir()

    assert words(folder.parent) == (
        f"{folder.parent} holds 2 thread traces",
        f"{folder}, {other}",
        "name one",
        ExitStatus.USAGE,
    )


def test_the_code_object_of_another_build_is_an_error(folder: Path, tmp_path: Path) -> None:
    image = tmp_path / "other.co"
    image.write_bytes(make_code_object([KernelSource("gemm")]))

    what, why, fix, _ = words(folder, "--code-object", image)

    assert what == f"{image} has no kernel at address 0x1000"
    assert why == "there `_Z4gemmPf` begins in the trace: it is another build"
    assert fix.startswith("give the code object that was traced, *_code_object_id_4.out")


def test_json_and_markdown_exclude_each_other(folder: Path) -> None:
    assert words(folder, "--json", "--markdown")[0] == (
        "`--json` and `--markdown` exclude each other"
    )
