"""What is measured without the interposer: bounds, clocks, launches as they are, copies.

It runs in the program that measures; `judging` says what the arrays mean.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from ktrace_cli.selftest import kernels, regions
from ktrace_cli.selftest.hip import Array, Hip, HipError, Kernel
from ktrace_cli.selftest.launching import time_launches
from ktrace_cli.selftest.pattern import SEED
from ktrace_cli.selftest.settings import Settings
from ktrace_cli.wording import listed

_WORKGROUPS_PER_XCC = 4
_MAILBOX_SIZE = 128  # bytes: struct Mailbox of kernels/probes.hip
_WAVE = 64


class Probe:
    """A device with the selftest's code objects."""

    def __init__(self, hip: Hip, settings: Settings, annotated: str = kernels.MARKERS) -> None:
        self.hip = hip
        self.settings = settings
        self.facts = hip.facts()
        target = str(self.facts["target"])
        if not kernels.path_of(kernels.MARKERS, target).exists():
            known = listed(kernels.targets())
            raise HipError(f"it is a {target.partition(':')[0]}; there are kernels for {known}")
        self._annotated = annotated
        self._modules = {
            name: hip.load(kernels.path_of(name, target)) for name in (annotated, kernels.PROBES)
        }

    def kernel(self, name: str) -> Kernel:
        """Return an annotated kernel."""
        return self._modules[self._annotated].kernel(kernels.symbol(self._annotated, name))

    def plain_kernel(self, name: str) -> Kernel:
        """Return a kernel without annotations."""
        return self._modules[kernels.PROBES].kernel(kernels.symbol(kernels.PROBES, name))

    @property
    def compute_units(self) -> int:
        """Of the device; 1 if HIP does not tell."""
        return int(self.facts["compute_units"] or 1)


Step = Callable[[Probe], dict[str, Array]]


def bounds(probe: Probe) -> dict[str, Array]:
    """Let waves write more words than fit into regions that lie among canaries."""
    kernel = probe.kernel("overflow")
    found = {}
    for name, marks in regions.OVERFLOWS.items():
        memory = probe.hip.upload(regions.canaries())
        control = regions.control_block(int(memory.value or 0) + regions.GUARD)
        sink = probe.hip.upload(control)
        counts = (ctypes.c_uint(count) for count in (*marks, SEED))
        kernel.launch(regions.GRID, regions.BLOCK, *counts, sink)
        probe.hip.synchronize()
        found[f"bounds_{name}"] = probe.hip.download(memory, regions.canaries())
        found[f"bounds_{name}_control_before"] = control.view(np.uint8)
        found[f"bounds_{name}_control"] = probe.hip.download(sink, control).view(np.uint8)
    return found


def clocks(probe: Probe) -> dict[str, Array]:
    """Read each clock many times in one wave, and both at begin and end of many waves."""
    groups = probe.settings.clock_groups
    readings = np.zeros((2, groups * 4), np.uint64)
    memory = [probe.hip.upload(row) for row in readings]
    probe.plain_kernel("clock_steps").launch(1, _WAVE, *memory, ctypes.c_uint(groups))
    probe.hip.synchronize()
    core, reference = (probe.hip.download(m, readings[0]) for m in memory)
    pairs = np.zeros((probe.compute_units, 5), np.uint64)
    places = probe.hip.upload(pairs)
    spins = ctypes.c_uint(probe.settings.clock_spins)
    probe.plain_kernel("clock_rates").launch(len(pairs), _WAVE, places, spins)
    probe.hip.synchronize()
    pairs = probe.hip.download(places, pairs)
    return {"clock_core": core, "clock_reference": reference, "clock_pairs": pairs}


def xcc_skew(probe: Probe) -> dict[str, Array]:
    """Let workgroup 0 ask one on each XCC for the time.

    Returns:
        `xcc_times`, shape (xccs, rounds, 3): when it asked, was replied, and heard of it;
        `xcc_state`: whether it came to the end, and the XCC that it was on itself.
    """
    xccs = int(probe.facts["xcc_count"] or 1)
    if xccs == 1:
        return {}
    times = np.zeros((xccs, probe.settings.skew_rounds, 3), np.uint64)
    boxes = probe.hip.upload(np.zeros(16 * _MAILBOX_SIZE, np.uint8))
    out, state = probe.hip.upload(times), probe.hip.upload(np.zeros(2, np.uint32))
    numbers = (xccs, probe.settings.skew_rounds, probe.settings.skew_polls)
    probe.plain_kernel("xcc_skew").launch(
        xccs * _WORKGROUPS_PER_XCC, _WAVE, boxes, out, state, *map(ctypes.c_uint, numbers)
    )
    probe.hip.synchronize()
    found = probe.hip.download(state, np.zeros(2, np.uint32))
    return {"xcc_times": probe.hip.download(out, times), "xcc_state": found}


def launches(probe: Probe) -> dict[str, Array]:
    """Time launches; shape (batches,): nanoseconds of the host for each launch of a batch."""
    plain = probe.plain_kernel("plain").prepare(1, _WAVE)
    empty = probe.kernel("empty").prepare(1, _WAVE, ctypes.c_void_p())
    return {
        "launch_plain_ns": time_launches(probe.hip, plain, probe.settings),
        "launch_annotated_ns": time_launches(probe.hip, empty, probe.settings),
    }


def copies(probe: Probe) -> dict[str, Array]:
    """Copy memory back as trace buffers are: asynchronously, into pinned memory, timed by events.

    Returns:
        `copy_ms`, shape (sizes, copies): milliseconds; `copy_wrong`: bytes that differ.
    """
    sizes, hip = probe.settings.copy_sizes, probe.hip
    source = np.arange(max(sizes) // 4, dtype=np.uint32) * np.uint32(2654435761)
    memory = hip.upload(source)
    pinned, stream = ctypes.c_void_p(), ctypes.c_void_p()
    hip.call("hipHostMalloc", ctypes.byref(pinned), ctypes.c_size_t(max(sizes)), 0)
    hip.call("hipStreamCreateWithFlags", ctypes.byref(stream), 1)  # non-blocking
    begin, end = _event(hip), _event(hip)
    times = np.zeros((len(sizes), probe.settings.copies), np.float64)
    wrong = np.zeros(times.shape, np.int64)
    for place in np.ndindex(times.shape):
        size = sizes[place[0]]
        ctypes.memset(pinned, 0, size)
        hip.call("hipEventRecord", begin, stream)
        hip.call("hipMemcpyAsync", pinned, memory, ctypes.c_size_t(size), 2, stream)
        hip.call("hipEventRecord", end, stream)
        hip.call("hipStreamSynchronize", stream)
        elapsed = ctypes.c_float()
        hip.call("hipEventElapsedTime", ctypes.byref(elapsed), begin, end)
        times[place] = elapsed.value
        copied = np.ctypeslib.as_array(ctypes.cast(pinned, ctypes.POINTER(ctypes.c_uint8)), (size,))
        wrong[place] = np.count_nonzero(copied != source.view(np.uint8)[:size])
    return {"copy_ms": times, "copy_wrong": wrong}


def _event(hip: Hip) -> Any:
    event = ctypes.c_void_p()
    hip.call("hipEventCreate", ctypes.byref(event))
    return event


PROBES: dict[str, Step] = {
    "bounds": bounds,
    "clocks": clocks,
    "xcc_skew": xcc_skew,
    "launches": launches,
    "copies": copies,
}
