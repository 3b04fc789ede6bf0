"""Graphs of the software device: parameter structs, and nodes in one call each."""

import ctypes
from collections.abc import Sequence
from ctypes import addressof, byref, c_int, c_size_t, c_uint, c_ulonglong, c_void_p
from typing import Any

from support.hip_calls import DEFAULT, call, load_hip, out_pointer, pointers_to

KERNEL, COPY, FILL, HOST, GRAPH, EMPTY, WAIT, RECORD = range(8)
UPDATE_FAILURE = 910


class KernelNodeParams(ctypes.Structure):
    _fields_ = (
        ("block", c_uint * 3),
        ("extra", c_void_p),
        ("function", c_void_p),
        ("grid", c_uint * 3),
        ("params", c_void_p),
        ("shared", c_uint),
    )


class FillParams(ctypes.Structure):
    _fields_ = (
        ("destination", c_void_p),
        ("element", c_uint),
        ("height", c_size_t),
        ("pitch", c_size_t),
        ("value", c_uint),
        ("width", c_size_t),
    )


class HostParams(ctypes.Structure):
    _fields_ = (("function", c_void_p), ("data", c_void_p))


class PitchedPointer(ctypes.Structure):
    _fields_ = (("pointer", c_void_p), ("pitch", c_size_t), ("x", c_size_t), ("y", c_size_t))


class CopyParams(ctypes.Structure):
    _fields_ = (
        ("source_array", c_void_p),
        ("source_position", c_size_t * 3),
        ("source", PitchedPointer),
        ("destination_array", c_void_p),
        ("destination_position", c_size_t * 3),
        ("destination", PitchedPointer),
        ("extent", c_size_t * 3),
        ("kind", c_int),
    )


class _CopyNodeParams(ctypes.Structure):
    _fields_ = (("flags", c_int), ("reserved", c_int * 3), ("box", CopyParams))


class _AnyParams(ctypes.Union):
    _fields_ = (
        ("reserved", ctypes.c_longlong * 29),
        ("kernel", KernelNodeParams),
        ("copy", _CopyNodeParams),
        ("fill", FillParams),
        ("host", HostParams),
        ("graph", c_void_p),
        ("event", c_void_p),
    )


class NodeParams(ctypes.Structure):
    _fields_ = (
        ("type", c_int),
        ("reserved", c_int * 3),
        ("of", _AnyParams),
        ("reserved2", ctypes.c_longlong),
    )


def fill_params(destination: int, value: int, count: int) -> FillParams:
    """Write `count` 32-bit words."""
    return FillParams(destination, 4, 1, 4 * count, value, count)


def copy_params(destination: int, source: int, size: int) -> CopyParams:
    return CopyParams(
        source=PitchedPointer(source, size, size, 1),
        destination=PitchedPointer(destination, size, size, 1),
        extent=(size, 1, 1),
        kind=DEFAULT,
    )


class Arguments:
    """Kernel node parameters that keep their arguments alive."""

    def __init__(self, function: int, values: Sequence[Any], block: int = 64) -> None:
        self.values = list(values)
        self.pointers = pointers_to(self.values)
        where = addressof(self.pointers)
        self.params = KernelNodeParams((block, 1, 1), None, function, (1, 1, 1), where, 0)


def handles(nodes: Sequence[int]) -> Any:
    return (c_void_p * max(len(nodes), 1))(*nodes)


def add_node(call_name: str, graph: int, after: Sequence[int], *params: Any) -> int:
    """Make any hipGraphAdd…Node call."""
    return out_pointer(call_name, c_void_p(graph), handles(after), c_size_t(len(after)), *params)


def add_kernel(graph: int, arguments: Arguments, after: Sequence[int] = ()) -> int:
    return add_node("hipGraphAddKernelNode", graph, after, byref(arguments.params))


def new_graph() -> int:
    return out_pointer("hipGraphCreate", 0)


def instantiate(graph: int) -> int:
    return out_pointer("hipGraphInstantiateWithFlags", c_void_p(graph), c_ulonglong(0))


def launch_graph(executable: int, stream: int, times: int = 1) -> None:
    for _ in range(times):
        call("hipGraphLaunch", c_void_p(executable), c_void_p(stream))
    call("hipStreamSynchronize", c_void_p(stream))


def listed(name: str, handle: int, most: int = 16) -> list[int]:
    """Make a call that lists nodes."""
    nodes, count = (c_void_p * most)(), c_size_t(most)
    call(name, c_void_p(handle), nodes, byref(count))
    return [node or 0 for node in nodes[: count.value]]


def child_of(node: int) -> int:
    """Ask for the graph inside a child graph node."""
    graph = c_void_p()
    call("hipGraphChildGraphNodeGetGraph", c_void_p(node), byref(graph))
    return graph.value or 0


def type_of(node: int) -> int:
    kind = c_int(-1)
    call("hipGraphNodeGetType", c_void_p(node), byref(kind))
    return kind.value


def update(executable: int, graph: int) -> tuple[int, int, int | None]:
    """Call hipGraphExecUpdate: the status, HIP's result and the node that it names."""
    node, result = c_void_p(), c_int(-1)
    status = load_hip().hipGraphExecUpdate(
        c_void_p(executable), c_void_p(graph), byref(node), byref(result)
    )
    return int(status), result.value, node.value
