"""Destinations that are sources as well, with all lanes active and with some."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from support.vector_kernel import LANES, STANDARD_OUTPUTS, Operation, Words, run_operations
from support.vector_values import EDGES_F32, EDGES_F64, records

Wide = npt.NDArray[np.uint64]
Pair = tuple[Words, Words]

EXEC = 0xFFFF0F0F_12345678
SET_EXEC = f"s_mov_b32 exec_lo, {EXEC & 0xFFFFFFFF:#x}\n  s_mov_b32 exec_hi, {EXEC >> 32:#x}\n  "
MASK = 0x0F0F3333_5555FF00
SET_MASKS = (
    f"s_mov_b32 s20, {MASK & 0xFFFFFFFF:#x}\n  s_mov_b32 s21, {MASK >> 32:#x}\n"
    "  s_mov_b64 vcc, s[20:21]\n  "
)
EDGES = (0, 1, 2, 31, 63, 64, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
INTEGERS = records(EDGES, random=2 * LANES)
SINGLES = records(EDGES_F32, random=LANES)
DOUBLES = records(EDGES_F64, random=LANES, width=64)
BITS = np.array([MASK >> lane & 1 for lane in range(LANES)], np.uint32)


def wide(words: Words, first: int) -> Wide:
    return words[:, first] | words[:, first + 1].astype(np.uint64) << np.uint64(32)


def pair(values: Wide) -> Pair:
    return values.astype(np.uint32), (values >> np.uint64(32)).astype(np.uint32)


def mask_of(words: Words) -> Words:
    return np.resize(BITS, len(words))


def carried(words: Words) -> Pair:
    total = words[:, 0].astype(np.uint64) + words[:, 2] + mask_of(words)
    return total.astype(np.uint32), words[:, 1]


def borrowed(words: Words) -> Pair:
    return words[:, 0] - words[:, 2] - mask_of(words), words[:, 1]


def chosen(words: Words) -> Pair:
    return np.where(mask_of(words) != 0, words[:, 2], words[:, 0]), words[:, 1]


def scalar_shift(words: Words) -> Pair:
    return pair((wide(words, 0) << np.uint64(3)) + np.uint64(MASK))


# What becomes of v8 and v9.
ON_INTEGERS: dict[str, Callable[[Words], Pair]] = {
    "v_lshl_add_u64 {aa}, {aa}, 3, {bb}": lambda w: pair((wide(w, 0) << np.uint64(3)) + wide(w, 2)),
    "v_lshl_add_u64 {aa}, {bb}, 2, {aa}": lambda w: pair((wide(w, 2) << np.uint64(2)) + wide(w, 0)),
    "v_lshl_add_u64 {aa}, {aa}, 3, {m}": scalar_shift,
    "v_lshl_add_u64 {aa}, {bb}, {a}, {cc}": lambda w: pair(
        (wide(w, 2) << (w[:, 0] & np.uint32(7)).astype(np.uint64)) + wide(w, 4)
    ),
    "v_lshlrev_b64 {aa}, {a}, {bb}": lambda w: pair(wide(w, 2) << (np.uint64(63) & w[:, 0])),
    "v_lshrrev_b64 {aa}, v9, {bb}": lambda w: pair(wide(w, 2) >> (np.uint64(63) & w[:, 1])),
    "v_ashrrev_i64 {aa}, {b}, {aa}": lambda w: pair(
        (wide(w, 0).view(np.int64) >> (w[:, 2] & np.uint32(63)).astype(np.int64)).view(np.uint64)
    ),
    "v_addc_co_u32 {a}, vcc, {a}, {b}, vcc": carried,
    "v_subb_co_u32 {a}, vcc, {a}, {b}, vcc": borrowed,
    "v_cndmask_b32 {a}, {a}, {b}, vcc": chosen,
    "v_add_u32_sdwa {a}, {a}, {b} dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 "
    "src1_sel:DWORD": lambda w: ((w[:, 0] >> 8 & 255) + w[:, 2], w[:, 1]),
    "v_add_u32_sdwa {a}, {b}, {a} dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD "
    "src1_sel:WORD_1": lambda w: (w[:, 2] + (w[:, 0] >> 16), w[:, 1]),
}


def singles(words: Words, register: int) -> npt.NDArray[np.float32]:
    return np.ascontiguousarray(words[:, register]).view(np.float32)


# What the low and the high sum are made of.
ON_SINGLES: dict[str, tuple[tuple[int, int], tuple[int, int]]] = {
    "v_pk_add_f32 {aa}, {aa}, {bb}": ((0, 2), (1, 3)),
    "v_pk_add_f32 {aa}, {aa}, {bb} op_sel_hi:[0,1]": ((0, 2), (0, 3)),
    "v_pk_add_f32 {aa}, {aa}, {bb} op_sel:[1,0]": ((1, 2), (1, 3)),
    "v_pk_add_f32 {aa}, {aa}, {bb} op_sel:[1,0] op_sel_hi:[0,1]": ((1, 2), (0, 3)),
    "v_pk_add_f32 {aa}, {bb}, {aa} op_sel:[0,1] op_sel_hi:[1,0]": ((2, 1), (3, 0)),
}
# Into another register first, then over a source.
ON_DOUBLES = (
    "v_fma_f64 {dd}, {aa}, {bb}, {cc}\n  v_fma_f64 {aa}, {aa}, {bb}, {cc}",
    "v_fma_f64 {dd}, {bb}, {cc}, {aa}\n  v_fmac_f64 {aa}, {bb}, {cc}",
    "v_add_f64 {dd}, s[20:21], -{aa}\n  v_add_f64 {aa}, s[20:21], -{aa}",
)
FIRST = STANDARD_OUTPUTS.index("v8")


@pytest.fixture(scope="module")
def results() -> dict[str, tuple[Words, Words]]:
    """Outputs with all lanes active, and with those of EXEC."""
    cases = [
        *((text, INTEGERS, 0) for text in ON_INTEGERS),
        *((text, SINGLES, 32) for text in ON_SINGLES),
        *((text, DOUBLES, 64) for text in ON_DOUBLES),
    ]
    operations = [
        Operation(SET_MASKS + before + text, nan_bits=bits)
        for text, _, bits in cases
        for before in ("", SET_EXEC)
    ]
    inputs = [words for _, words, _ in cases for _ in range(2)]
    outputs = run_operations("gfx942", operations, inputs)
    return {text: (outputs[2 * k], outputs[2 * k + 1]) for k, (text, _, _) in enumerate(cases)}


def active(words: Words) -> npt.NDArray[np.bool_]:
    return np.resize([EXEC >> lane & 1 for lane in range(LANES)], len(words)).astype(bool)


def assert_written(outputs: tuple[Words, Words], before: Words, wanted: Pair) -> None:
    """The registers v8 and v9; those of lanes that EXEC leaves out are as before."""
    everywhere, partly = (output[:, FIRST : FIRST + 2] for output in outputs)
    after = np.stack(wanted, axis=1)
    np.testing.assert_array_equal(everywhere, after)
    np.testing.assert_array_equal(partly, np.where(active(before)[:, None], after, before[:, :2]))


@pytest.mark.parametrize("text", ON_INTEGERS)
def test_an_integer_instruction_may_overwrite_its_source(
    results: dict[str, tuple[Words, Words]], text: str
) -> None:
    assert_written(results[text], INTEGERS, ON_INTEGERS[text](INTEGERS))


@pytest.mark.parametrize("text", ON_SINGLES)
def test_a_pair_of_sums_may_overwrite_its_sources(
    results: dict[str, tuple[Words, Words]], text: str
) -> None:
    with np.errstate(all="ignore"):
        low, high = (singles(SINGLES, a) + singles(SINGLES, b) for a, b in ON_SINGLES[text])

    after = np.stack([low, high], axis=1)
    before = np.ascontiguousarray(SINGLES[:, :2]).view(np.float32)
    everywhere, partly = (
        np.ascontiguousarray(output[:, FIRST : FIRST + 2]).view(np.float32)
        for output in results[text]
    )
    np.testing.assert_array_equal(everywhere, after)
    np.testing.assert_array_equal(partly, np.where(active(SINGLES)[:, None], after, before))


@pytest.mark.parametrize("text", ON_DOUBLES)
def test_a_double_may_overwrite_its_source(
    results: dict[str, tuple[Words, Words]], text: str
) -> None:
    before = wide(DOUBLES, 0).view(np.float64)
    for output, written in zip(results[text], (np.True_, active(DOUBLES)), strict=True):
        elsewhere = wide(output, STANDARD_OUTPUTS.index("v14")).view(np.float64)
        over_source = wide(output, FIRST).view(np.float64)

        np.testing.assert_array_equal(over_source, np.where(written, elsewhere, before))
