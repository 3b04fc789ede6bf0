"""jax-rocm7-plugin 0.10.2: kernels of its libraries, by their own compressed fat binaries."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from outside.running import TARGETS, Outside, Results, need


@pytest.fixture(scope="module", params=("gfx90a", *TARGETS))
def results(request: pytest.FixtureRequest, outside: Callable[[], Outside]) -> Results:
    need("jax-rocm7-plugin")
    return outside().results(request.param, "jax_kernels.py")


def threefry(key: tuple[int, int], data: tuple[int, int]) -> tuple[int, int]:
    """Threefry-2x32 with 20 rounds, as Salmon et al. (2011) have it."""
    mask = 2**32 - 1
    keys = (*key, 0x1BD11BDA ^ key[0] ^ key[1])
    x, y = (data[0] + keys[0]) & mask, (data[1] + keys[1]) & mask
    for group in range(5):
        for rotation in ((13, 15, 26, 6), (17, 29, 16, 24))[group % 2]:
            x = (x + y) & mask
            y = ((y << rotation | y >> (32 - rotation)) & mask) ^ x
        x = (x + keys[(group + 1) % 3]) & mask
        y = (y + keys[(group + 2) % 3] + group + 1) & mask
    return x, y


def test_the_reference_gives_the_known_answers() -> None:
    assert threefry((0, 0), (0, 0)) == (0x6B200159, 0x99BA4EFE)
    ones = 0xFFFFFFFF
    assert threefry((ones, ones), (ones, ones)) == (0x1CB996FC, 0xBB002BE7)


def test_random_numbers_are_those_of_threefry(results: Results) -> None:
    key, data = results["threefry/key"].T.tolist(), results["threefry/data"].T.tolist()

    wanted = [threefry(tuple(k), tuple(d)) for k, d in zip(key, data, strict=True)]

    assert results["threefry/out"].T.tolist() == [list(pair) for pair in wanted]


def test_pivots_become_the_permutation_of_their_exchanges(results: Results) -> None:
    for pivots, order in zip(
        results["permutation/pivots"], results["permutation/order"], strict=True
    ):
        wanted = np.arange(len(order))
        for row, other in enumerate(pivots):
            wanted[[row, other]] = wanted[[other, row]]
        assert (order == wanted).all()
