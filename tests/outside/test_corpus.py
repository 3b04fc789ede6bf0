"""One source, two compilers, two targets: results equal each other and numpy's, kernel by kernel.

The references are numpy's own arithmetic and the layouts of matrices as AMD documents them.
"""

from __future__ import annotations

import numpy as np
import pytest

from outside.corpus import (
    ALL,
    ARGUMENTS,
    F16A,
    F16B,
    F16C,
    F32A,
    F32B,
    F32C,
    F64M,
    FINITE,
    KERNELS,
    U32A,
    U32B,
    U32C,
    Array,
    float8_table,
    operands,
    packed,
    results,
    reversed_bits,
    run,
    same,
    toward_zero,
)
from support.compile_kernel import Compiler

Built = tuple[Compiler, dict[str, list[Array]]]


@pytest.fixture(scope="module", params=ALL, ids=lambda one: f"{one.name}-{one.target}")
def built(request: pytest.FixtureRequest) -> Built:
    """The buffers of each kernel after its launch, for one compiler and target."""
    return request.param, run(request.param)


def out_of(built: Built, kernel: str) -> Array:
    return built[1][kernel][-1]


def test_compilers_and_targets_agree_on_every_bit() -> None:
    if len(ALL) < 2:
        pytest.skip("one compiler and target only: clang-19 or `pip install ziglang`")
    first = run(ALL[0])
    for other in ALL[1:]:
        results = run(other)
        differing = {
            name
            for name in KERNELS
            if any(
                a.tobytes() != b.tobytes() for a, b in zip(first[name], results[name], strict=True)
            )
        }
        # fp8 is another format on gfx950.
        assert differing == ({"float8", "matrices_fp8"} if other.target == "gfx950" else set())


