"""How long matrix instructions keep their unit, and how far their results must be kept away."""

import numpy as np
import pytest

from ktrace_cli.att.matrix import busy_units, matrix_cycles, wait_states
from ktrace_cli.att.target import infer
from ktrace_cli.att.wave_files import Wave


@pytest.mark.parametrize(
    ("text", "processor", "cycles"),
    [
        ("v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], a[0:3]", "gfx942", 16),
        ("v_mfma_f32_32x32x8_bf16", "gfx942", 32),
        ("v_mfma_f32_32x32x8bf16_1k", "gfx942", 32),
        ("v_mfma_f32_32x32x8f16", "gfx90a", 64),
        ("v_mfma_f32_32x32x4f16", "gfx90a", 64),  # two products
        ("v_mfma_f32_32x32x4bf16_1k", "gfx90a", 64),
        ("v_mfma_f32_32x32x4_2b_f16", "gfx942", 64),
        ("v_mfma_i32_16x16x4_4b_i8", "gfx942", 32),
        ("v_smfmac_f32_32x32x64_fp8_bf8", "gfx950", 32),
        ("v_mfma_f32_32x32x4_xf32", "gfx942", 32),
        ("v_mfma_f64_4x4x4_4b_f64", "gfx942", 16),
        ("v_mfma_i32_32x32x32_i8", "gfx950", 32),
        ("v_mfma_f32_4x4x4_16b_f16", "gfx942", 8),
        ("v_mfma_f32_16x16x32_fp8_bf8", "gfx942", 16),
        ("v_mfma_f32_32x32x16_fp8_fp8", "gfx942", 32),
        ("v_mfma_i32_32x32x16_i8", "gfx942", 32),
        ("v_mfma_f32_16x16x4_f32", "gfx942", 32),
        ("v_mfma_f32_32x32x2_f32", "gfx942", 64),
        ("v_mfma_f32_16x16x8_xf32", "gfx942", 16),
        ("v_mfma_f64_16x16x4_f64", "gfx942", 32),
        ("v_mfma_f64_16x16x4_f64", "gfx950", 64),
        ("v_smfmac_f32_16x16x32_f16 v[0:3], v[4:5], v[6:9], v10", "gfx942", 16),
        ("v_smfmac_f32_16x16x64_f16", "gfx950", 16),
        ("v_mfma_f32_16x16x32_bf16", "gfx950", 16),
        ("v_mfma_f32_32x32x16_bf16", "gfx950", 32),
        ("v_mfma_f32_32x32x8_f16", "gfx950", 32),
        ("v_mfma_i32_16x16x64_i8", "gfx950", 16),
        ("v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[0:3]", "gfx950", 32),
        ("v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:7], v[8:11], v[0:3] cbsz:4 blgp:4", "gfx950", 16),
        ("v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[4:7], v[8:11], v[0:15], v1, v2 "
         "op_sel_hi:[0,0,0] cbsz:4 blgp:1", "gfx950", 64),
        ("v_mfma_f32_16x16x128_f8f6f4", "gfx942", None),
        ("v_mfma_f32_16x16x16_f16", "gfx1100", None),
        ("v_wmma_f32_16x16x16_f16", "gfx1100", None),
        ("v_mfma_", "gfx942", None),
    ],
)  # fmt: skip
def test_cycles_of_a_matrix_instruction(text: str, processor: str, cycles: int | None) -> None:
    assert matrix_cycles(text, processor) == cycles


@pytest.mark.parametrize(
    ("text", "processor", "states"),
    [
        ("v_mfma_f32_4x4x4_16b_f16", "gfx950", 5),
        ("v_mfma_f32_16x16x16_f16", "gfx950", 8),
        ("v_mfma_f32_32x32x16_bf16", "gfx950", 12),
        ("v_mfma_f32_32x32x64_f8f6f4", "gfx950", 20),
        ("v_mfma_f32_16x16x16_f16", "gfx942", 7),
        ("v_mfma_f32_32x32x2_f32", "gfx942", 18),
        ("v_mfma_f32_16x16x8_xf32", "gfx942", 7),
        ("v_mfma_f64_16x16x4_f64", "gfx942", None),
        ("v_mfma_f32_32x32x8f16", "gfx90a", None),
    ],
)
def test_wait_states_after_a_matrix_instruction(
    text: str, processor: str, states: int | None
) -> None:
    assert wait_states(text, processor) == states


def wave(simd: int, *issues: tuple[int, int]) -> Wave:
    time = np.array([first for first, _ in issues], np.int64)
    stall = np.array([stall for _, stall in issues], np.int64)
    line = np.zeros(len(issues), np.int64)
    return Wave("w", (0, 1, simd), 0, 0, 1000, time, stall, stall + 4, line, (), -1)


def test_the_unit_is_busy_from_issue_and_waves_of_a_simd_share_it() -> None:
    waves = [wave(0, (100, 0), (110, 22)), wave(0, (120, 0), (300, 10)), wave(1, (100, 0))]

    units = busy_units(waves, np.array([32]))

    first = units[0, 1, 0]
    # 100..132, 132..164 and 120..152 are one stretch.
    assert list(zip(first.begin.tolist(), first.end.tolist(), strict=True)) == [
        (100, 164),
        (310, 342),
    ]
    assert first.until(np.array([0, 100, 130, 200, 320, 999])).tolist() == [0, 0, 30, 64, 74, 96]
    assert units[0, 1, 1].until(np.array([999])).tolist() == [32]


@pytest.mark.parametrize(
    ("texts", "processor"),
    [
        (["ds_read_b64_tr_b16 v[0:1], v2", "v_mov_b64_e32 v[0:1], 0"], "gfx950"),
        (["v_mfma_f32_32x32x4_xf32 a[0:15]", "v_cvt_pk_fp8_f32 v0, v1, v2"], "gfx942"),
        (["v_mfma_f32_32x32x8_f16 a[0:15]", "v_cvt_pk_fp8_f32 v0, v1, v2"], ""),
        (["v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7]"], ""),
        (["s_wait_dscnt 0x0"], "gfx12"),
        (["v_maximum3_f32 v0, v1, v2, v3", "s_wait_loadcnt 0x0"], "gfx12"),
        (["v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v2, v3", "v_mov_b64_e32 v[0:1], 0"], ""),
        (["v_mfma_f64_16x16x4f64 a[0:7]"], "gfx90a"),
        (["v_mfma_f32_32x32x8f16 a[0:15]"], ""),
        (["v_add_f32_e32 v0, v1, v2"], ""),
    ],
)
def test_a_target_is_inferred_from_what_only_it_has(texts: list[str], processor: str) -> None:
    found = infer(texts)

    assert (found.processor, found.is_certain) == (processor, False)
