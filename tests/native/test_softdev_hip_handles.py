"""Kernels by way of modules and libraries, memory as a flag in streams, and graph odds and ends."""

import ctypes
from collections.abc import Iterator
from ctypes import byref, c_int, c_size_t, c_uint, c_uint64, c_void_p
from pathlib import Path

import numpy as np
import pytest

from support.compile_kernel import any_compiler
from support.hip_calls import (
    INVALID_HANDLE,
    INVALID_VALUE,
    NOT_FOUND,
    NOT_READY,
    SUCCESS,
    call,
    download,
    launch,
    load_hip,
    out_int,
    out_pointer,
    upload,
)
from support.hip_graphs import Arguments, add_kernel, add_node, new_graph

NOT_SUPPORTED, UNSUPPORTED_IN_CAPTURE = 801, 900
AT_LEAST, EQUAL, ANY_BIT, NOT_ALL_BITS = range(4)


@pytest.fixture(scope="module")
def code_object() -> Path:
    return any_compiler("gfx942").hip(
        "#include <mini_hip.hpp>\n"
        "__device__ int offset = 30;\n"
        'extern "C" __global__ void add(int* data) { data[threadIdx.x] += offset; }\n'
        'extern "C" __global__ void twice(int* data) { data[threadIdx.x] *= 2; }\n'
    )


@pytest.fixture
def flag() -> Iterator[int]:
    pointer = upload(np.zeros(8, np.uint64))
    yield pointer
    call("hipFree", pointer)


def name_of(function: int | None) -> str:
    return str(load_hip().hipKernelNameRef(function).decode())


def test_a_module_lists_its_functions(code_object: Path) -> None:
    module = out_pointer("hipModuleLoadData", code_object.read_bytes())
    functions, one = (c_void_p * 3)(), (c_void_p * 1)()
    enumerate_functions = load_hip().hipModuleEnumerateFunctions

    all_of_them = enumerate_functions(functions, c_uint(3), c_void_p(module))
    first = enumerate_functions(one, c_uint(1), c_void_p(module))

    assert (all_of_them, first) == (SUCCESS, SUCCESS)
    assert sorted(map(name_of, functions[:2])) == ["add", "twice"]
    assert functions[2] is None
    assert one[0] == functions[0]
    by_name = out_pointer("hipModuleGetFunction", module, b"add")
    assert by_name in functions[:2]
    assert enumerate_functions(None, c_uint(1), c_void_p(module)) == INVALID_VALUE
    assert enumerate_functions(one, c_uint(1), c_void_p(12345)) == INVALID_HANDLE


def test_a_librarys_module_has_the_librarys_kernels(code_object: Path) -> None:
    image = ctypes.create_string_buffer(code_object.read_bytes())
    options = (None, None, c_uint(0), None, None, c_uint(0))
    library = out_pointer("hipLibraryLoadData", image, *options)
    data = upload(np.ones(64, np.int32))

    kernel = out_pointer("hipLibraryGetKernel", c_void_p(library), b"twice")
    module = out_pointer("hipLibraryGetModule", c_void_p(library))
    function = out_pointer("hipModuleGetFunction", module, b"twice")
    status = launch(function, [c_void_p(data)])

    assert (status, function) == (SUCCESS, kernel)
    assert download(data, 64, np.int32).tolist() == [2] * 64
    get_module = load_hip().hipLibraryGetModule
    assert get_module(byref(c_void_p()), c_void_p(12345)) == INVALID_HANDLE
    call("hipLibraryUnload", c_void_p(library))
    call("hipFree", data)


def test_a_librarys_variables_are_found_by_name(code_object: Path) -> None:
    image = ctypes.create_string_buffer(code_object.read_bytes())
    options = (None, None, c_uint(0), None, None, c_uint(0))
    library, size = out_pointer("hipLibraryLoadData", image, *options), c_size_t()
    find = load_hip().hipLibraryGetGlobal

    pointer = out_pointer("hipLibraryGetGlobal", byref(size), c_void_p(library), b"offset")
    missing = find(byref(c_void_p()), byref(size), c_void_p(library), b"nothing")

    assert (size.value, missing) == (4, NOT_FOUND)
    assert download(pointer, 1, np.int32).tolist() == [30]


def test_a_kernel_handle_has_the_attributes_of_the_function(code_object: Path) -> None:
    module = out_pointer("hipModuleLoadData", code_object.read_bytes())
    function = out_pointer("hipModuleGetFunction", module, b"add")
    get = load_hip().hipKernelGetAttribute

    threads = out_int("hipKernelGetAttribute", 0, c_void_p(function), 0)

    assert threads == 1024
    assert get(byref(c_int()), 99, c_void_p(function), 0) == INVALID_VALUE
    assert get(byref(c_int()), 0, c_void_p(function), 77) == 101


