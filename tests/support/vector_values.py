"""Input records for vector instructions: edge values against each other, then random bits."""

import itertools

import numpy as np

from support.vector_kernel import STANDARD_INPUTS, Words

EDGES_32 = (
    0, 1, 2, 3, 15, 16, 31, 32, 33, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFF,
    0x800000, 0xFFFFFF, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFF8000, 0xFFFFFFFE, 0xFFFFFFFF,
)  # fmt: skip
# ±0, ±1, ±inf, quiet and signaling NaN, denormals, the limits, ties, and ordinary numbers.
EDGES_F32 = (
    0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001,
    0x00000001, 0x80000001, 0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x3F000000, 0x3FC00000,
    0x40200000, 0xC0200000, 0x40490FDB, 0x4B000001, 0x4F000000, 0xCF000000, 0x33800000, 0x5F800000,
)  # fmt: skip
EDGES_F16 = (
    0x0000, 0x8000, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7E00, 0x7C01, 0x0001, 0x8001, 0x03FF, 0x0400,
    0x7BFF, 0xFBFF, 0x3800, 0x3E00, 0x4100, 0xC100, 0x4248, 0x6401, 0x7800, 0x1400,
)  # fmt: skip
EDGES_F64 = (
    0x0000000000000000, 0x8000000000000000, 0x3FF0000000000000, 0xBFF0000000000000,
    0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 0x7FF0000000000001,
    0x0000000000000001, 0x8000000000000001, 0x000FFFFFFFFFFFFF, 0x0010000000000000,
    0x7FEFFFFFFFFFFFFF, 0x3FE0000000000000, 0x3FF8000000000000, 0x4004000000000000,
    0x400921FB54442D18, 0x41DFFFFFFFC00000, 0x41E0000000000000, 0xC1E0000000000000,
    0x41EFFFFFFFE00000, 0x4330000000000001,
)  # fmt: skip


def records(edges: tuple[int, ...], *, width: int = 32, random: int = 320, seed: int = 1) -> Words:
    """Records of a, b, c, d: pairs of edges with a third one walking, then random words.

    Values of up to 32 bits sit in the low dword; bits above `width` are random, to be ignored.
    """
    generator = np.random.default_rng(seed)
    pairs = list(itertools.product(edges, edges))
    count = len(pairs) + random
    words = generator.integers(0, 1 << 32, (count, STANDARD_INPUTS), dtype=np.uint64)
    mask = (1 << width) - 1
    for k, (a, b) in enumerate(pairs):
        c, d = edges[(k * 7 + 3) % len(edges)], edges[(k * 5 + 1) % len(edges)]
        for place, value in enumerate((a, b, c, d)):
            if width == 64:
                words[k, 2 * place] = value & 0xFFFFFFFF
                words[k, 2 * place + 1] = value >> 32
            else:
                words[k, 2 * place] = (int(words[k, 2 * place]) & ~mask) | value
    if width == 64:
        _give_moderate_exponents(words[len(pairs) :], generator)
    return words.astype(np.uint32)


def float_records(
    edges: tuple[int, ...], exponent: tuple[int, int, int], *, random: int = 320
) -> Words:
    """Like records, but with exponents close to 1 in random numbers: sums and ratios are finite.

    Args:
        edges: patterns of one format.
        exponent: its width, the lowest bit of its exponent, and its bias.
        random: how many.
    """
    width, low, bias = exponent
    words = records(edges, width=width, random=random)
    generator = np.random.default_rng(2)
    tail = words[len(edges) ** 2 :]
    field = (1 << (width - 1 - low)) - 1
    for place in range(0, STANDARD_INPUTS, 2):
        chosen = generator.integers(bias - 6, bias + 7, len(tail)).astype(np.uint32)
        tail[:, place] = (tail[:, place] & ~np.uint32(field << low)) | (chosen << low)
    return words


def _give_moderate_exponents(tail: np.ndarray, generator: np.random.Generator) -> None:
    for place in range(1, STANDARD_INPUTS, 2):
        exponent = generator.integers(1023 - 20, 1023 + 20, len(tail)).astype(np.uint64)
        tail[:, place] = (tail[:, place] & 0x800FFFFF) | exponent << 20