def test_integers(built: Built) -> None:
    x, y = U32A.astype(np.int64), U32B.astype(np.int64)
    sx, sy = U32A.view(np.int32).astype(np.int64), U32B.view(np.int32).astype(np.int64)
    mask, shift = 0xFFFFFFFF, y & 31
    special = (sy == 0) | ((sx == -(2**31)) & (sy == -1))
    divisor = np.where(special, 1, sy)
    quotient = np.where(special, 0, np.sign(sx) * np.sign(divisor) * (abs(sx) // abs(divisor)))
    remainder = np.where(special, 0, sx - quotient * divisor)
    lengths = np.array([int(v).bit_length() for v in x])
    trailing = np.array([32 if v == 0 else (int(v) & -int(v)).bit_length() - 1 for v in x])
    ones = np.array([bin(int(v)).count("1") for v in x])
    wide = [((int(a) << 32 | int(b)) * (int(b) << 32 | int(a)) + 0x123456789ABCDEF) % 2**64
            for a, b in zip(x, y, strict=True)]  # fmt: skip
    long_division = [
        divmod(int(a) << 32 | int(b), int(b) << 7 | 1) for a, b in zip(x, y, strict=True)
    ]

    def low(values: list[int]) -> Array:
        return np.array([v & mask for v in values], np.uint64)

    wanted = [
        (x + y) & mask, (x - y) & mask, low([int(a) * int(b) for a, b in zip(x, y, strict=True)]),
        (sx * sy >> 32) & mask, low([int(a) * int(b) >> 32 for a, b in zip(x, y, strict=True)]),
        quotient & mask, remainder & mask,
        np.where(y == 0, 0, x // np.where(y == 0, 1, y)),
        np.where(y == 0, 0, x % np.where(y == 0, 1, y)),
        (x << shift) & mask, x >> shift, (sx >> shift) & mask,
        np.minimum(sx, sy) & mask, np.maximum(x, y), 32 - lengths, trailing, ones,
        reversed_bits(U32A, 32), U32A.byteswap(), ((x << shift) | (x >> (32 - shift))) & mask,
        x >> 5 & 0x1FF, abs(sx) & mask, (x & y) | (~x & 0x0F0F0F0F), x ^ y ^ 0x55AA55AA,
        low(wide), low([v >> 32 for v in wide]),
        low([q for q, _ in long_division]), low([r >> 32 for _, r in long_division]),
    ]  # fmt: skip

    assert same(out_of(built, "integers"), wanted) == []


def test_floats(built: Built) -> None:
    x, y, z = F32A, F32B, F32C
    with np.errstate(all="ignore"):
        # Products fit into 53 bits.
        fused = (x.astype(np.float64) * y + z).astype(np.float32)
        mantissa, exponent = np.frexp(x)
        exponent = np.where(np.isfinite(x), exponent, 0).astype(np.int64)
        comparisons = (x < y) | (x <= y) * 2 | (x == y) * 4 | (x != y) * 8 | (x >= y) * 16
        wanted = [
            x + y, x - y, x * y, fused, x / y, np.sqrt(np.abs(x)),
            np.minimum(x, y), np.maximum(x, y), np.floor(x), np.ceil(x),
            np.trunc(x), np.rint(x), np.copysign(x, y),
            np.where(np.isfinite(x), np.minimum(x - np.floor(x), np.float32(1 - 2.0**-24)), np.nan)
            .astype(np.float32),
            np.median([x, y, z], axis=0), comparisons,
            np.isnan(x * np.float32(0)) | np.isinf(x) * 2, mantissa, exponent & 0xFFFFFFFF,
            np.ldexp(x, np.arange(64) - 32),
        ]  # fmt: skip
        approximate = [
            1 / y,
            1 / np.sqrt(np.abs(y)),
            np.exp2(y * np.float32(0.01)),
            np.log2(np.abs(y)),
        ]
    out = out_of(built, "floats")

    assert same(out, [np.asarray(each) for each in wanted]) == []
    found = out[20:].view(np.float32)
    assert (np.abs(found - approximate) <= 2e-6 * np.abs(approximate) + 1e-6).all()


def test_halves(built: Built) -> None:
    x, y, z = F16A, F16B, F16C

    def fused(a: Array, b: Array, c: Array) -> Array:
        return (a.astype(np.float64) * b + c).astype(np.float16)

    with np.errstate(all="ignore"):
        wanted = [
            x + y, x - y, x * y, fused(x, y, z), x / y, np.sqrt(np.abs(x)),
            np.minimum(x, y), np.maximum(x, y), np.rint(x),
            packed(x + y, y + z), packed(x * y, y * z), packed(fused(x, y, z), fused(y, z, x)),
            packed(np.maximum(x, y), np.maximum(y, z)),
            (x.astype(np.float64) * y + z).astype(np.float32),
        ]  # fmt: skip

    assert same(out_of(built, "halves"), wanted) == []


def test_conversions(built: Built) -> None:
    x, n = FINITE, U32A.view(np.int32)
    d = x.astype(np.float64) * 1.0000001
    wide = n.astype(np.int64) << 20 | 0x12345
    with np.errstate(all="ignore"):
        half = x.astype(np.float16)
        clamped = np.clip(np.array([x * np.float32(0.0001), -x * np.float32(0.0001)]), -1, 1)
        norm = np.rint(clamped * np.float32(32767)).astype(np.int16)
        wanted = [
            x.astype(np.int32).view(np.uint32), np.abs(x).astype(np.uint32), half,
            half.astype(np.float32), n.astype(np.float32), U32A.astype(np.float32),
            wide.astype(np.float32), x.astype(np.int64) & 0xFFFFFFFF,
            ((x * np.float32(65536)).astype(np.int64) >> 16) & 0xFFFFFFFF,
            d.view(np.uint64) & 0xFFFFFFFF, d.view(np.uint64) >> 32, d.astype(np.float32),
            d.astype(np.int32).view(np.uint32), (n / 3.0).astype(np.float32),
            (U32A & 255).astype(np.float32), (U32A >> 16 & 255).astype(np.float32),
            n.astype(np.int16).astype(np.int64) & 0xFFFFFFFF, U32A >> 8 & 0xFFFF,
            n.astype(np.int8).astype(np.int64) & 0xFFFFFFFF,
            packed(toward_zero(x), toward_zero(x * np.float32(3))), packed(norm[0], norm[1]),
        ]  # fmt: skip

    assert same(out_of(built, "conversions"), wanted) == []


def test_float8_is_fnuz_on_gfx942_and_ocp_on_gfx950(built: Built) -> None:
    fnuz = built[0].target == "gfx942"
    fp8, bf8 = (float8_table(bits, fnuz=fnuz) for bits in (4, 5))
    x, codes = FINITE / 4, ARGUMENTS["float8"][1]
    out = out_of(built, "float8")

    for row, table in ((0, fp8), (1, bf8)):
        finite = table[np.isfinite(table)]
        for shift, sign in ((0, 1), (8, -1)):
            found = table[out[row] >> shift & 255]
            inside = np.abs(x) <= finite.max()
            nearest = np.abs(finite[None, :] - sign * x[:, None]).min(1)
            assert (np.abs(found - sign * x)[inside] == nearest[inside]).all()
    wanted = [fp8[codes & 255], bf8[codes >> 8 & 255], fp8[codes >> 24]]
    assert same(out[2:], wanted) == []


@pytest.mark.parametrize("kind", ["bf16", "fp8", "f32"])
def test_matrices(built: Built, kind: str) -> None:
    a, b = ARGUMENTS[f"matrices_{kind}"][:2]
    if kind == "bf16":
        a, b = ((x.astype(np.uint32) << 16).view(np.float32) for x in (a, b))
    if kind == "fp8":
        table = float8_table(4, fnuz=built[0].target == "gfx942")
        a, b = table[a], table[b]
        assert np.isfinite(a).all()
    out = out_of(built, f"matrices_{kind}")
    for side, found in ((16, out[:4]), (32, out[4:])):
        left, right = operands(a, side), operands(b, side)
        error = np.abs(results(found, side) - left @ right.T)
        assert (error <= 2.0**-20 * (np.abs(left) @ np.abs(right).T)).all()


def test_matrices_of_doubles(built: Built) -> None:
    a, b = F64M
    out = out_of(built, "matrices_f64")
    lane, register = np.meshgrid(np.arange(64), np.arange(4))
    found = np.full((16, 16), np.nan)
    found[lane // 16 + 4 * register, lane % 16] = out[:4]
    assert np.allclose(found, operands(a, 16) @ operands(b, 16).T, rtol=0, atol=1e-14)
    # four products of 4 x 4: lane 16 k + 4 block + row
    left, right = (x.reshape(4, 4, 4).transpose(1, 2, 0) for x in (a, b))
    blocks = np.einsum("bik,bjk->bij", left, right)
    found = out[4].reshape(4, 4, 4).transpose(1, 0, 2)  # lane 16 row + 4 block + column
    assert np.allclose(found, blocks, rtol=0, atol=1e-14)


def test_places(built: Built) -> None:
    out = out_of(built, "places").reshape(40, 2, 64)
    hardware, xcc = out[:, 0], out[:, 1]

    assert (hardware == hardware[:, :1]).all()  # one place a wave
    assert (xcc[:, 0] == np.arange(40) % 8).all()  # workgroups go around the dies
    assert len({(int(h), int(x)) for h, x in zip(hardware[:, 0], xcc[:, 0], strict=True)}) == 40
    assert ((hardware[:, 0] >> 4 & 3) < 4).all()
    assert ((hardware[:, 0] & 15) < 8).all()


def test_votes(built: Built) -> None:
    x, lane = U32A.astype(np.int64), np.arange(64)
    odd = sum(1 << int(k) for k in lane[x % 2 == 1])
    row, place = lane // 16 * 16, lane % 16
    permuted = np.zeros(64, np.int64)
    permuted[(lane + 5) % 64] = x
    twos = (x & 2) != 0
    wanted = [
        np.full(64, odd & 0xFFFFFFFF), np.full(64, odd >> 32), lane,
        np.array([bin(odd & ((1 << int(k)) - 1)).count("1") for k in lane]),
        np.full(64, x[0]), np.full(64, x[37]), x[(lane + 5) % 64], permuted, x[lane ^ 1],
        np.where(place == 0, 7, x[np.maximum(lane - 1, 0)]),
        np.where(place == 15, 0, x[np.minimum(lane + 1, 63)]), x[row + 15 - place], x[lane ^ 3],
        np.where(twos, (x[twos][0] + twos.sum()) & 0xFFFFFFFF, 0),
    ]  # fmt: skip

    assert same(out_of(built, "votes"), wanted) == []


def test_dots(built: Built) -> None:
    x, y, z = U32A, U32B, U32C.astype(np.int64)

    def products(width: str, shift: int = 0) -> Array:
        left, right = (each.view(width).reshape(64, -1).astype(np.int64) for each in (x, y))
        if shift:  # nibbles: as they are, or with their sign
            left, right = (np.stack([v << 4, v], 2).reshape(64, -1) for v in (left, right))
            left, right = ((v.astype(f"{width[0]}1") >> 4).astype(np.int64) for v in (left, right))
        return (left * right).sum(1)

    wanted = [
        products("i1") + z, products("u1") + z, products("i1", 4) + z, products("u1", 4) + z,
        products("i2") + z, products("u2") + z,
    ]  # fmt: skip
    assert same(out_of(built, "dots"), [each & 0xFFFFFFFF for each in wanted]) == []
    a, b = F16A.astype(np.float64), F16B.astype(np.float64)
    exact = a * b + b * F16C + F32C
    error = np.abs(out_of(built, "dots_of_halves")[0] - exact)
    assert (error <= 2.0**-22 * (np.abs(a * b) + np.abs(b * F16C) + np.abs(F32C))).all()


def test_buffers(built: Built) -> None:
    lane = np.arange(64)
    words = np.where(lane < 50, U32B, 0)  # 200 bytes of 256
    half_words, bytes_ = words.view(np.uint16), words.view(np.uint8)
    padded = np.concatenate([words, np.zeros(256, np.uint32)])

    wanted = [
        words, padded[lane + 32], np.concatenate([bytes_, np.zeros(256, np.uint8)])[lane * 3],
        half_words[lane], *(padded[lane * 4 + k] for k in range(4)),
    ]  # fmt: skip
    stored = U32B.copy()
    stored[lane[:25] * 2] = lane[:25] + 1000

    assert same(out_of(built, "buffers"), wanted) == []
    assert (built[1]["buffers"][0] == stored).all()


def test_shared_vectors(built: Built) -> None:
    x, lane = U32A, np.arange(64)
    sums = np.array(
        [
            int((x[::2] & 255).sum()), 100 + int((x[1::2] & 255).sum()), int(x.max()),
            300 | 0xFFFFFFFF,
        ]
    )  # fmt: skip
    wanted = [
        *((x[::-1].astype(np.int64) + k) & 0xFFFFFFFF for k in range(4)),
        x.view(np.uint8)[255 - lane],
        x.view(np.int8)[lane].astype(np.int64) & 0xFFFFFFFF, x.view(np.uint16)[(lane + 64) % 128],
        sums[lane & 3],
    ]  # fmt: skip

    assert same(out_of(built, "shared_vectors"), wanted) == []


def test_generic_addresses(built: Built) -> None:
    x, lane = U32A, np.arange(64)
    where = lane % 3
    shared, own = lane * 3, lane * 5 + lane % 4
    wanted = [
        np.where(where == 0, x, np.where(where == 1, shared, own)),
        np.where(where == 1, lane + 7, shared), np.where(where == 2, lane + 7, own),
    ]  # fmt: skip

    assert same(out_of(built, "generic"), wanted) == []
    assert (built[1]["generic"][0] == np.where(where == 0, lane + 7, x)).all()
