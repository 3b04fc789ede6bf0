"""Which GPU a bundle comes from, and how that is known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Target:
    """A processor and the reason to believe it."""

    processor: str
    """gfx950; "" if it is not known."""
    why: str
    is_certain: bool = True


# Instructions that a processor has and those after it here do not. gfx12 has some of gfx950's.
# What several processors have tells none of them.
_TELLING: Final = (
    ("gfx12", (
        "s_wait_loadcnt", "s_wait_storecnt", "s_wait_dscnt", "s_wait_kmcnt", "s_wait_samplecnt",
        "s_wait_bvhcnt", "s_wait_loadcnt_dscnt", "s_wait_storecnt_dscnt", "s_barrier_signal",
    )),
    ("gfx11 or later", ("v_wmma", "s_delay_alu", "v_dual_")),
    ("gfx950", (
        "ds_read_b64_tr_b16", "ds_read_b64_tr_b8", "ds_read_b64_tr_b4", "ds_read_b96_tr_b6",
        "v_mfma_scale_f32", "v_mfma_f32_16x16x128_f8f6f4", "v_mfma_f32_32x32x64_f8f6f4",
        "v_mfma_f32_16x16x32_f16", "v_mfma_f32_16x16x32_bf16", "v_mfma_f32_32x32x16_f16",
        "v_mfma_f32_32x32x16_bf16", "v_mfma_i32_16x16x64_i8", "v_mfma_i32_32x32x32_i8",
        "v_permlane16_swap", "v_permlane32_swap", "v_cvt_scalef32", "v_prng_b32", "v_bitop3",
        "v_cvt_pk_bf16_f32", "v_cvt_pk_f16_f32", "v_ashr_pk", "v_minimum3", "v_maximum3",
        "buffer_load_dwordx3_lds", "global_load_lds_dwordx4",
    )),
    ("gfx942", ("v_mfma_f32_16x16x8_xf32", "v_mfma_f32_32x32x4_xf32")),
    ("gfx942 or gfx950", (
        "v_mfma_f32_16x16x32_fp8", "v_mfma_f32_16x16x32_bf8", "v_mfma_f32_32x32x16_fp8",
        "v_mfma_f32_32x32x16_bf8", "v_mfma_i32_16x16x32_i8", "v_mfma_i32_32x32x16_i8",
        "v_mfma_f32_16x16x16_f16", "v_mfma_f32_32x32x8_f16", "v_mfma_f32_16x16x16_bf16",
        "v_mfma_f32_32x32x8_bf16", "v_smfmac", "v_cvt_pk_fp8_f32", "v_cvt_f32_fp8",
        "v_cvt_pk_f32_fp8", "v_cvt_sr_fp8", "v_mov_b64", "buffer_wbl2 sc", "buffer_inv sc",
        "global_load_lds_dword", "v_lshl_add_u64",
    )),
    ("gfx90a", (
        "v_mfma_f64_16x16x4f64", "v_mfma_f64_4x4x4f64", "v_mfma_f32_32x32x8bf16_1k",
        "v_mfma_f32_16x16x16bf16_1k", "v_mfma_f32_32x32x4bf16_1k", "buffer_invl2",
    )),
    ("gfx90a or later", ("v_pk_fma_f32", "v_pk_mul_f32", "v_pk_mov_b32", "v_mfma_f64")),
    ("gfx908 or later", ("v_mfma", "v_accvgpr")),
)  # fmt: skip


def infer(texts: Iterable[str], processor_family: str = "") -> Target:
    """Tell the processor from instructions that only it has.

    Args:
        texts: the disassembly.
        processor_family: what filenames.json says: vega or navi.
    """
    known = {name: index for index, (name, _) in enumerate(_TELLING)}
    best: tuple[int, str, str] | None = None
    for text in dict.fromkeys(texts):
        for name, prefixes in _TELLING:
            index = known[name]
            if best is not None and index >= best[0]:
                break
            if text.startswith(prefixes):
                best = (index, name, text.partition(" ")[0])
                break
    if best is None:
        family = f" (filenames.json says only {processor_family})" if processor_family else ""
        why = f"no instruction tells{family}"
        return Target("", why, is_certain=False)
    processor = best[1] if " " not in best[1] else ""
    why = f"`{best[2]}` is of {best[1]}"
    return Target(processor, why, is_certain=False)
