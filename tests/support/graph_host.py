"""Graphs of saxpy, as a HIP program makes them: by capture, by adding nodes, by both.

It runs in a child process, next to support/hip_host.py, and knows nothing of ktrace.
"""

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from support.hip_host import BLOCK, GRID, Host, N, open_hip

NON_BLOCKING = 1
GLOBAL = 0
KERNEL_NODE, CHILD_NODE = 0, 4


class KernelNodeParams(ctypes.Structure):
    """hipKernelNodeParams"""

    _fields_ = (
        ("block", ctypes.c_uint * 3),
        ("extra", ctypes.c_void_p),
        ("function", ctypes.c_void_p),
        ("grid", ctypes.c_uint * 3),
        ("params", ctypes.c_void_p),
        ("shared", ctypes.c_uint),
    )


class NodeParams(ctypes.Structure):
    """hipGraphNodeParams of a kernel node"""

    _fields_ = (
        ("type", ctypes.c_int),
        ("reserved", ctypes.c_int * 3),
        ("kernel", KernelNodeParams),
        ("rest", ctypes.c_byte * 176),
    )


class GraphHost(Host):
    """One HIP library and one saxpy kernel that is launched through graphs."""

    def __init__(self, code_object: Path, hip: Any = None, n: int = N) -> None:
        super().__init__(hip or open_hip(), code_object, n)
        self.kept: list[Any] = []  # what HIP was given pointers to

    def pointer(self, name: str, *arguments: Any) -> ctypes.c_void_p:
        """Call `name` with a place for a handle in front; return the handle."""
        handle = ctypes.c_void_p()
        self.check(getattr(self.hip, name)(ctypes.byref(handle), *arguments))
        return handle

    def call(self, name: str, *arguments: Any) -> None:
        self.check(getattr(self.hip, name)(*arguments))

    def stream(self) -> ctypes.c_void_p:
        return self.pointer("hipStreamCreateWithFlags", NON_BLOCKING)

    def graph(self) -> ctypes.c_void_p:
        return self.pointer("hipGraphCreate", 0)

    def capture(self, stream: Any, work: Callable[[], Any]) -> ctypes.c_void_p:
        """Capture what `work` puts on `stream`."""
        self.call("hipStreamBeginCapture", stream, GLOBAL)
        work()
        graph = ctypes.c_void_p()
        self.call("hipStreamEndCapture", stream, ctypes.byref(graph))
        return graph

    def captured(self, *grids: Sequence[int]) -> ctypes.c_void_p:
        """Capture one launch per grid."""
        stream = self.stream()
        launches = self.launches
        graph = self.capture(stream, lambda: [self.put(stream, grid) for grid in grids or (GRID,)])
        self.launches = launches
        return graph

    def put(self, stream: Any, grid: Sequence[int] = GRID) -> None:
        self.check(self.launch(stream=stream, grid=grid))

    def params(self, grid: Sequence[int] = GRID, *, extra: bool = False) -> Any:
        lists = (self.extra(), None) if extra else (None, self.places())
        self.kept.append((*lists, getattr(self, "segment_size", None)))
        addresses = [ctypes.addressof(one) if one is not None else None for one in lists]
        return KernelNodeParams(BLOCK, addresses[0], self.function, tuple(grid), addresses[1], 0)

    def any_params(self, grid: Sequence[int] = GRID) -> Any:
        return NodeParams(KERNEL_NODE, (0, 0, 0), self.params(grid))

    def add(
        self, graph: Any, grid: Sequence[int] = GRID, *, after: Any = None, extra: bool = False
    ) -> ctypes.c_void_p:
        """Add a kernel node, behind `after`."""
        before = (ctypes.c_void_p * 1)(after)
        params = self.params(grid, extra=extra)
        dependencies = (before, ctypes.c_size_t(1)) if after else (None, ctypes.c_size_t(0))
        return self.pointer("hipGraphAddKernelNode", graph, *dependencies, ctypes.byref(params))

    def instantiate(self, graph: Any) -> ctypes.c_void_p:
        return self.pointer("hipGraphInstantiateWithFlags", graph, ctypes.c_ulonglong(0))

    def replay(self, executable: Any, stream: Any = None, launches: int = 1) -> None:
        """Launch a graph that holds so many launches of saxpy."""
        self.launches += launches
        self.call("hipGraphLaunch", executable, stream)

    def nodes(self, graph: Any) -> list[ctypes.c_void_p]:
        nodes, count = (ctypes.c_void_p * 16)(), ctypes.c_size_t(16)
        self.call("hipGraphGetNodes", graph, nodes, ctypes.byref(count))
        return [ctypes.c_void_p(node) for node in nodes[: count.value]]

    def trace_argument(self, node: Any) -> int | None:
        """The trace argument that HIP holds for a kernel node."""
        params = KernelNodeParams()
        self.call("hipGraphKernelNodeGetParams", node, ctypes.byref(params))
        places = ctypes.cast(params.params, ctypes.POINTER(ctypes.c_void_p))
        return ctypes.cast(places[4], ctypes.POINTER(ctypes.c_void_p))[0]
