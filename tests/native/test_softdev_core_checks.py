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


def findings(*bodies: str, host: bool = False) -> str:
    """What the checks say about kernels that all succeed."""
    launches = []
    for body in bodies:
        kernel = AsmKernel(BEGIN + body, arguments=1, lds=1024)
        code_object = any_compiler(TARGET).assemble(kernel.source(TARGET))
        memory = np.zeros(1024, np.uint32)
        launches.append(Launch(code_object, "test_kernel", [("host", memory) if host else memory]))
    outcome = launch_kernels(launches, TARGET, {"KTRACE_SOFT_CHECK": "1"})
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


def test_a_place_is_reported_once_and_counted() -> None:
    before, _, after, _ = MISTAKES["LDS"]
    body = "  s_movk_i32 s30, 5\n.Lagain:\n" + before + after + "  s_waitcnt lgkmcnt(0)\n"
    body += "  s_sub_u32 s30, s30, 1\n  s_cmp_lg_u32 s30, 0\n  s_cbranch_scc1 .Lagain\n"

    lines = findings(body).splitlines()

    assert len(lines) == 2
    assert lines[1] == "ktrace: check: 5 findings at 1 instruction"


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
