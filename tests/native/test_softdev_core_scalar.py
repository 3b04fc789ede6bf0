"""Scalar arithmetic of the software device, against formulas over Python's integers."""

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from support.asm_kernel import AsmKernel
from support.compile_kernel import any_compiler
from support.hip import Launch, launch_kernel

TARGET = "gfx942"
M32, M64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
EDGES_32 = (0, 1, 2, 31, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x12345678, 0xFFFF0003, 0x00080004)
EDGES_64 = (0, 1, 0x80000000, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000, M64, 0x123456789ABCDEF0)

# (result, scc); scc None means that it stays as it was.
Result = tuple[int, int | None]


def s32(value: int) -> int:
    return value - (1 << 32) if value & (1 << 31) else value


def s64(value: int) -> int:
    return value - (1 << 64) if value & (1 << 63) else value


def nonzero(value: int) -> Result:
    return value, int(value != 0)


def signed_overflow(value: int) -> int:
    return int(not -(1 << 31) <= value < 1 << 31)


def reverse(value: int, width: int) -> int:
    return int(format(value, f"0{width}b")[::-1], 2)


def first_one(value: int) -> int:
    return (value & -value).bit_length() - 1 if value else M32


def leading_zeros(value: int, width: int) -> int:
    return width - value.bit_length() if value else M32


def leading_signs(value: int, width: int) -> int:
    flipped = value ^ ((1 << width) - 1) if value >> (width - 1) else value
    return leading_zeros(flipped, width)


def field(value: int, control: int, width: int, *, signed: bool) -> int:
    offset, size = control & (width - 1), control >> 16 & 127
    if not size:
        return 0
    size = min(size, width - offset) if signed else min(size, width)
    piece = value >> offset & ((1 << size) - 1)
    if signed and piece >> (size - 1):
        piece |= -1 << size
    return piece & ((1 << width) - 1)


