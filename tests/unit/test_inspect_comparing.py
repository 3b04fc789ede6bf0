"""`ktrace inspect` on machine code: mix per phase, two builds, occupancy, bad inputs."""

import re
from importlib.resources import files
from pathlib import Path

import jsonschema
import orjson
import pytest
import typer
from typer.testing import CliRunner, Result

from ktrace_cli.commands.inspect import inspect
from ktrace_cli.errors import ExitStatus, KtraceError, UsageError
from support.code_object import KernelSource, make_code_object
from support.disassembling import SAMPLES, use_listings, use_no_disassembler

GEMM = SAMPLES / "gemm" / "gemm.gfx942.co"
UNTRACED = SAMPLES / "gemm" / "gemm.gfx942.untraced.co"


@pytest.fixture(autouse=True)
def listings(monkeypatch: pytest.MonkeyPatch) -> None:
    use_listings(monkeypatch)


def run(*arguments: str | Path) -> Result:
    app = typer.Typer()
    app.command()(inspect)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def rows(text: str) -> list[str]:
    """Return the lines of a text with single blanks."""
    return [" ".join(line.split()) for line in text.splitlines()]


def document(*arguments: str | Path) -> dict:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    found = orjson.loads(result.stdout)
    schema = files("ktrace_cli.kernel_code").joinpath("inspect.schema.json").read_text()
    jsonschema.validate(found, orjson.loads(schema))
    return found


def build(path: Path, vgprs: int, *, name: str = "k", target: str = "gfx942", lds: int = 0) -> Path:
    metadata = {".vgpr_count": vgprs, ".group_segment_fixed_size": lds}
    path.write_bytes(make_code_object([KernelSource(name, metadata=metadata)], target=target))
    return path


def test_text_shows_occupancy_and_the_mix_of_each_phase():
    result = run(GEMM)

    assert result.exit_code == 0
    lines = rows(result.stdout)
    assert (
        "occupancy: 3 waves per SIMD, of 8 at most, for workgroups of 256 work-items "
        "(the most that it allows)" in lines
    )
    assert "4 waves need at most 16,384 B of LDS (2,048 fewer)" in lines
    assert "mma > k_tile 25 8 5 3 6 2 1" in lines
    assert any(
        line.startswith("code: 540 instructions, disassembled by llvm-objdump") for line in lines
    )
    assert "round range 6 42 4 176" in lines
    assert "note: 10 instructions are reached with different phases open" in lines


def test_json_has_occupancy_code_and_phases():
    (code_object,) = document(GEMM)["code_objects"]

    (kernel,) = code_object["kernels"]
    assert kernel["occupancy"]["waves_per_simd"] == 3
    assert kernel["occupancy"]["limited_by"] == "lds"
    assert kernel["occupancy"]["next_step"] == {
        "waves_per_simd": 4,
        "needs": [{"name": "lds", "used": 18432, "most": 16384, "excess": 2048}],
    }
    phase = next(p for p in kernel["code"]["phases"] if p["phase"] == "mma > k_tile")
    assert phase["mix"] == {
        "s_nop": 1, "wait_lgkm": 2, "lds": 6, "mfma": 8, "valu": 5, "salu": 3,
    }  # fmt: skip
    assert (phase["measured"], kernel["code"]["moved"]) == (None, None)
    assert code_object["not_disassembled"] == ""


def test_markdown_is_made_of_tables():
    result = run(GEMM, "--markdown")

    assert "| `mma > k_tile` | 25 | 8 | 5 | 3 |" in result.stdout
    assert result.stdout.startswith("### ")


def test_two_builds_are_compared_and_what_tracing_adds_is_counted():
    result = run(UNTRACED, GEMM)

    assert result.exit_code == 0
    lines = rows(result.stdout)
    assert "gemm<64, 32>: not annotated -> annotated" in lines
    assert "occupancy: 3 waves per SIMD on both sides" in lines
    assert "SGPRs 22 36 +14" in lines
    assert (
        "tracing adds 370 instructions: 161 in markers and 209 around them, which are counted "
        "below; 482 more lie on slow paths" in lines
    )
    assert "instructions 331 540 +209" in lines
    assert "waits 10 24 +14" in lines
    assert not any(line.startswith("mfma") for line in lines)


def test_phases_of_two_annotated_builds_are_compared():
    comparison = document(GEMM, GEMM)["comparison"]

    (kernel,) = comparison["kernels"]
    k_tile = next(p for p in kernel["phases"] if p["phase"] == "mma > k_tile")
    assert k_tile["instructions"] == {"before": 25, "after": 25, "difference": 0}
    assert k_tile["waits"] == {"before": 2, "after": 2, "difference": 0}
    assert kernel["waves_per_simd"] == {"before": 3, "after": 3, "difference": 0}


