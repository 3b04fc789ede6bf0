"""What stops a kernel is named: kernel, workgroup, wave, pc, instruction and cause."""

import random
import re

import numpy as np
import pytest

from support.asm_kernel import AsmKernel
from support.compile_kernel import any_compiler
from support.hip import Argument, Launch, fault_of, launch_kernels

TARGET = "gfx942"
LOAD_ARGUMENT = "  s_load_dwordx2 s[4:5], s[0:1], 0x0\n  s_waitcnt lgkmcnt(0)\n  v_mov_b32 v1, 0\n"


def fault(
    body: str,
    argument: Argument | None = None,
    environment: dict[str, str] | None = None,
    *,
    block: int = 64,
    grid: int = 1,
    lds: int = 0,
    scratch: int = 0,
    name: str = "doomed",
) -> str:
    kernel = AsmKernel(body, lds=lds, scratch=scratch, name=name)
    code_object = any_compiler(TARGET).assemble(kernel.source(TARGET))
    arguments = [np.zeros(64, np.uint32) if argument is None else argument]
    launch = Launch(code_object, name, arguments, (grid, 1, 1), (block, 1, 1))
    return fault_of(launch, TARGET, environment)


def test_an_unknown_instruction_is_named_with_its_place() -> None:
    # Wave 1 of workgroup 2 alone arrives there.
    body = """
  v_readfirstlane_b32 s8, v0
  s_cmp_lg_u32 s2, 2
  s_cbranch_scc1 out
  s_cmp_lt_u32 s8, 64
  s_cbranch_scc1 out
  ds_gws_barrier v2 gds
out:
"""

    message = fault(body, block=128, grid=4)

    assert "kernel `doomed`, workgroup (2, 0, 0), wave 1, pc +0x14 [" in message
    assert "unknown instruction" in message


@pytest.mark.parametrize(
    ("text", "mnemonic"),
    [
        ("s_setvskip s8, 1", "s_setvskip"),
        ("s_cbranch_i_fork s[8:9], 0", "s_cbranch_i_fork"),
        ("s_scratch_load_dword s8, s[8:9], 0x0", "s_scratch_load_dword"),
        (".long 0xd93b0000, 0x00000004", "ds_gws_barrier"),
    ],
)
def test_an_unimplemented_instruction_is_named(text: str, mnemonic: str) -> None:
    message = fault(f"  {text}\n")

    assert f"{mnemonic}]: unknown instruction" in message
    assert "kernel `doomed`, workgroup (0, 0, 0), wave 0, pc +0x0 [" in message


def test_words_that_are_no_instruction_are_shown() -> None:
    message = fault("  .long 0xf8000000, 0x12345678\n")

    assert "[f8000000 12345678 unknown encoding]: unknown instruction" in message


@pytest.mark.parametrize("offset", [0, 4000])
def test_a_null_pointer_is_called_so(offset: int) -> None:
    body = LOAD_ARGUMENT + f"  global_load_dword v2, v1, s[4:5] offset:{offset}\n"

    message = fault(body, np.uint64(0))

    assert f"memory access fault: read of 4 bytes at {offset:#x}, lane 0: a null pointer" in message
    assert "global_load_dword]" in message


def test_a_wild_pointer_is_a_fault_and_no_crash() -> None:
    body = LOAD_ARGUMENT + "  global_store_dwordx4 v1, v[4:7], s[4:5]\n"

    message = fault(body, np.uint64(0x123456789000))

    assert "memory access fault: write of 16 bytes at 0x123456789000, lane 0" in message
    assert "nothing is mapped there" in message


def test_a_non_canonical_address_is_a_fault() -> None:
    body = LOAD_ARGUMENT + "  global_load_dword v2, v1, s[4:5]\n"

    message = fault(body, np.uint64(0xDEAD_BEEF_0000_0000))

    assert "at 0xdeadbeef00000000, lane 0" in message


def test_running_over_the_end_of_an_allocation_says_by_how_much() -> None:
    # 256 bytes are allocated; the page that follows their page is nobody's.
    body = (
        LOAD_ARGUMENT
        + """
  v_and_b32 v0, 0x3ff, v0
  v_lshlrev_b32 v1, 8, v0
  global_store_dword v1, v0, s[4:5]
"""
    )

    message = fault(body, np.zeros(64, np.uint32))

    assert "write of 4 bytes" in message
    assert "lane 16: " in message
    assert "has 256 bytes" in message
    assert "and this is 3840 bytes past its end" in message


