"""The kernel's tests: what it computes and, with `pytest --ktrace`, how long its phases take."""

import numpy as np
import pytest

from bench import geometric, is_right


@pytest.mark.parametrize("size", [1, 256, 1_000])
def test_the_kernel_computes_the_series(size: int) -> None:
    x = np.linspace(-0.5, 0.5, size, dtype=np.float32)

    assert is_right(x, geometric(x, launches=1))


@pytest.mark.ktrace(max={"mainloop": "50us"}, min_count={"mainloop": 4})
def test_the_main_loop_stays_short() -> None:
    geometric(np.zeros(256, dtype=np.float32), launches=1)
