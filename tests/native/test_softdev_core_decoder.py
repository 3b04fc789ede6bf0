"""The decoder against llvm-objdump: the size and the mnemonic of every instruction."""

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support.asm_kernel import AsmKernel
from support.compile_kernel import any_compiler, compilers_for
from support.hip_calls import load_hip
from support.native_decoder import decode

ROOT = Path(__file__).parents[2]
KERNELS = Path(__file__).with_name("softdev_core_kernels.hip").read_text()
LINE = re.compile(r"\s+(\S+).*//\s*([0-9A-F]+):((?: [0-9A-F]{8})+)")
SUFFIX = re.compile(r"(_e32|_e64|_sdwa|_dpp|_e64_dpp)$")

# One of each encoding and of each way to be longer than a dword.
EVERY_FORM = """
  s_mov_b32 s0, 0x12345678
  s_add_u32 s0, s1, 0x12345678
  s_cmp_eq_u32 s0, 0x12345678
  s_movk_i32 s0, 0x7fff
  s_setreg_imm32_b32 hwreg(HW_REG_MODE), 0x3c0
  s_call_b64 s[30:31], 0
  s_waitcnt vmcnt(63) expcnt(7) lgkmcnt(15)
  s_load_dwordx8 s[8:15], s[0:1], 0x10
  s_load_dword s8, s[0:1], s9 offset:0x10
  s_buffer_store_dwordx4 s[8:11], s[12:15], s0
  s_store_dwordx2 s[8:9], s[0:1], s3
  s_dcache_wb
  s_memrealtime s[8:9]
  s_atomic_add s8, s[0:1], 0x0
  v_mov_b32 v0, 0x12345678
  v_mov_b32_dpp v0, v1 row_shl:1 row_mask:0xf bank_mask:0xf
  v_add_u32_sdwa v0, v1, v2 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:DWORD
  v_add_f32_e64 v0, |v1|, -v2 clamp mul:2
  v_add_co_u32 v0, s[4:5], v1, v2
  v_addc_co_u32 v0, vcc, v1, v2, vcc
  v_cmp_lt_f32_e64 s[4:5], v1, v2
  v_cmp_eq_u32_sdwa s[4:5], v1, v2 src0_sel:BYTE_0 src1_sel:DWORD
  v_cmpx_gt_i64_e32 vcc, v[0:1], v[2:3]
  v_div_scale_f32 v0, vcc, v1, v2, v3
  v_mad_u64_u32 v[0:1], s[4:5], v2, v3, v[4:5]
  v_readlane_b32 s0, v1, 5
  v_writelane_b32 v0, s1, 5
  v_lshl_add_u64 v[0:1], v[2:3], 2, v[4:5]
  v_pk_fma_f16 v0, v1, v2, v3 op_sel:[1,0,0] op_sel_hi:[0,1,1] neg_lo:[1,0,0]
  v_pk_mul_f32 v[0:1], v[2:3], v[4:5]
  v_accvgpr_write_b32 a0, v1
  v_accvgpr_read_b32 v0, a1
  v_accvgpr_mov_b32 a0, a1
  v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]
  v_mfma_f32_16x16x32_fp8_fp8 v[0:3], v[4:5], v[6:7], v[0:3] cbsz:2 abid:1 blgp:1
  v_smfmac_f32_16x16x32_f16 v[0:3], v[4:5], v[6:9], v10
  ds_read2st64_b64 v[0:3], v4 offset0:1 offset1:255
  ds_add_rtn_u64 v[0:1], v2, v[4:5] offset:65535
  ds_read_b128 a[0:3], v4
  global_load_dwordx4 v[0:3], v4, s[0:1] offset:-4096
  global_atomic_cmpswap_x2 v[0:1], v[2:3], v[4:7], off sc0
  global_load_lds_dword v[0:1], off offset:16
  flat_store_short_d16_hi v[0:1], v2 offset:4095
  scratch_load_dwordx2 v[0:1], v2, s3 offset:8
  scratch_store_dword off, v2, s3
  buffer_load_ubyte_d16 v0, v1, s[4:7], s8 offen offset:4095
  buffer_load_dword v1, s[4:7], 0 offen lds
  buffer_wbl2 sc1
  buffer_inv sc1
  tbuffer_load_format_x v0, off, s[0:3], 0
"""


