"""How matrices of sparse and scaled instructions lie in registers, by AMD's descriptions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from support.vector_kernel import FIRST_INPUT, LANES, Operation, Words

Matrix = npt.NDArray[np.float64]


def pack(elements: Sequence[Sequence[int]], bits: int) -> Words:
    """Patterns per lane, in order, to dwords per lane."""
    count = -(-len(elements[0]) * bits // 32)
    rows = []
    for lane in elements:
        whole = sum(pattern << (bits * k) for k, pattern in enumerate(lane))
        rows.append([whole >> (32 * k) & 0xFFFFFFFF for k in range(count)])
    return np.array(rows, np.uint32)


def accumulator_place(size: int, row: int, column: int) -> tuple[int, int]:
    """Register and lane of an element of C or D."""
    if size == 32:
        return row % 4 + 4 * (row // 8), column + 32 * (row // 4 % 2)
    return row % 4, column + 16 * (row // 4)


def accumulator_words(values: npt.NDArray[np.uint32]) -> Words:
    """Lay out patterns[row][column]."""
    size = len(values)
    words = np.zeros((LANES, size * size // LANES), np.uint32)
    for row in range(size):
        for column in range(size):
            item, lane = accumulator_place(size, row, column)
            words[lane, item] = values[row, column]
    return words


@dataclass(frozen=True)
class Product:
    """A matrix instruction: its text with {a}, {b} and {d}, and dwords per lane of its operands."""

    text: str
    a: int
    b: int
    d: int
    further: int = 0
    """Dwords behind d, copied to v140 and up: index registers and scales."""


def operation(product: Product) -> Operation:
    """Inputs in the order a, b, d, further; the result is d."""
    text = []
    places = []
    source = FIRST_INPUT
    for first, count in (
        (96, product.a),
        (112, product.b),
        (160, product.d),
        (140, product.further),
    ):
        text += [f"v_mov_b32 v{first + k}, v{source + k}" for k in range(count)]
        places.append(f"v{first}" if count == 1 else f"v[{first}:{first + count - 1}]")
        source += count
    text.append("s_nop 7")
    text.append(product.text.format(a=places[0], b=places[1], d=places[2]))
    inputs = product.a + product.b + product.d + product.further
    outputs = tuple(f"v{160 + k}" for k in range(product.d))
    return Operation("\n  ".join(text).replace("{", "{{").replace("}", "}}"), inputs, outputs)
