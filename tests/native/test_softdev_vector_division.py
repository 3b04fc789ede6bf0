"""The division sequences of compilers give the correctly rounded quotient, denormals included."""

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from support.exact_float import F32, F64, INF, NAN, NEGATIVE_INF, Format
from support.vector_kernel import Operation, Words, run_operations
from support.vector_values import EDGES_F32, EDGES_F64, float_records, records

# a / b into d, as LLVM writes it.
DIVIDE_F32 = """v_div_scale_f32 v20, s[20:21], {b}, {b}, {a}
  v_rcp_f32 v21, v20
  v_div_scale_f32 v22, vcc, {a}, {b}, {a}
  v_fma_f32 v23, -v20, v21, 1.0
  v_fmac_f32 v21, v23, v21
  v_mul_f32 v23, v22, v21
  v_fma_f32 v24, -v20, v23, v22
  v_fmac_f32 v23, v24, v21
  v_fma_f32 v20, -v20, v23, v22
  v_div_fmas_f32 v20, v20, v21, v23
  v_div_fixup_f32 {d}, v20, {b}, {a}"""
DIVIDE_F64 = """v_div_scale_f64 v[20:21], s[20:21], {bb}, {bb}, {aa}
  v_rcp_f64 v[22:23], v[20:21]
  v_fma_f64 v[24:25], -v[20:21], v[22:23], 1.0
  v_fmac_f64 v[22:23], v[22:23], v[24:25]
  v_fma_f64 v[24:25], -v[20:21], v[22:23], 1.0
  v_fmac_f64 v[22:23], v[22:23], v[24:25]
  v_div_scale_f64 v[24:25], vcc, {aa}, {bb}, {aa}
  v_mul_f64 v[26:27], v[24:25], v[22:23]
  v_fma_f64 v[20:21], -v[20:21], v[26:27], v[24:25]
  v_div_fmas_f64 v[20:21], v[20:21], v[22:23], v[26:27]
  v_div_fixup_f64 {dd}, v[20:21], {bb}, {aa}"""
INPUTS_F32 = np.concatenate([float_records(EDGES_F32, (32, 23, 127)), records((1,))])
INPUTS_F64 = records(EDGES_F64, width=64)


@pytest.fixture(scope="module")
def quotients() -> list[Words]:
    operations = [Operation(DIVIDE_F32), Operation(DIVIDE_F64)]
    return run_operations("gfx942", operations, [INPUTS_F32, INPUTS_F64])


def test_f32_division_is_correctly_rounded(quotients: list[Words]) -> None:
    _compare(F32, INPUTS_F32[:, 0], INPUTS_F32[:, 2], quotients[0][:, 0])


def test_f64_division_is_correctly_rounded(quotients: list[Words]) -> None:
    dividend, divisor = _wide(INPUTS_F64, 0), _wide(INPUTS_F64, 2)

    _compare(F64, dividend, divisor, _wide(quotients[1], 0))


def _wide(words: Words, column: int) -> npt.NDArray[np.uint64]:
    low, high = words[:, column].astype(np.uint64), words[:, column + 1].astype(np.uint64)
    whole: npt.NDArray[np.uint64] = low | high << np.uint64(32)
    return whole


def _compare(
    number: Format, a: npt.NDArray[Any], b: npt.NDArray[Any], got: npt.NDArray[Any]
) -> None:
    for dividend, divisor, quotient in zip(a.tolist(), b.tolist(), got.tolist(), strict=True):
        wanted = _quotient(number, dividend, divisor)
        same = quotient == wanted or (number.is_nan(wanted) and number.is_nan(quotient))
        assert same, f"{dividend:#x} / {divisor:#x}: {quotient:#x}, not {wanted:#x}"


def _quotient(number: Format, a: int, b: int) -> int:
    dividend, divisor = number.value(a), number.value(b)
    sign = (a ^ b) & number.sign_bit
    infinite = (INF, NEGATIVE_INF)
    if NAN in (dividend, divisor) or (dividend in infinite and divisor in infinite):
        return number.nan()
    if dividend == 0 and divisor == 0:
        return number.nan()
    if dividend in infinite or divisor == 0:
        return sign | number.top_exponent << number.fraction_bits
    if divisor in infinite:
        return sign
    assert isinstance(dividend, Fraction)
    assert isinstance(divisor, Fraction)
    return number.round(dividend / divisor, negative_zero=bool(sign))