def test_one_bad_lane_is_found_among_good_ones() -> None:
    body = (
        LOAD_ARGUMENT
        + """
  v_and_b32 v0, 0x3ff, v0
  v_mov_b32 v2, s4
  v_mov_b32 v3, s5
  v_cmp_eq_u32 vcc, 37, v0
  v_cndmask_b32 v3, v3, v1, vcc
  v_cndmask_b32 v2, v2, v0, vcc
  global_load_dword v4, v[2:3], off
"""
    )

    message = fault(body)

    assert "read of 4 bytes at 0x25, lane 37: a null pointer" in message


def test_a_scalar_load_from_nowhere_has_no_lane() -> None:
    message = fault(LOAD_ARGUMENT + "  s_load_dwordx4 s[8:11], s[4:5], 0x8\n", np.uint64(0))

    assert "s_load_dwordx4]: memory access fault: read of 16 bytes at 0x8: a null" in message


@pytest.mark.parametrize("access", ["ds_read_b32 v2, v1", "ds_write_b64 v1, v[2:3]"])
def test_an_access_outside_of_lds_gives_address_and_size(access: str) -> None:
    body = f"  v_mov_b32 v1, 0x3fe\n  {access}\n"

    message = fault(body, lds=1024)

    size = 4 if "b32" in access else 8
    assert f"LDS access out of range: {size} bytes at 0x3fe of 1024 allocated, lane 0" in message


def test_an_access_outside_of_scratch_gives_address_and_size() -> None:
    body = "  v_mov_b32 v1, 0x1000\n  scratch_load_dword v2, v1, off\n"

    message = fault(body, scratch=64)

    assert "scratch access out of range: 4 bytes at 0x1000 of 64 per lane, lane 0" in message


def test_an_endless_kernel_is_stopped_at_the_budget() -> None:
    message = fault("loop:\n  s_branch loop\n", environment={"KTRACE_SOFT_BUDGET": "5000"})

    assert "5000 instructions were executed, which is the limit" in message
    assert "KTRACE_SOFT_BUDGET" in message
    assert "s_branch]" in message


@pytest.mark.parametrize("budget", [5000, 5003, 5007])
def test_a_loop_of_arithmetic_stops_at_the_very_instruction(budget: int) -> None:
    loop = "loop:\n" + "  v_add_u32 v1, v1, v1\n" * 7 + "  s_branch loop\n"

    message = fault(loop, environment={"KTRACE_SOFT_BUDGET": str(budget)})

    assert f"{budget} instructions were executed" in message
    assert f"pc +{4 * (budget % 8):#x} [" in message


def test_a_trap_is_the_kernels_own_stop() -> None:
    assert "trap 2: the kernel stopped itself" in fault("  s_trap 2\n")


def test_jumping_away_shows_the_program_counter() -> None:
    message = fault("  s_mov_b64 s[4:5], 0x1000\n  s_setpc_b64 s[4:5]\n")

    assert "the program counter 0x1000 is outside of the code object's code" in message


def test_the_place_is_that_of_the_instruction() -> None:
    message = fault("  s_nop 0\n  s_nop 0\n  s_trap 7\n", name="other_name")

    assert re.search(r"kernel `other_name`, .* pc \+0x8 \[bf920007 s_trap\]: trap 7", message)


@pytest.mark.parametrize("seed", range(8))
def test_random_words_end_or_are_stopped_by_a_named_fault(seed: int) -> None:
    generator = random.Random(seed)
    # Scalar and vector arithmetic, LDS and scratch; no branches, which would mostly end it early.
    prefixes = (0x7E000000, 0xD0000000, 0xD3800000, 0xD8000000, 0x20000000, 0x80000000, 0xDC004000)
    words = []
    for _ in range(120):
        prefix = generator.choice(prefixes)
        words += [prefix | generator.getrandbits(25) & 0x01FE3FFF, generator.getrandbits(32) >> 1]
    body = "\n".join(f"  .long {word:#x}" for word in words)
    code_object = any_compiler(TARGET).assemble(
        AsmKernel(body, lds=4096, scratch=256, vgprs=256, name="noise").source(TARGET)
    )
    launch = Launch(code_object, "noise", [np.zeros(64, np.uint32)], (3, 1, 1), (100, 1, 1))

    outcome = launch_kernels([launch], TARGET, {"KTRACE_SOFT_BUDGET": "20000"})

    assert outcome.statuses == [0] or "kernel `noise`, workgroup (" in outcome.errors