def quads(value: int, width: int, *, whole: bool) -> int:
    hits = [k for k in range(width // 4) if value >> (4 * k) & 15]
    return sum(15 << (4 * k) if whole else 1 << k for k in hits)


Binary = Callable[[int, int, int], Result]  # of a, b and the SCC before
BINARY_32: dict[str, Binary] = {
    "s_add_u32": lambda a, b, _: ((a + b) & M32, (a + b) >> 32),
    "s_sub_u32": lambda a, b, _: ((a - b) & M32, int(b > a)),
    "s_add_i32": lambda a, b, _: ((a + b) & M32, signed_overflow(s32(a) + s32(b))),
    "s_sub_i32": lambda a, b, _: ((a - b) & M32, signed_overflow(s32(a) - s32(b))),
    "s_addc_u32": lambda a, b, c: ((a + b + c) & M32, (a + b + c) >> 32),
    "s_subb_u32": lambda a, b, c: ((a - b - c) & M32, int(b + c > a)),
    "s_min_i32": lambda a, b, _: (a if s32(a) < s32(b) else b, int(s32(a) < s32(b))),
    "s_min_u32": lambda a, b, _: (min(a, b), int(a < b)),
    "s_max_i32": lambda a, b, _: (a if s32(a) > s32(b) else b, int(s32(a) > s32(b))),
    "s_max_u32": lambda a, b, _: (max(a, b), int(a > b)),
    "s_cselect_b32": lambda a, b, c: (a if c else b, None),
    "s_and_b32": lambda a, b, _: nonzero(a & b),
    "s_or_b32": lambda a, b, _: nonzero(a | b),
    "s_xor_b32": lambda a, b, _: nonzero(a ^ b),
    "s_andn2_b32": lambda a, b, _: nonzero(a & ~b & M32),
    "s_orn2_b32": lambda a, b, _: nonzero((a | ~b) & M32),
    "s_nand_b32": lambda a, b, _: nonzero(~(a & b) & M32),
    "s_nor_b32": lambda a, b, _: nonzero(~(a | b) & M32),
    "s_xnor_b32": lambda a, b, _: nonzero(~(a ^ b) & M32),
    "s_lshl_b32": lambda a, b, _: nonzero(a << (b & 31) & M32),
    "s_lshr_b32": lambda a, b, _: nonzero(a >> (b & 31)),
    "s_ashr_i32": lambda a, b, _: nonzero(s32(a) >> (b & 31) & M32),
    "s_bfm_b32": lambda a, b, _: (((1 << (a & 31)) - 1) << (b & 31) & M32, None),
    "s_mul_i32": lambda a, b, _: (a * b & M32, None),
    "s_mul_hi_u32": lambda a, b, _: (a * b >> 32, None),
    "s_mul_hi_i32": lambda a, b, _: (s32(a) * s32(b) >> 32 & M32, None),
    "s_bfe_u32": lambda a, b, _: nonzero(field(a, b, 32, signed=False)),
    "s_bfe_i32": lambda a, b, _: nonzero(field(a, b, 32, signed=True)),
    "s_absdiff_i32": lambda a, b, _: nonzero(abs(s32(a) - s32(b)) & M32),
    "s_lshl1_add_u32": lambda a, b, _: (((a << 1) + b) & M32, int((a << 1) + b > M32)),
    "s_lshl4_add_u32": lambda a, b, _: (((a << 4) + b) & M32, int((a << 4) + b > M32)),
    "s_pack_ll_b32_b16": lambda a, b, _: (a & 0xFFFF | b << 16 & M32, None),
    "s_pack_lh_b32_b16": lambda a, b, _: (a & 0xFFFF | b & 0xFFFF0000, None),
    "s_pack_hh_b32_b16": lambda a, b, _: (a >> 16 | b & 0xFFFF0000, None),
}
BINARY_64: dict[str, Binary] = {
    "s_cselect_b64": lambda a, b, c: (a if c else b, None),
    "s_and_b64": lambda a, b, _: nonzero(a & b),
    "s_or_b64": lambda a, b, _: nonzero(a | b),
    "s_xor_b64": lambda a, b, _: nonzero(a ^ b),
    "s_andn2_b64": lambda a, b, _: nonzero(a & ~b & M64),
    "s_orn2_b64": lambda a, b, _: nonzero((a | ~b) & M64),
    "s_nand_b64": lambda a, b, _: nonzero(~(a & b) & M64),
    "s_nor_b64": lambda a, b, _: nonzero(~(a | b) & M64),
    "s_xnor_b64": lambda a, b, _: nonzero(~(a ^ b) & M64),
}
# The second operand has 32 bits.
SHIFT_64: dict[str, Binary] = {
    "s_lshl_b64": lambda a, b, _: nonzero(a << (b & 63) & M64),
    "s_lshr_b64": lambda a, b, _: nonzero(a >> (b & 63)),
    "s_ashr_i64": lambda a, b, _: nonzero(s64(a) >> (b & 63) & M64),
    "s_bfe_u64": lambda a, b, _: nonzero(field(a, b, 64, signed=False)),
    "s_bfe_i64": lambda a, b, _: nonzero(field(a, b, 64, signed=True)),
}
Unary = Callable[[int], Result]
UNARY_32: dict[str, Unary] = {
    "s_mov_b32": lambda a: (a, None),
    "s_not_b32": lambda a: nonzero(~a & M32),
    "s_wqm_b32": lambda a: nonzero(quads(a, 32, whole=True)),
    "s_quadmask_b32": lambda a: nonzero(quads(a, 32, whole=False)),
    "s_brev_b32": lambda a: (reverse(a, 32), None),
    "s_bcnt0_i32_b32": lambda a: nonzero(32 - a.bit_count()),
    "s_bcnt1_i32_b32": lambda a: nonzero(a.bit_count()),
    "s_ff0_i32_b32": lambda a: (first_one(~a & M32), None),
    "s_ff1_i32_b32": lambda a: (first_one(a), None),
    "s_flbit_i32_b32": lambda a: (leading_zeros(a, 32), None),
    "s_flbit_i32": lambda a: (leading_signs(a, 32), None),
    "s_sext_i32_i8": lambda a: ((a & 255) - ((a & 128) << 1) & M32, None),
    "s_sext_i32_i16": lambda a: ((a & 0xFFFF) - ((a & 0x8000) << 1) & M32, None),
    "s_abs_i32": lambda a: nonzero(abs(s32(a)) & M32),
}
# From 64 bits to the given number of result bits.
UNARY_64: dict[str, tuple[int, Unary]] = {
    "s_mov_b64": (64, lambda a: (a, None)),
    "s_not_b64": (64, lambda a: nonzero(~a & M64)),
    "s_wqm_b64": (64, lambda a: nonzero(quads(a, 64, whole=True))),
    "s_brev_b64": (64, lambda a: (reverse(a, 64), None)),
    "s_bcnt0_i32_b64": (32, lambda a: nonzero(64 - a.bit_count())),
    "s_bcnt1_i32_b64": (32, lambda a: nonzero(a.bit_count())),
    "s_ff0_i32_b64": (32, lambda a: (first_one(~a & M64), None)),
    "s_ff1_i32_b64": (32, lambda a: (first_one(a), None)),
    "s_flbit_i32_b64": (32, lambda a: (leading_zeros(a, 64), None)),
    "s_flbit_i32_i64": (32, lambda a: (leading_signs(a, 64), None)),
}
Compare = Callable[[int, int], bool]
COMPARE: dict[str, Compare] = {
    "s_cmp_eq_i32": lambda a, b: a == b,
    "s_cmp_lg_i32": lambda a, b: a != b,
    "s_cmp_gt_i32": lambda a, b: s32(a) > s32(b),
    "s_cmp_ge_i32": lambda a, b: s32(a) >= s32(b),
    "s_cmp_lt_i32": lambda a, b: s32(a) < s32(b),
    "s_cmp_le_i32": lambda a, b: s32(a) <= s32(b),
    "s_cmp_gt_u32": lambda a, b: a > b,
    "s_cmp_ge_u32": lambda a, b: a >= b,
    "s_cmp_lt_u32": lambda a, b: a < b,
    "s_cmp_le_u32": lambda a, b: a <= b,
    "s_bitcmp0_b32": lambda a, b: not a >> (b & 31) & 1,
    "s_bitcmp1_b32": lambda a, b: bool(a >> (b & 31) & 1),
}


class Cases:
    """Collects operations and what they must give, and runs them as one kernel."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.expected: list[tuple[str, int, int]] = []

    def add(self, operation: str, a: int, b: int, scc: int, result: Result, width: int) -> None:
        """`operation` reads s[8:9] and s[10:11], writes s[12:13], and begins with SCC = scc."""
        value, scc_after = result
        unchanged = width == 32  # the upper half of the destination then keeps its mark
        self.expected.append(
            (
                f"{operation} of {a:#x}, {b:#x}, scc {scc}",
                value | 0xD00D << 32 if unchanged else value,
                scc if scc_after is None else scc_after,
            )
        )
        self.text.append(f"""
  s_mov_b32 s8, {a & M32:#x}
  s_mov_b32 s9, {a >> 32:#x}
  s_mov_b32 s10, {b & M32:#x}
  s_mov_b32 s11, {b >> 32:#x}
  s_mov_b32 s12, 0
  s_mov_b32 s13, 0xd00d
  s_cmp_eq_u32 s6, {1 - scc}
  {operation}
  s_cselect_b32 s14, 1, 0
  v_mov_b32 v2, s12
  v_mov_b32 v3, s13
  v_mov_b32 v4, s14
  global_store_dwordx3 v1, v[2:4], s[4:5]
  v_add_u32 v1, 12, v1
""")

    def check(self) -> None:
        body = "s_load_dwordx2 s[4:5], s[0:1], 0x0\n s_mov_b32 s6, 0\n v_mov_b32 v1, 0\n"
        body += " s_mov_b64 exec, 1\n s_waitcnt lgkmcnt(0)\n" + "".join(self.text)
        code_object = any_compiler(TARGET).assemble(AsmKernel(body).source(TARGET))
        out = np.zeros((len(self.expected), 3), np.uint32)

        (out,) = launch_kernel(Launch(code_object, "test_kernel", [out]), TARGET)

        got = [(int(low) | int(high) << 32, int(scc)) for low, high, scc in out]
        wrong = [
            f"{name}: got {hex(g[0])}, scc {g[1]}; wanted {hex(value)}, scc {scc}"
            for (name, value, scc), g in zip(self.expected, got, strict=True)
            if g != (value, scc)
        ]
        assert not wrong, "\n".join(wrong[:20])


def pairs(edges: tuple[int, ...]) -> Iterator[tuple[int, int, int]]:
    for a, b in product(edges, edges):
        yield a, b, (a ^ b) & 1


def test_32_bit_operations_give_the_formulas_value_and_scc() -> None:
    cases = Cases()

    for name, formula in BINARY_32.items():
        for a, b, scc in pairs(EDGES_32):
            cases.add(f"{name} s12, s8, s10", a, b, scc, formula(a, b, scc), 32)

    cases.check()


def test_64_bit_operations_give_the_formulas_value_and_scc() -> None:
    cases = Cases()

    for name, formula in BINARY_64.items():
        for a, b, scc in pairs(EDGES_64[2:]):
            operation = f"{name} s[12:13], s[8:9], s[10:11]"
            cases.add(operation, a, b, scc, formula(a, b, scc), 64)
    for name, formula in SHIFT_64.items():
        for a, b in product(EDGES_64, (0, 1, 31, 32, 63, 64, 0x00080004, 0x00400000, 0x00300020)):
            cases.add(f"{name} s[12:13], s[8:9], s10", a, b, 0, formula(a, b, 0), 64)

    cases.check()


def test_unary_operations_give_the_formulas_value_and_scc() -> None:
    cases = Cases()

    for name, formula in UNARY_32.items():
        for a in (*EDGES_32, 0x80, 0x8000, 0x0F000010):
            cases.add(f"{name} s12, s8", a, 0, a & 1, formula(a), 32)
    for name, (width, formula) in UNARY_64.items():
        destination = "s[12:13]" if width == 64 else "s12"
        for a in EDGES_64:
            cases.add(f"{name} {destination}, s[8:9]", a, 0, a & 1, formula(a), width)

    cases.check()


def test_comparisons_set_scc() -> None:
    cases = Cases()

    for name, formula in COMPARE.items():
        for a, b, scc in pairs(EDGES_32):
            cases.add(f"{name} s8, s10", a, b, scc, (0, int(formula(a, b))), 32)
    for a, b, scc in pairs(EDGES_64):
        cases.add("s_cmp_eq_u64 s[8:9], s[10:11]", a, b, scc, (0, int(a == b)), 32)
        cases.add("s_cmp_lg_u64 s[8:9], s[10:11]", a, b, scc, (0, int(a != b)), 32)

    cases.check()


def test_inline_constants_and_literals_are_operands() -> None:
    cases = Cases()
    constants = {"64": 64, "-1": M32, "-16": 0xFFFFFFF0, "0.5": 0x3F000000, "-4.0": 0xC0800000}
    constants |= {"0x12345678": 0x12345678, "src_scc": 1}

    for text, value in constants.items():
        cases.add(f"s_mov_b32 s12, {text}", 0, 0, 1, (value, None), 32)
    cases.add("s_mov_b64 s[12:13], -1", 0, 0, 0, (M64, None), 64)
    cases.add("s_mov_b64 s[12:13], 1.0", 0, 0, 0, (0x3FF0000000000000, None), 64)
    cases.add("s_mov_b64 s[12:13], 0x80001234", 0, 0, 0, (0x80001234, None), 64)

    cases.check()


def test_immediate_forms() -> None:
    cases = Cases()

    for a in EDGES_32:
        start = f"s_mov_b32 s12, {a:#x}\n s_cmp_eq_u32 s6, 1\n "
        cases.add(start + "s_movk_i32 s12, -5", a, 0, 0, (M32 - 4, None), 32)
        cases.add(start + "s_cmovk_i32 s12, 7", a, 0, 0, (a, None), 32)
        cases.add(
            start + "s_addk_i32 s12, -3", a, 0, 0, ((a - 3) & M32, signed_overflow(s32(a) - 3)), 32
        )
        cases.add(start + "s_mulk_i32 s12, -3", a, 0, 0, (a * -3 & M32, None), 32)
        cases.add(start + "s_cmpk_lt_i32 s12, -1", a, 0, 0, (a, int(s32(a) < -1)), 32)
        cases.add(start + "s_cmpk_gt_u32 s12, 0xfff0", a, 0, 0, (a, int(a > 0xFFF0)), 32)
        cases.add(start + "s_bitset1_b32 s12, 5", a, 0, 0, (a | 32, None), 32)
        cases.add(start + "s_bitset0_b32 s12, 31", a, 0, 0, (a & 0x7FFFFFFF, None), 32)

    cases.check()


def test_exec_is_saved_and_combined() -> None:
    restore = "\n s_mov_b64 exec, 1"
    cases = Cases()

    formulas: dict[str, Callable[[int, int], int]] = {
        "and": lambda a, e: a & e,
        "or": lambda a, e: a | e,
        "xor": lambda a, e: a ^ e,
        "andn2": lambda a, e: a & ~e & M64,
        "andn1": lambda a, e: ~a & e,
    }

    for name, formula in formulas.items():
        for a in (0, 1, M64, 0xFF00FF00FF00FF00):
            after = formula(a, 1)
            text = f"s_{name}_saveexec_b64 s[16:17], s[8:9]\n s_mov_b64 s[12:13], exec" + restore
            cases.add(text, a, 0, 0, (after, int(after != 0)), 64)

    cases.check()
