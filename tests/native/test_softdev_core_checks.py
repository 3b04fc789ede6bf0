"""KTRACE_SOFT_CHECK: kernels with a mistake that happens to work, and their correct twins."""

import numpy as np
import pytest

from support.asm_kernel import AsmKernel
from support.compile_kernel import any_compiler
from support.hip import Launch, launch_kernels

TARGET = "gfx942"
BEGIN = """
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_and_b32 v0, 63, v0
  v_lshlrev_b32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
"""
MATRIX = "  v_mfma_f32_16x16x16_f16 v[24:27], v[12:13], v[14:15], v[24:27]\n"  # 4 passes
READS_TWO = "  v_add_f32 v28, v20, v21\n"
TWO_LOADS = "  global_load_dword v20, v1, s[4:5]\n  global_load_dword v21, v1, s[4:5] offset:256\n"
MISTAKES = {
    "a load": (TWO_LOADS, "  s_waitcnt vmcnt(0)\n", READS_TWO, "reads v20"),
    "the second load": (
        TWO_LOADS + "  s_waitcnt vmcnt(1)\n", "  s_waitcnt vmcnt(0)\n", READS_TWO, "reads v21",
    ),
    "LDS": (
        "  ds_write_b32 v1, v0\n  ds_read_b32 v20, v1\n", "  s_waitcnt lgkmcnt(0)\n",
        READS_TWO, "reads v20",
    ),
    "a scalar load": (
        "  s_load_dword s20, s[4:5], 0x0\n", "  s_waitcnt lgkmcnt(0)\n",
        "  s_add_u32 s21, s20, 1\n", "reads s20",
    ),
    "a scalar load behind another": (
        "  s_load_dword s20, s[4:5], 0x0\n  s_load_dword s22, s[4:5], 0x4\n"
        "  s_waitcnt lgkmcnt(1)\n", "  s_waitcnt lgkmcnt(0)\n",
        "  s_add_u32 s21, s20, 1\n", "reads s20",
    ),
    "an address": (
        "  s_load_dwordx2 s[20:21], s[0:1], 0x0\n", "  s_waitcnt lgkmcnt(0)\n",
        "  global_load_dword v20, v1, s[20:21]\n", "reads s20",
    ),
    "overwriting": (
        TWO_LOADS, "  s_waitcnt vmcnt(0)\n", "  v_mov_b32 v21, 0\n", "overwrites v21",
    ),
    "a matrix result": (
        MATRIX, "  s_nop 6\n", "  v_add_f32 v28, v24, v24\n",
        "reads v24 0 wait states after the matrix instruction at +0x14 that writes it; 7 are needed"
        " (s_nop)",
    ),
    "a matrix result, one state short": (
        MATRIX + "  s_nop 5\n", "  s_nop 0\n", "  v_add_f32 v28, v24, v24\n", "reads v24 6 wait",
    ),
}  # fmt: skip
CORRECT = {
    "two loads into one register": "  global_load_dword v20, v1, s[4:5]\n" * 2,
    "a chain of accumulations": MATRIX * 3,
    "no lane is active": TWO_LOADS + "  s_mov_b64 exec, 0\n" + READS_TWO + "  s_mov_b64 exec, -1\n",
    "the half of a packed source that is not used": (
        "  global_load_dword v21, v1, s[4:5]\n"
        "  v_pk_fma_f32 v[30:31], v[32:33], v[20:21], v[34:35] op_sel_hi:[1,0,1]\n"
    ),
}


def findings(*bodies: str, host: bool = False, target: str = TARGET) -> str:
    """What the checks say about kernels that all succeed."""
    launches = []
    for body in bodies:
        kernel = AsmKernel(BEGIN + body, arguments=1, lds=1024)
        code_object = any_compiler(target).assemble(kernel.source(target))
        memory = np.zeros(1024, np.uint32)
        launches.append(Launch(code_object, "test_kernel", [("host", memory) if host else memory]))
    outcome = launch_kernels(launches, target, {"KTRACE_SOFT_CHECK": "1"})
    assert outcome.statuses == [0] * len(launches), outcome.errors
    return outcome.errors


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_reported_at_its_instruction(mistake: str) -> None:
    before, _, after, expected = MISTAKES[mistake]

    first, *rest = findings(before + after).splitlines()

    place = "ktrace: check: kernel `test_kernel`, workgroup (0, 0, 0), wave 0, pc +0x"
    assert first.startswith(place)
    assert f"{after.split()[0]}" in first
    assert f": {expected}" in first
    count = "2 findings" if mistake == "a load" else "1 finding"  # v20 and v21
    assert rest == [f"ktrace: check: {count} at 1 instruction"]