def test_a_step_down_in_occupancy_fails_where_it_is_asked_to(tmp_path, monkeypatch):
    use_no_disassembler(monkeypatch)
    old, new = build(tmp_path / "old.co", 64), build(tmp_path / "new.co", 65)

    down = run(old, new, "--fail-on", "occupancy")
    up = run(new, old, "--fail-on", "occupancy")
    unasked = run(old, new)

    assert (down.exit_code, up.exit_code, unasked.exit_code) == (ExitStatus.REGRESSED, 0, 0)
    assert "occupancy: 8 -> 7 waves per SIMD, a step down" in rows(down.stdout)
    assert "8 waves need at most 64 VGPRs (1 fewer)" in rows(down.stdout)


def test_kernels_that_only_one_side_has_are_named(tmp_path, monkeypatch):
    use_no_disassembler(monkeypatch)
    old = tmp_path / "old.co"
    old.write_bytes(make_code_object([KernelSource("k"), KernelSource("gone")]))

    result = run(old, build(tmp_path / "new.co", 32))

    assert "`gone` is only in `" in result.stdout


def test_workgroups_and_dynamic_lds_of_a_launch_can_be_told(tmp_path):
    path = build(tmp_path / "k.co", 80, lds=16384)

    assert document(path)["code_objects"][0]["kernels"][0]["occupancy"]["waves_per_simd"] == 4
    told = document(path, "--workgroup-size", "1024", "--dynamic-lds", "40000")
    (kernel,) = told["code_objects"][0]["kernels"]
    assert kernel["launch"] == {
        "workgroup_size": 1024, "dynamic_lds_bytes": 40000, "known_from": "as asked for",
    }  # fmt: skip
    assert kernel["occupancy"]["waves_per_cu"] == 16
    assert kernel["occupancy"]["limited_by"] == "vgpr"


def test_a_workgroup_that_does_not_fit_is_told(tmp_path):
    path = tmp_path / "k.co"
    source = KernelSource("k", unit_key=0x11, metadata={".group_segment_fixed_size": 70000})
    path.write_bytes(make_code_object([source]))

    result = run(path)

    assert (
        "occupancy: not even one workgroup fits, for workgroups of 256 work-items" in result.stdout
    )
    assert "1 wave needs at most 65,536 B of LDS (4,464 fewer)" in result.stdout


def test_without_a_disassembler_all_else_is_shown(monkeypatch):
    use_no_disassembler(monkeypatch)

    result = run(GEMM)

    assert result.exit_code == 0
    assert "occupancy: 3 waves per SIMD" in result.stdout
    assert "code:" not in result.stdout
    (warning,) = result.stderr.splitlines()
    assert warning.startswith(f"ktrace: warning: cannot disassemble {GEMM}: no disassembler here ")
    assert "`pip install rocm-llvm-python`" in warning


def test_fail_on_wants_two_files():
    problem = run(GEMM, "--fail-on", "occupancy").exception

    assert isinstance(problem, UsageError)
    assert problem.what == "`--fail-on` compares two files"


def test_builds_without_a_common_kernel_cannot_be_compared(tmp_path, monkeypatch):
    use_no_disassembler(monkeypatch)
    one, other = build(tmp_path / "a.co", 32, name="a"), build(tmp_path / "b.co", 32, name="b")

    problem = run(one, other, "--fail-on", "occupancy").exception

    assert isinstance(problem, KtraceError)
    assert problem.status is ExitStatus.NOT_COMPARABLE
    assert "they have no kernel in common" in problem.why
    listed = run(one, other)
    assert listed.exit_code == 0
    assert re.findall(r"/([ab])\.co", listed.stdout) == ["a", "b"]


def test_a_file_of_a_pair_that_cannot_be_read_is_named(tmp_path):
    torn = tmp_path / "torn.co"
    torn.write_bytes(GEMM.read_bytes()[:40])

    result = run(GEMM, torn)

    assert result.exit_code == ExitStatus.FAILED
    assert f"error: cannot read {torn}: it is no whole ELF file" in result.stderr
    assert "gemm<64, 32>: annotated" in result.stdout


def test_two_forms_at_once_are_refused():
    problem = run(GEMM, "--json", "--markdown").exception

    assert isinstance(problem, UsageError)
    assert "exclude each other" in problem.what


def test_a_target_whose_rules_are_not_known_has_no_occupancy(tmp_path):
    path = build(tmp_path / "k.co", 64, target="gfx1100")

    assert document(path)["code_objects"][0]["kernels"][0]["occupancy"] is None
    assert "k 64 24 0 B 0 B ?" in rows(run(path).stdout)
