"""How long launches keep the thread that makes them."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.selftest.hip import Hip, HipError
from ktrace_cli.selftest.settings import Settings

WARM_UP = 2
"""Batches before those that count: buffers, queues and caches are made."""


def time_launches(hip: Hip, prepared: tuple[Any, ...], settings: Settings) -> NDArray[np.float64]:
    """Launch in batches; return the nanoseconds of the host for each launch of a batch.

    The device is idle when a batch begins, and a batch fits into its queue: no launch waits.

    Args:
        hip: the device.
        prepared: what hipModuleLaunchKernel takes.
        settings: how many launches.
    """
    launch = hip.function("hipModuleLaunchKernel")
    rounds = [None] * settings.batch
    found = np.zeros(WARM_UP + settings.batches)
    for number in range(len(found)):
        hip.synchronize()
        failed = 0
        begin = time.perf_counter_ns()
        for _ in rounds:
            failed |= launch(*prepared)
        found[number] = (time.perf_counter_ns() - begin) / settings.batch
        if failed:
            raise HipError(f"hipModuleLaunchKernel returned {failed}")
    hip.synchronize()
    return found[WARM_UP:]