def test_correct_kernels_have_no_findings() -> None:
    twins = [before + wait + after for before, wait, after, _ in MISTAKES.values()]

    assert findings(*twins, *CORRECT.values()) == ""


# Instructions of two sources in encodings with room for three: the third field is 0, as s0 is.
PACKED = ("pk_add_f32", "pk_mul_f32", "pk_mov_b32")
HALVES = (
    *("pk_add_f16", "pk_mul_f16", "pk_min_f16", "pk_max_f16", "pk_mul_lo_u16", "pk_add_u16"),
    *("pk_sub_u16", "pk_add_i16", "pk_sub_i16", "pk_max_i16", "pk_min_u16", "pk_lshlrev_b16"),
    *("pk_lshrrev_b16", "pk_ashrrev_i16"),
)
SCALED = ("f32_fp8", "f16_bf8", "pk_fp8_f16", "pk_bf8_bf16", "pk_fp4_f16", "pk_bf16_fp4")
OTHERS = ("pack_b32_f16", "ldexp_f32", "bfm_b32", "cvt_pkrtz_f16_f32", "mul_lo_u32")


@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
def test_a_source_that_an_instruction_does_not_have_is_not_read(target: str) -> None:
    texts = [f"v_{name} v[28:29], v[12:13], v[14:15]" for name in PACKED]
    texts += [f"v_{name} v28, v12, v13" for name in HALVES + OTHERS]
    if target == "gfx950":
        texts += [f"v_cvt_scalef32_{name} v28, v12, v13" for name in SCALED]
    body = "  s_load_dwordx2 s[0:1], s[4:5], 0x0\n" + "".join(f"  {text}\n" for text in texts)

    assert findings(body + "  s_waitcnt lgkmcnt(0)\n", target=target) == ""


def test_a_place_is_reported_once_and_counted() -> None:
    before, _, after, _ = MISTAKES["LDS"]
    body = "  s_movk_i32 s30, 5\n.Lagain:\n" + before + after + "  s_waitcnt lgkmcnt(0)\n"
    body += "  s_sub_u32 s30, s30, 1\n  s_cmp_lg_u32 s30, 0\n  s_cbranch_scc1 .Lagain\n"

    lines = findings(body).splitlines()

    assert len(lines) == 2
    assert lines[1] == "ktrace: check: 5 findings at 1 instruction"


def test_of_several_places_each_is_counted_the_most_frequent_first() -> None:
    before, _, after, _ = MISTAKES["LDS"]
    waits = "  s_waitcnt lgkmcnt(0)\n"
    twice = "  s_mov_b64 vcc, 0\n.Lagain:\n" + before + after + waits
    twice += "  s_not_b64 vcc, vcc\n  s_cbranch_vccnz .Lagain\n"

    lines = findings(before + after + waits + twice).splitlines()

    places = [line.split(" pc ")[1].split(" ")[0] for line in lines[:2]]
    assert lines[2:] == [
        "ktrace: check: 3 findings at 2 instructions",
        f"ktrace: check: 2 at pc {places[1]} of kernel `test_kernel`",
        f"ktrace: check: 1 at pc {places[0]} of kernel `test_kernel`",
    ]


def test_memory_of_the_process_that_nobody_allocated_is_reported() -> None:
    body = "  global_load_dword v20, v1, s[4:5]\n"

    assert findings(body) == ""
    assert "is mapped, but no allocation" in findings(body, host=True).splitlines()[0]


def test_without_the_variable_nothing_is_said() -> None:
    before, _, after, _ = MISTAKES["a load"]
    kernel = AsmKernel(BEGIN + before + after, arguments=1)
    code_object = any_compiler(TARGET).assemble(kernel.source(TARGET))
    launch = Launch(code_object, "test_kernel", [np.zeros(1024, np.uint32)])

    assert launch_kernels([launch], TARGET, {"KTRACE_SOFT_CHECK": ""}).errors == ""
