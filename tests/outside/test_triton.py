"""Triton 3.9.0 with its own driver, which finds the software device by itself: nothing is set."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from outside.running import TARGETS, Outside, Results, need


@pytest.fixture(scope="module", params=TARGETS)
def results(request: pytest.FixtureRequest, outside: Callable[[], Outside]) -> Results:
    need("triton", "torch")
    runner = outside()
    cache = str(runner.folder / "cache")
    arrays = runner.results(request.param, "triton_kernels.py", TRITON_CACHE_DIR=cache)
    assert arrays["arch"] == request.param
    return arrays


def test_masked_sums_are_exact(results: Results) -> None:
    assert (results["c"] == results["a"] + results["b"]).all()


def test_a_softmax_is_that_of_numpy(results: Results) -> None:
    x = results["x"].astype(np.float64)
    powers = np.exp(x - x.max(1, keepdims=True))

    error = np.abs(results["y"] / (powers / powers.sum(1, keepdims=True)) - 1)

    assert error.max() < 2e-6


@pytest.mark.parametrize("kind", ["fp16", "bf16", "fp8"])
def test_products_of_matrices_are_those_of_numpy(results: Results, kind: str) -> None:
    left, right = (results[f"{kind}/{name}"].astype(np.float64) for name in ("left", "right"))

    error = np.abs(results[f"{kind}/product"] - left @ right)

    assert (error <= 2.0**-20 * (np.abs(left) @ np.abs(right))).all()
