"""Programs that nobody here wrote, on the software device: where they run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from outside.running import Outside
from support.compile_c import compile_c_library
from support.hip import library_path

# There is no BLAS here: these answer that they have nothing for a shape, and that is all they do.
BLAS_FUNCTIONS = (
    *("hipblasGemmEx", "hipblasGemmStridedBatchedEx", "hipblasLtMatmul"),
    *("hipblasLtMatmulAlgoGetHeuristic", "hipblasLtMatmulDescCreate", "hipblasLtMatmulDescDestroy"),
    *("hipblasLtMatmulDescSetAttribute", "hipblasLtMatmulPreferenceCreate"),
    *("hipblasLtMatmulPreferenceSetAttribute", "hipblasLtMatrixLayoutCreate"),
    *("hipblasLtMatrixLayoutDestroy", "rocblas_create_handle"),
)
BLAS_LIBRARIES = (
    *("libhipblas.so.2", "libhipblas.so.3", "libhipblaslt.so.0", "libhipblaslt.so.1"),
    "librocrand.so.1",
)


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Outside]:
    """Give folders to run programs in, one at each call."""
    library_path()  # skips where the software device is not built
    return lambda: Outside(tmp_path_factory.mktemp("outside"))


@pytest.fixture(scope="module")
def blas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder of libraries that bitsandbytes links to, and calls for products alone."""
    folder = tmp_path_factory.mktemp("blas")
    text = "\n".join(f"int {name}(void) {{ return 0; }}" for name in BLAS_FUNCTIONS)
    for name in BLAS_LIBRARIES:
        compile_c_library(text, folder / name)
    return folder