def test_a_value_is_written_in_stream_order(flag: int) -> None:
    stream = out_pointer("hipStreamCreate")
    write32, write64 = load_hip().hipStreamWriteValue32, load_hip().hipStreamWriteValue64

    call("hipMemsetAsync", flag, 0xEE, 8, stream)
    first = write64(c_void_p(stream), c_void_p(flag), c_uint64(0xFFFFFFFFFFFFFFFF), c_uint(0))
    second = write32(c_void_p(stream), c_void_p(flag), c_uint(5), c_uint(0))
    busy = load_hip().hipStreamQuery(stream)

    assert (first, second, busy) == (SUCCESS, SUCCESS, NOT_READY)
    assert download(flag, 1, np.uint64).tolist() == [0xFFFFFFFF00000005]
    assert write32(c_void_p(stream), None, c_uint(5), c_uint(0)) == INVALID_VALUE
    call("hipStreamDestroy", stream)


@pytest.mark.parametrize(
    ("condition", "wanted", "mask", "holds"),
    [
        (AT_LEAST, 6, 0xFFFFFFFF, True),
        (AT_LEAST, 7, 0xFFFFFFFF, False),
        (AT_LEAST, 0xFFFFFFF0, 0xFFFFFFFF, True),  # the comparison is cyclic
        (EQUAL, 6, 0xFFFFFFFF, True),
        (EQUAL, 4, 0x4, True),
        (EQUAL, 4, 0xFFFFFFFF, False),
        (ANY_BIT, 3, 0xFFFFFFFF, True),
        (ANY_BIT, 8, 0xFFFFFFFF, False),
        (NOT_ALL_BITS, 8, 0xFFFFFFFF, True),
        (NOT_ALL_BITS, 0xFFFFFFF9, 0xFFFFFFFF, False),
    ],
)
def test_a_stream_waits_for_a_value_only_if_it_is_there(
    flag: int,
    condition: int,
    wanted: int,
    mask: int,
    holds: bool,
    capfd: pytest.CaptureFixture[str],
) -> None:
    write, wait = load_hip().hipStreamWriteValue32, load_hip().hipStreamWaitValue32
    assert write(None, c_void_p(flag), c_uint(6), c_uint(0)) == SUCCESS

    status = wait(None, c_void_p(flag), c_uint(wanted), c_uint(condition), c_uint(mask))

    said = capfd.readouterr().err
    assert status == (SUCCESS if holds else NOT_SUPPORTED)
    assert said.startswith("ktrace softdev: hipStreamWaitValue: ") == (not holds)


def test_waiting_for_values_is_not_promised_and_not_captured(flag: int) -> None:
    stream, captured = out_pointer("hipStreamCreateWithFlags", 1), c_void_p()
    wait = load_hip().hipStreamWaitValue64
    zero, full = c_uint64(0), c_uint64(0xFFFFFFFFFFFFFFFF)

    odd = wait(c_void_p(stream), c_void_p(flag), zero, c_uint(4), full)
    call("hipStreamBeginCapture", stream, 0)
    inside = wait(c_void_p(stream), c_void_p(flag), zero, c_uint(EQUAL), full)
    ended = load_hip().hipStreamEndCapture(stream, byref(captured))

    assert out_int("hipDeviceGetAttribute", 10013, 0) == 0
    assert (odd, inside, ended) == (INVALID_VALUE, UNSUPPORTED_IN_CAPTURE, 901)
    call("hipStreamDestroy", stream)


def test_a_graph_is_printed_as_nodes_and_edges(code_object: Path, tmp_path: Path) -> None:
    module = out_pointer("hipModuleLoadData", code_object.read_bytes())
    add = out_pointer("hipModuleGetFunction", module, b"add")
    data, graph = upload(np.zeros(64, np.int32)), new_graph()
    kernel = add_kernel(graph, Arguments(add, [c_void_p(data)]))
    add_node("hipGraphAddEmptyNode", graph, [kernel])
    path = tmp_path / "graph.dot"

    call("hipGraphDebugDotPrint", c_void_p(graph), str(path).encode(), 0)

    lines = path.read_text().splitlines()
    first = lines[1].split()[0]
    second = f"n{int(first[1:]) + 1}"
    assert lines == [
        "digraph {",
        f'  {first} [label="add"];',
        f'  {second} [label="EMPTY"];',
        f"  {first} -> {second};",
        "}",
    ]
    call("hipFree", data)


def test_kernel_nodes_keep_attributes_and_copy_them(code_object: Path) -> None:
    module = out_pointer("hipModuleLoadData", code_object.read_bytes())
    add = out_pointer("hipModuleGetFunction", module, b"add")
    data, graph = upload(np.zeros(64, np.int32)), new_graph()
    nodes = [add_kernel(graph, Arguments(add, [c_void_p(data)])) for _ in range(2)]
    value, seen = (c_int * 16)(1), (c_int * 16)(9)
    cooperative = 2

    call("hipGraphKernelNodeSetAttribute", c_void_p(nodes[0]), cooperative, value)
    call("hipGraphKernelNodeGetAttribute", c_void_p(nodes[1]), cooperative, seen)
    before = seen[0]
    call("hipGraphKernelNodeCopyAttributes", c_void_p(nodes[0]), c_void_p(nodes[1]))
    call("hipGraphKernelNodeGetAttribute", c_void_p(nodes[1]), cooperative, seen)

    assert (before, seen[0]) == (0, 1)
    set_attribute = load_hip().hipGraphKernelNodeSetAttribute
    assert set_attribute(c_void_p(nodes[0]), 3, value) == INVALID_VALUE
    call("hipFree", data)
