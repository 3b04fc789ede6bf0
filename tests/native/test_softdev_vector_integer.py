"""Integer vector instructions against Python's integers."""

from collections.abc import Callable

import numpy as np
import pytest

from support.vector_kernel import Operation, Words, run_operations
from support.vector_values import EDGES_32, records

M32 = 0xFFFFFFFF
M64 = 0xFFFFFFFFFFFFFFFF
Formula = Callable[[int, int, int, int], int]


def s(value: int, width: int = 32) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def lo(value: int) -> int:
    return value & M32


def h(value: int) -> int:
    return value & 0xFFFF


def sh(value: int) -> int:
    return s(value, 16)


def clamp(value: int, low: int, high: int) -> int:
    return max(low, min(value, high))


def byte(value: int, n: int) -> int:
    return value >> (8 * n) & 0xFF


def bit_reversed(value: int) -> int:
    return int(f"{lo(value):032b}"[::-1], 2)


def leading(value: int) -> int:
    return 32 - lo(value).bit_length() if lo(value) else M32


def trailing(value: int) -> int:
    low = lo(value)
    return (low & -low).bit_length() - 1 if low else M32


def leading_sign(value: int) -> int:
    return leading(~s(value)) if s(value) < 0 else leading(value)


def bfe_signed(a: int, b: int, c: int) -> int:
    offset, width = b & 31, c & 31
    return s(s(a) >> offset, width) if width else 0


def permuted(a: int, b: int, c: int) -> int:
    data = (lo(a) << 32 | lo(b)).to_bytes(8, "little")
    out = []
    for selector in lo(c).to_bytes(4, "little"):
        if selector < 8:
            out.append(data[selector])
        elif selector < 12:
            out.append(255 if data[2 * (selector - 8) + 1] & 0x80 else 0)
        else:
            out.append(0 if selector == 12 else 255)
    return int.from_bytes(bytes(out), "little")


def sad(a: int, b: int, start: int, *, masked: bool = False) -> int:
    used = [n for n in range(4) if not masked or byte(b, n)]
    return start + sum(abs(byte(a, n) - byte(b, n)) for n in used)


def quad_sad(a: int, b: int, c: int, *, masked: bool = False) -> int:
    sums = [
        sad(a >> (8 * n) & M32, lo(b), c >> (16 * n) & 0xFFFF, masked=masked) & 0xFFFF
        for n in range(4)
    ]
    return sum(value << (16 * n) for n, value in enumerate(sums))


