"""Fixtures of tests of graphs: two small kernels, a stream, and the data that they change."""

from collections.abc import Iterator
from ctypes import c_int, c_void_p
from pathlib import Path

import numpy as np
import pytest

from support.compile_kernel import any_compiler
from support.hip_calls import call, load_function, load_hip, out_pointer, upload
from support.hip_graphs import Arguments


@pytest.fixture(scope="module")
def code_object() -> Path:
    return any_compiler("gfx942").hip(
        "#include <mini_hip.hpp>\n"
        'extern "C" __global__ void add(int* data, int value) { data[threadIdx.x] += value; }\n'
        'extern "C" __global__ void twice(int* data) { data[threadIdx.x] *= 2; }\n'
    )


@pytest.fixture
def stream() -> Iterator[int]:
    handle = out_pointer("hipStreamCreateWithFlags", 1)
    yield handle
    load_hip().hipStreamDestroy(c_void_p(handle))


@pytest.fixture
def data() -> Iterator[int]:
    """64 integers on the device, 0 at first."""
    pointer = upload(np.zeros(64, np.int32))
    yield pointer
    call("hipFree", pointer)


@pytest.fixture
def add(code_object: Path) -> int:
    return load_function(code_object, "add")


def adding(function: int, data: int, value: int) -> Arguments:
    return Arguments(function, [c_void_p(data), c_int(value)])
