"""The list of instructions against the software device: what it calls executed is, and no more."""

import ctypes
import shutil
import subprocess

import pytest

from support.hip_calls import load_hip
from support.instruction_space import named
from support.instructions import TARGETS, Instruction, read_list
from support.native_decoder import decode, not_executed

INSTRUCTIONS = read_list()
# Known to the software device by name only: AMD's manuals have it, LLVM does not.
UNKNOWN_TO_LLVM = {"s_set_valu_coexec_mode"}
# LLVM 19 takes them for gfx942 as well.
OF_GFX90A = {"buffer_store_lds_dword", "buffer_wbinvl1", "buffer_wbinvl1_vol"}


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    return load_hip()


def words(one: Instruction) -> list[int]:
    return [int(word, 16) for word in one.words]


@pytest.mark.parametrize("target", TARGETS)
def test_every_instruction_of_the_target_is_decoded_as_llvm_names_it(
    library: ctypes.CDLL, target: str
) -> None:
    decoded = {
        one.mnemonic: decode(library, words(one), target)
        for one in INSTRUCTIONS
        if target in one.targets
    }

    assert len(decoded) == {"gfx942": 1151, "gfx950": 1247}[target]
    assert [name for name, (_, said) in decoded.items() if said != name] == []
    sizes = {one.mnemonic: 4 * len(one.words) for one in INSTRUCTIONS if target in one.targets}
    assert {name: abs(size) for name, (size, _) in decoded.items()} == sizes
    executed = {one.mnemonic for one in INSTRUCTIONS if target in one.targets and one.executed}
    assert {name for name, (size, _) in decoded.items() if size > 0} == executed


@pytest.mark.parametrize("target", TARGETS)
def test_an_instruction_of_the_other_target_alone_is_not_executed(
    library: ctypes.CDLL, target: str
) -> None:
    here = {one.mnemonic for one in INSTRUCTIONS if target in one.targets}
    foreign = [one for one in INSTRUCTIONS if one.mnemonic not in here]

    wrong = [one.mnemonic for one in foreign if decode(library, words(one), target)[0] > 0]

    assert len(foreign) == {"gfx942": 98, "gfx950": 2}[target]
    assert wrong == []


@pytest.mark.parametrize("target", TARGETS)
def test_the_device_names_what_it_does_not_execute(library: ctypes.CDLL, target: str) -> None:
    listed = [one for one in INSTRUCTIONS if target in one.targets]
    by_list = {one.mnemonic for one in listed if not one.executed}

    count, missing = not_executed(library, target)

    assert set(missing) - UNKNOWN_TO_LLVM == by_list
    assert len(missing) == len(set(missing))
    assert count == len({one.mnemonic for one in listed} | UNKNOWN_TO_LLVM)


def test_what_is_not_executed_is_for_debuggers_graphics_and_global_waves() -> None:
    missing = {one.mnemonic for one in INSTRUCTIONS if not one.executed}

    assert sorted(missing) == [
        *("ds_gws_barrier", "ds_gws_init", "ds_gws_sema_br", "ds_gws_sema_p"),
        *("ds_gws_sema_release_all", "ds_gws_sema_v"),
        *("s_cbranch_g_fork", "s_cbranch_i_fork", "s_cbranch_join"),
        *("s_dcache_discard", "s_dcache_discard_x2", "s_endpgm_ordered_ps_done"),
        *("s_rfe_b64", "s_rfe_restore_b64"),
        *("s_scratch_load_dword", "s_scratch_load_dwordx2", "s_scratch_load_dwordx4"),
        *("s_scratch_store_dword", "s_scratch_store_dwordx2", "s_scratch_store_dwordx4"),
        *("s_sendmsghalt", "s_setvskip"),
        "v_screen_partition_4se_b32",
    ]


def test_whatever_was_seen_in_a_program_is_executed() -> None:
    seen = [one for one in INSTRUCTIONS if one.seen]

    assert {program for one in seen for program in one.seen} >= {
        "bitsandbytes", "jax-rocm7-plugin", "FlyDSL", "Triton",
    }  # fmt: skip
    assert len(seen) >= 308
    assert [one.mnemonic for one in seen if not one.executed] == []


def test_the_list_has_every_instruction_that_the_disassembler_knows() -> None:
    llvm_mc = shutil.which("llvm-mc-19") or shutil.which("llvm-mc")
    if not llvm_mc:
        pytest.skip("llvm-mc is not installed")
    version = subprocess.run([llvm_mc, "--version"], check=True, capture_output=True, text=True)
    known = named("gfx942", llvm_mc)

    listed = {one.mnemonic: words(one) for one in INSTRUCTIONS if "gfx942" in one.targets}

    assert sorted(known.keys() - listed.keys() - OF_GFX90A) == [], version.stdout
    assert len(known) > 1100