def lerp(a: int, b: int, c: int) -> int:
    return sum((byte(a, n) + byte(b, n) + (c >> (8 * n) & 1)) // 2 << (8 * n) for n in range(4))


def pack16(low: int, high: int) -> int:
    return (low & 0xFFFF) | (high & 0xFFFF) << 16


def majority(a: int, b: int, c: int) -> int:
    return (a & b) | (a & c) | (b & c)


# Operands are whole 64-bit registers; results are compared in 32 bits, or in 64 for a {dd}.
CASES: dict[str, Formula] = {
    "v_mov_b32 {d}, {a}": lambda a, b, c, d: a,
    "v_mov_b64 {dd}, {aa}": lambda a, b, c, d: a,
    "v_not_b32 {d}, {a}": lambda a, b, c, d: ~a,
    "v_bfrev_b32 {d}, {a}": lambda a, b, c, d: bit_reversed(a),
    "v_ffbh_u32 {d}, {a}": lambda a, b, c, d: leading(a),
    "v_ffbl_b32 {d}, {a}": lambda a, b, c, d: trailing(a),
    "v_ffbh_i32 {d}, {a}": lambda a, b, c, d: leading_sign(a),
    "v_sat_pk_u8_i16 {d}, {a}": lambda a, b, c, d: (
        clamp(sh(a), 0, 255) | clamp(sh(a >> 16), 0, 255) << 8
    ),
    "v_mul_i32_i24 {d}, {a}, {b}": lambda a, b, c, d: s(a, 24) * s(b, 24),
    "v_mul_hi_i32_i24 {d}, {a}, {b}": lambda a, b, c, d: s(a, 24) * s(b, 24) >> 32,
    "v_mul_u32_u24 {d}, {a}, {b}": lambda a, b, c, d: (a & 0xFFFFFF) * (b & 0xFFFFFF),
    "v_mul_hi_u32_u24 {d}, {a}, {b}": lambda a, b, c, d: (a & 0xFFFFFF) * (b & 0xFFFFFF) >> 32,
    "v_mul_lo_u32 {d}, {a}, {b}": lambda a, b, c, d: a * b,
    "v_mul_hi_u32 {d}, {a}, {b}": lambda a, b, c, d: lo(a) * lo(b) >> 32,
    "v_mul_hi_i32 {d}, {a}, {b}": lambda a, b, c, d: s(a) * s(b) >> 32,
    "v_min_i32 {d}, {a}, {b}": lambda a, b, c, d: min(s(a), s(b)),
    "v_max_i32 {d}, {a}, {b}": lambda a, b, c, d: max(s(a), s(b)),
    "v_min_u32 {d}, {a}, {b}": lambda a, b, c, d: min(lo(a), lo(b)),
    "v_max_u32 {d}, {a}, {b}": lambda a, b, c, d: max(lo(a), lo(b)),
    "v_lshrrev_b32 {d}, {a}, {b}": lambda a, b, c, d: lo(b) >> (a & 31),
    "v_ashrrev_i32 {d}, {a}, {b}": lambda a, b, c, d: s(b) >> (a & 31),
    "v_lshlrev_b32 {d}, {a}, {b}": lambda a, b, c, d: b << (a & 31),
    "v_and_b32 {d}, {a}, {b}": lambda a, b, c, d: a & b,
    "v_or_b32 {d}, {a}, {b}": lambda a, b, c, d: a | b,
    "v_xor_b32 {d}, {a}, {b}": lambda a, b, c, d: a ^ b,
    "v_xnor_b32 {d}, {a}, {b}": lambda a, b, c, d: ~(a ^ b),
    "v_bcnt_u32_b32 {d}, {a}, {b}": lambda a, b, c, d: lo(a).bit_count() + b,
    "v_bfm_b32 {d}, {a}, {b}": lambda a, b, c, d: ((1 << (a & 31)) - 1) << (b & 31),
    "v_cvt_pk_u16_u32 {d}, {a}, {b}": lambda a, b, c, d: pack16(
        min(lo(a), 65535), min(lo(b), 65535)
    ),
    "v_cvt_pk_i16_i32 {d}, {a}, {b}": lambda a, b, c, d: pack16(
        clamp(s(a), -32768, 32767), clamp(s(b), -32768, 32767)
    ),
    "v_add_u32 {d}, {a}, {b}": lambda a, b, c, d: a + b,
    "v_sub_u32 {d}, {a}, {b}": lambda a, b, c, d: a - b,
    "v_subrev_u32 {d}, {a}, {b}": lambda a, b, c, d: b - a,
    "v_add_u32 {d}, {a}, {b} clamp": lambda a, b, c, d: min(lo(a) + lo(b), M32),
    "v_sub_u32 {d}, {a}, {b} clamp": lambda a, b, c, d: max(lo(a) - lo(b), 0),
    "v_subrev_u32 {d}, {a}, {b} clamp": lambda a, b, c, d: max(lo(b) - lo(a), 0),
    "v_add_i32 {d}, {a}, {b}": lambda a, b, c, d: a + b,
    "v_sub_i32 {d}, {a}, {b}": lambda a, b, c, d: a - b,
    "v_add_i32 {d}, {a}, {b} clamp": lambda a, b, c, d: clamp(s(a) + s(b), -(2**31), 2**31 - 1),
    "v_sub_i32 {d}, {a}, {b} clamp": lambda a, b, c, d: clamp(s(a) - s(b), -(2**31), 2**31 - 1),
    "v_mad_i32_i24 {d}, {a}, {b}, {c}": lambda a, b, c, d: s(a, 24) * s(b, 24) + c,
    "v_mad_u32_u24 {d}, {a}, {b}, {c}": lambda a, b, c, d: (a & 0xFFFFFF) * (b & 0xFFFFFF) + c,
    "v_mad_u32_u24 {d}, {a}, {b}, {c} clamp": lambda a, b, c, d: min(
        (a & 0xFFFFFF) * (b & 0xFFFFFF) + lo(c), M32
    ),
    "v_mad_u32_u16 {d}, {a}, {b}, {c}": lambda a, b, c, d: h(a) * h(b) + c,
    "v_mad_i32_i16 {d}, {a}, {b}, {c}": lambda a, b, c, d: sh(a) * sh(b) + c,
    "v_bfe_u32 {d}, {a}, {b}, {c}": lambda a, b, c, d: lo(a) >> (b & 31) & ((1 << (c & 31)) - 1),
    "v_bfe_i32 {d}, {a}, {b}, {c}": lambda a, b, c, d: bfe_signed(a, b, c),
    "v_bfi_b32 {d}, {a}, {b}, {c}": lambda a, b, c, d: (a & b) | (~a & c),
    "v_alignbit_b32 {d}, {a}, {b}, {c}": lambda a, b, c, d: (lo(a) << 32 | lo(b)) >> (c & 31),
    "v_alignbyte_b32 {d}, {a}, {b}, {c}": lambda a, b, c, d: (lo(a) << 32 | lo(b)) >> (8 * (c & 3)),
    "v_perm_b32 {d}, {a}, {b}, {c}": lambda a, b, c, d: permuted(a, b, c),
    "v_min3_i32 {d}, {a}, {b}, {c}": lambda a, b, c, d: min(s(a), s(b), s(c)),
    "v_max3_i32 {d}, {a}, {b}, {c}": lambda a, b, c, d: max(s(a), s(b), s(c)),
    "v_med3_i32 {d}, {a}, {b}, {c}": lambda a, b, c, d: sorted((s(a), s(b), s(c)))[1],
    "v_min3_u32 {d}, {a}, {b}, {c}": lambda a, b, c, d: min(lo(a), lo(b), lo(c)),
    "v_max3_u32 {d}, {a}, {b}, {c}": lambda a, b, c, d: max(lo(a), lo(b), lo(c)),
    "v_med3_u32 {d}, {a}, {b}, {c}": lambda a, b, c, d: sorted((lo(a), lo(b), lo(c)))[1],
    "v_xad_u32 {d}, {a}, {b}, {c}": lambda a, b, c, d: (a ^ b) + c,
    "v_lshl_add_u32 {d}, {a}, {b}, {c}": lambda a, b, c, d: (a << (b & 31)) + c,
    "v_add_lshl_u32 {d}, {a}, {b}, {c}": lambda a, b, c, d: (a + b) << (c & 31),
    "v_add3_u32 {d}, {a}, {b}, {c}": lambda a, b, c, d: a + b + c,
    "v_lshl_or_b32 {d}, {a}, {b}, {c}": lambda a, b, c, d: (a << (b & 31)) | c,
    "v_and_or_b32 {d}, {a}, {b}, {c}": lambda a, b, c, d: (a & b) | c,
    "v_or3_b32 {d}, {a}, {b}, {c}": lambda a, b, c, d: a | b | c,
    "v_sad_u8 {d}, {a}, {b}, {c}": lambda a, b, c, d: sad(a, b, c),
    "v_sad_hi_u8 {d}, {a}, {b}, {c}": lambda a, b, c, d: (sad(a, b, 0) << 16) + c,
    "v_sad_u16 {d}, {a}, {b}, {c}": lambda a, b, c, d: (
        c + abs(h(a) - h(b)) + abs(h(a >> 16) - h(b >> 16))
    ),
    "v_sad_u32 {d}, {a}, {b}, {c}": lambda a, b, c, d: abs(lo(a) - lo(b)) + c,
    "v_msad_u8 {d}, {a}, {b}, {c}": lambda a, b, c, d: sad(a, b, c, masked=True),
    "v_lerp_u8 {d}, {a}, {b}, {c}": lambda a, b, c, d: lerp(a, b, c),
    "v_qsad_pk_u16_u8 {dd}, {aa}, {b}, {cc}": lambda a, b, c, d: quad_sad(a, b, c),
    "v_mqsad_pk_u16_u8 {dd}, {aa}, {b}, {cc}": lambda a, b, c, d: quad_sad(a, b, c, masked=True),
    # 16 bits: the upper half of the destination becomes zero.
    "v_add_u16 {d}, {a}, {b}": lambda a, b, c, d: h(a + b),
    "v_sub_u16 {d}, {a}, {b}": lambda a, b, c, d: h(a - b),
    "v_subrev_u16 {d}, {a}, {b}": lambda a, b, c, d: h(b - a),
    "v_add_u16 {d}, {a}, {b} clamp": lambda a, b, c, d: min(h(a) + h(b), 65535),
    "v_sub_u16 {d}, {a}, {b} clamp": lambda a, b, c, d: max(h(a) - h(b), 0),
    "v_add_i16 {d}, {a}, {b}": lambda a, b, c, d: h(a + b),
    "v_sub_i16 {d}, {a}, {b}": lambda a, b, c, d: h(a - b),
    "v_add_i16 {d}, {a}, {b} clamp": lambda a, b, c, d: h(clamp(sh(a) + sh(b), -32768, 32767)),
    "v_sub_i16 {d}, {a}, {b} clamp": lambda a, b, c, d: h(clamp(sh(a) - sh(b), -32768, 32767)),
    "v_mul_lo_u16 {d}, {a}, {b}": lambda a, b, c, d: h(a * b),
    "v_lshlrev_b16 {d}, {a}, {b}": lambda a, b, c, d: h(h(b) << (a & 15)),
    "v_lshrrev_b16 {d}, {a}, {b}": lambda a, b, c, d: h(b) >> (a & 15),
    "v_ashrrev_i16 {d}, {a}, {b}": lambda a, b, c, d: h(sh(b) >> (a & 15)),
    "v_max_u16 {d}, {a}, {b}": lambda a, b, c, d: max(h(a), h(b)),
    "v_min_u16 {d}, {a}, {b}": lambda a, b, c, d: min(h(a), h(b)),
    "v_max_i16 {d}, {a}, {b}": lambda a, b, c, d: h(max(sh(a), sh(b))),
    "v_min_i16 {d}, {a}, {b}": lambda a, b, c, d: h(min(sh(a), sh(b))),
    "v_min3_i16 {d}, {a}, {b}, {c}": lambda a, b, c, d: h(min(sh(a), sh(b), sh(c))),
    "v_max3_i16 {d}, {a}, {b}, {c}": lambda a, b, c, d: h(max(sh(a), sh(b), sh(c))),
    "v_med3_i16 {d}, {a}, {b}, {c}": lambda a, b, c, d: h(sorted((sh(a), sh(b), sh(c)))[1]),
    "v_min3_u16 {d}, {a}, {b}, {c}": lambda a, b, c, d: min(h(a), h(b), h(c)),
    "v_max3_u16 {d}, {a}, {b}, {c}": lambda a, b, c, d: max(h(a), h(b), h(c)),
    "v_med3_u16 {d}, {a}, {b}, {c}": lambda a, b, c, d: sorted((h(a), h(b), h(c)))[1],
    "v_mad_u16 {d}, {a}, {b}, {c}": lambda a, b, c, d: h(a * b + c),
    "v_mad_u16 {d}, {a}, {b}, {c} clamp": lambda a, b, c, d: min(h(a) * h(b) + h(c), 65535),
    "v_mad_i16 {d}, {a}, {b}, {c}": lambda a, b, c, d: h(a * b + c),
    "v_mad_i16 {d}, {a}, {b}, {c} clamp": lambda a, b, c, d: h(
        clamp(sh(a) * sh(b) + sh(c), -32768, 32767)
    ),
    # op_sel: high halves of sources; the last bit writes the high half and keeps the low one.
    "v_mad_u16 {d}, {a}, {b}, {c} op_sel:[1,0,1,1]": lambda a, b, c, d: pack16(
        h(d), h(lo(a) >> 16) * h(b) + h(lo(c) >> 16)
    ),
    # 64 bits.
    "v_lshlrev_b64 {dd}, {a}, {bb}": lambda a, b, c, d: b << (a & 63),
    "v_lshrrev_b64 {dd}, {a}, {bb}": lambda a, b, c, d: b >> (a & 63),
    "v_ashrrev_i64 {dd}, {a}, {bb}": lambda a, b, c, d: s(b, 64) >> (a & 63),
    "v_lshl_add_u64 {dd}, {aa}, 3, {cc}": lambda a, b, c, d: (a << 3) + c,
    "v_mad_u64_u32 {dd}, vcc, {a}, {b}, {cc}": lambda a, b, c, d: lo(a) * lo(b) + c,
    "v_mad_i64_i32 {dd}, vcc, {a}, {b}, {cc}": lambda a, b, c, d: s(a) * s(b) + c,
    # VOP3P.
    "v_pk_mad_i16 {d}, {a}, {b}, {c}": lambda a, b, c, d: pack16(
        a * b + c, (lo(a) >> 16) * (lo(b) >> 16) + (lo(c) >> 16)
    ),
    "v_pk_mul_lo_u16 {d}, {a}, {b}": lambda a, b, c, d: pack16(
        a * b, (lo(a) >> 16) * (lo(b) >> 16)
    ),
    "v_pk_add_i16 {d}, {a}, {b}": lambda a, b, c, d: pack16(a + b, (lo(a) >> 16) + (lo(b) >> 16)),
    "v_pk_add_i16 {d}, {a}, {b} clamp": lambda a, b, c, d: pack16(
        clamp(sh(a) + sh(b), -32768, 32767), clamp(sh(a >> 16) + sh(b >> 16), -32768, 32767)
    ),
    "v_pk_sub_i16 {d}, {a}, {b}": lambda a, b, c, d: pack16(a - b, (lo(a) >> 16) - (lo(b) >> 16)),
    "v_pk_lshlrev_b16 {d}, {a}, {b}": lambda a, b, c, d: pack16(
        h(b) << (a & 15), h(lo(b) >> 16) << (a >> 16 & 15)
    ),
    "v_pk_lshrrev_b16 {d}, {a}, {b}": lambda a, b, c, d: pack16(
        h(b) >> (a & 15), h(lo(b) >> 16) >> (a >> 16 & 15)
    ),
    "v_pk_ashrrev_i16 {d}, {a}, {b}": lambda a, b, c, d: pack16(
        sh(b) >> (a & 15), sh(b >> 16) >> (a >> 16 & 15)
    ),
    "v_pk_max_i16 {d}, {a}, {b}": lambda a, b, c, d: pack16(
        max(sh(a), sh(b)), max(sh(a >> 16), sh(b >> 16))
    ),
    "v_pk_min_i16 {d}, {a}, {b}": lambda a, b, c, d: pack16(
        min(sh(a), sh(b)), min(sh(a >> 16), sh(b >> 16))
    ),
    "v_pk_mad_u16 {d}, {a}, {b}, {c}": lambda a, b, c, d: pack16(
        a * b + c, (lo(a) >> 16) * (lo(b) >> 16) + (lo(c) >> 16)
    ),
    "v_pk_add_u16 {d}, {a}, {b} op_sel:[1,0] op_sel_hi:[0,1]": lambda a, b, c, d: pack16(
        (lo(a) >> 16) + b, a + (lo(b) >> 16)
    ),
    "v_pk_add_u16 {d}, {a}, {b} clamp": lambda a, b, c, d: pack16(
        min(h(a) + h(b), 65535), min(h(a >> 16) + h(b >> 16), 65535)
    ),
    "v_pk_sub_u16 {d}, {a}, {b}": lambda a, b, c, d: pack16(a - b, (lo(a) >> 16) - (lo(b) >> 16)),
    "v_pk_max_u16 {d}, {a}, {b}": lambda a, b, c, d: pack16(
        max(h(a), h(b)), max(h(a >> 16), h(b >> 16))
    ),
    "v_pk_min_u16 {d}, {a}, {b}": lambda a, b, c, d: pack16(
        min(h(a), h(b)), min(h(a >> 16), h(b >> 16))
    ),
    "v_dot2_i32_i16 {d}, {a}, {b}, {c}": lambda a, b, c, d: (
        sh(a) * sh(b) + sh(a >> 16) * sh(b >> 16) + c
    ),
    "v_dot2_u32_u16 {d}, {a}, {b}, {c}": lambda a, b, c, d: (
        h(a) * h(b) + h(a >> 16) * h(b >> 16) + c
    ),
    "v_dot4_i32_i8 {d}, {a}, {b}, {c}": lambda a, b, c, d: (
        sum(s(byte(a, n), 8) * s(byte(b, n), 8) for n in range(4)) + c
    ),
    "v_dot4_u32_u8 {d}, {a}, {b}, {c}": lambda a, b, c, d: (
        sum(byte(a, n) * byte(b, n) for n in range(4)) + c
    ),
    "v_dot4_u32_u8 {d}, {a}, {b}, {c} clamp": lambda a, b, c, d: min(
        sum(byte(a, n) * byte(b, n) for n in range(4)) + lo(c), M32
    ),
    "v_dot8_i32_i4 {d}, {a}, {b}, {c}": lambda a, b, c, d: (
        sum(s(a >> (4 * n), 4) * s(b >> (4 * n), 4) for n in range(8)) + c
    ),
    "v_dot8_u32_u4 {d}, {a}, {b}, {c}": lambda a, b, c, d: (
        sum((a >> (4 * n) & 15) * (b >> (4 * n) & 15) for n in range(8)) + c
    ),
    "v_dot4c_i32_i8 {d}, {a}, {b}": lambda a, b, c, d: (
        sum(s(byte(a, n), 8) * s(byte(b, n), 8) for n in range(4)) + d
    ),
    # Literals, inline constants and scalar sources.
    "v_add_u32 {d}, 0x12345678, {b}": lambda a, b, c, d: 0x12345678 + b,
    "v_add_u32 {d}, -16, {b}": lambda a, b, c, d: b - 16,
    "s_mov_b32 s22, 0x89abcdef\n  v_xor_b32 {d}, s22, {b}": lambda a, b, c, d: 0x89ABCDEF ^ b,
    "v_and_b32 {d}, 1.0, {b}": lambda a, b, c, d: 0x3F800000 & b,
}
GFX950_CASES: dict[str, Formula] = {
    "v_bitop3_b32 {d}, {a}, {b}, {c} bitop3:0xe8": lambda a, b, c, d: majority(a, b, c),
    "v_bitop3_b32 {d}, {a}, {b}, {c} bitop3:0x12": lambda a, b, c, d: (a & ~b & ~c) | (~a & ~b & c),
    "v_bitop3_b16 {d}, {a}, {b}, {c} bitop3:0xe8": lambda a, b, c, d: h(majority(a, b, c)),
    "v_ashr_pk_i8_i32 {d}, {a}, {b}, {c}": lambda a, b, c, d: (
        (clamp(s(a) >> (c & 31), -128, 127) & 255) | (clamp(s(b) >> (c & 31), -128, 127) & 255) << 8
    ),
    "v_ashr_pk_u8_i32 {d}, {a}, {b}, {c}": lambda a, b, c, d: (
        clamp(s(a) >> (c & 31), 0, 255) | clamp(s(b) >> (c & 31), 0, 255) << 8
    ),
    "v_prng_b32 {d}, {a}": lambda a, b, c, d: (a << 1) ^ (197 if a >> 31 & 1 else 0),
}
INPUTS = records(EDGES_32)


@pytest.fixture(scope="module")
def results() -> dict[str, Words]:
    return _run("gfx942", CASES)


@pytest.fixture(scope="module")
def gfx950_results() -> dict[str, Words]:
    return _run("gfx950", GFX950_CASES)


def _run(target: str, cases: dict[str, Formula]) -> dict[str, Words]:
    operations = [Operation(text) for text in cases]
    outputs = run_operations(target, operations, [INPUTS] * len(cases))
    return dict(zip(cases, outputs, strict=True))


@pytest.mark.parametrize("text", CASES)
def test_integer_instruction_is_exact(results: dict[str, Words], text: str) -> None:
    _compare(text, results[text], CASES[text])


@pytest.mark.parametrize("text", GFX950_CASES)
def test_gfx950_integer_instruction_is_exact(gfx950_results: dict[str, Words], text: str) -> None:
    _compare(text, gfx950_results[text], GFX950_CASES[text])


def _compare(text: str, output: Words, formula: Formula) -> None:
    wide = "{dd}" in text
    operands = INPUTS[:, 0::2].astype(np.uint64) | INPUTS[:, 1::2].astype(np.uint64) << np.uint64(
        32
    )
    mask = M64 if wide else M32
    for values, words in zip(operands.tolist(), output.tolist(), strict=True):
        got = words[0] | words[1] << 32 if wide else words[0]
        wanted = formula(*values) & mask
        assert got == wanted, f"{text}: {[hex(v) for v in values]}: {got:#x}, not {wanted:#x}"
