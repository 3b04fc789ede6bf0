"""The library of bitsandbytes 0.50.2 for ROCm without PyTorch: less to install."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from outside.quantization import NF4, is_nearest, largest, nibbles, per_block
from outside.running import Outside, Results, need


@pytest.fixture(scope="module", params=[("7.2", "gfx942"), ("7.15", "gfx950")], ids="-".join)
def results(request: pytest.FixtureRequest, outside: Callable[[], Outside], blas: Path) -> Results:
    need("bitsandbytes")
    version, target = request.param
    program = ("bitsandbytes_library.py", version)
    return outside().results(target, *program, LD_LIBRARY_PATH=str(blas))


def test_four_bit_codes_are_the_nearest_and_come_back_exactly(results: Results) -> None:
    x, absmax = results["x"], results["absmax"]
    chosen, scale = NF4[nibbles(results["codes"], len(x))], per_block(absmax, 64, len(x))

    assert (absmax == largest(x, 64)).all()
    assert is_nearest(x / scale, chosen, NF4)
    assert (results["y"] == chosen * scale).all()
    assert (results["half"] == (chosen * scale).astype(np.float16)).all()


def test_a_product_with_a_four_bit_matrix_is_that_of_numpy(results: Results) -> None:
    chosen = results["table"][nibbles(results["weight"], 96 * 256)]
    weight = (chosen * per_block(results["scales"], 64, 96 * 256)).reshape(96, 256)
    row = results["row"].astype(np.float64)

    error = np.abs(results["product"] - weight @ row)

    assert (error <= 2.0**-21 * (np.abs(weight) @ np.abs(row))).all()