def decoder() -> ctypes.CDLL:
    return load_hip()  # the library reads its environment once per process


def disassemble(code_object: Path, target: str) -> list[tuple[str, int, list[int]]]:
    """(mnemonic, address, words) of every instruction, by llvm-objdump."""
    program = shutil.which("llvm-objdump-19") or shutil.which("llvm-objdump")
    if not program:
        pytest.skip("llvm-objdump is not installed")
    command = [program, "-d", f"--mcpu={target}", str(code_object)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    matches = (LINE.match(line) for line in text.splitlines())
    return [(m[1], int(m[2], 16), [int(word, 16) for word in m[3].split()]) for m in matches if m]


def differences(code_object: Path, target: str) -> tuple[int, list[str]]:
    library, listing = decoder(), disassemble(code_object, target)
    word_at = {at + 4 * k: w for _, at, words in listing for k, w in enumerate(words)}
    wrong = []
    for name, at, words in listing:
        ahead = [word_at.get(at + 4 * k, 0) for k in range(4)]
        size, mnemonic = decode(library, ahead, target)
        # gfx90a spells some names differently, and has instructions that are not executed.
        same_name = target == "gfx90a" or mnemonic == SUFFIX.sub("", name)
        if abs(size) != 4 * len(words) or not same_name:
            wrong.append(f"{at:#x} {name} ({4 * len(words)} bytes): {mnemonic} ({size} bytes)")
    return len(listing), wrong


@pytest.mark.parametrize("target", ["gfx90a", "gfx942"])
@pytest.mark.parametrize("level", ["-O0", "-O3"])
def test_compiled_kernels_decode_as_the_disassembler_says(target: str, level: str) -> None:
    for compiler in compilers_for(target):
        count, wrong = differences(compiler.hip(KERNELS, level), target)

        assert count > 500
        assert wrong == []


def test_committed_code_objects_decode_as_the_disassembler_says() -> None:
    # llvm-objdump 19 does not know gfx950.
    committed = sorted((ROOT / "samples").rglob("*.gfx942*.co"))

    found = {path.name: differences(path, "gfx942") for path in committed}

    assert len(found) >= 4
    assert {name: wrong for name, (_, wrong) in found.items() if wrong} == {}
    assert min(count for count, _ in found.values()) > 10


def test_one_of_every_form_decodes_as_the_disassembler_says() -> None:
    code_object = any_compiler("gfx942").assemble(AsmKernel(EVERY_FORM, vgprs=128).source("gfx942"))

    count, wrong = differences(code_object, "gfx942")

    assert count == EVERY_FORM.strip().count("\n") + 2
    assert wrong == []


def test_a_scaled_matrix_instruction_has_sixteen_bytes() -> None:
    # v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[0:3], v20, v21
    words = [0xD3AC0000, 0x00022B14, 0xD3AD0000, 0x04021904]

    size, mnemonic = decode(decoder(), words, "gfx950")

    assert (size, mnemonic) == (16, "v_mfma_scale_f32_16x16x128_f8f6f4")


@pytest.mark.parametrize(
    ("words", "size"),
    [
        ([0xBE8000FF], 8),  # s_mov_b32 s0, literal, whose literal is cut off
        ([0xDC508000], 8),  # global_load_dword without its second half
        ([0xD3AC0000, 0x00022B14], 16),
    ],
)
def test_an_instruction_that_is_cut_off_is_not_executed(words: list[int], size: int) -> None:
    assert decode(decoder(), words, "gfx942")[0] == -size
    assert decode(decoder(), words, "gfx1100") == (0, "")
