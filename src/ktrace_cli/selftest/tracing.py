"""What runs under the interposer: patterns, loops that differ by a marker, and launches.

It runs in the program that measures, and most of what it finds is in the recording.
"""

from __future__ import annotations

import ctypes

from ktrace_cli.selftest.hip import Array
from ktrace_cli.selftest.launching import WARM_UP, time_launches
from ktrace_cli.selftest.pattern import SEED
from ktrace_cli.selftest.probing import Probe, Step
from ktrace_cli.selftest.settings import COST_MARKERS

BLOCK = 256
OVERFLOW_MARKS = (200, 0)
OVERFLOW_GRID = 4
_WAVE = 64


def pattern(probe: Probe) -> dict[str, Array]:
    """Let every SIMD write the pattern, and a few waves more than fits."""
    rounds = ctypes.c_uint(probe.settings.pattern_rounds)
    grid = probe.compute_units * (1 if probe.settings.is_quick else 2)
    sink = ctypes.c_void_p()
    kernel = probe.kernel("pattern")
    kernel.launch(grid, BLOCK, rounds, ctypes.c_uint(SEED), sink)
    counts = map(ctypes.c_uint, (*OVERFLOW_MARKS, SEED))
    probe.kernel("overflow").launch(OVERFLOW_GRID, BLOCK, *counts, sink)
    probe.hip.synchronize()
    return {}


def costs(probe: Probe) -> dict[str, Array]:
    """Run each loop without and with its marker, in turn, so that a drifting clock meets both."""
    settings = probe.settings
    for _ in range(settings.repetitions):
        for name in ("none", *COST_MARKERS):
            _run_loops(probe, name)
            probe.hip.synchronize()
    return {}


def _run_loops(probe: Probe, name: str) -> None:
    settings, sink = probe.settings, ctypes.c_void_p()
    lone, crowded = map(ctypes.c_uint, (settings.iterations, settings.crowded_iterations))
    kernel = probe.kernel(f"cost_{name}")
    kernel.launch(1, _WAVE, sink, lone, sink)
    full = probe.compute_units * kernel.workgroups_per_cu(BLOCK)
    kernel.launch(full, BLOCK, sink, crowded, sink)
    probe.kernel(f"spaced_{name}").launch(1, _WAVE, sink, lone, sink)
    probe.kernel(f"pipelined_{name}").launch(1, BLOCK, sink, lone, sink)


def launches(probe: Probe) -> dict[str, Array]:
    """Time launches; shape (batches,): nanoseconds of the host for each launch of a batch."""
    plain = probe.plain_kernel("plain").prepare(1, _WAVE)
    empty = probe.kernel("empty").prepare(1, _WAVE, ctypes.c_void_p())
    return {
        "traced_plain_ns": time_launches(probe.hip, plain, probe.settings),
        "traced_annotated_ns": time_launches(probe.hip, empty, probe.settings),
    }


def launch_count(batches: int, batch: int) -> int:
    """Return how many launches of one kernel `launches` makes."""
    return (WARM_UP + batches) * batch


POLLED: dict[str, Step] = {"pattern": pattern, "costs": costs}
TRACED: dict[str, Step] = {**POLLED, "launches": launches}
