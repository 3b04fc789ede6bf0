"""Programs that nobody here wrote, on the software device: where they run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from outside.running import Outside
from support.hip import library_path


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Outside]:
    """Give folders to run programs in, one at each call."""
    library_path()  # skips where the software device is not built
    return lambda: Outside(tmp_path_factory.mktemp("outside"))
