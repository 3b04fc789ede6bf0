"""Copy bandwidth: that what is copied back is right, and how fast it comes."""

from __future__ import annotations

import numpy as np

from ktrace_cli.selftest.judging.measured import Judgement, Measured, failed, median
from ktrace_cli.selftest_file.result import Check
from ktrace_cli.units import format_bytes, significant

NAME = "copy_bandwidth"


def judge_copies(measured: Measured) -> Check:
    """Judge copies from the device into pinned memory."""
    if trouble := measured.trouble(bare="copies"):
        return failed(NAME, trouble)
    judgement = Judgement(NAME)
    times, wrong = measured.bare.arrays["copy_ms"], measured.bare.arrays["copy_wrong"]
    judgement.expect("bytes that were copied wrongly", int(wrong.sum()), 0)
    for size, own in zip(measured.settings.copy_sizes, times, strict=True):
        ms = median(own)
        if not ms > 0:
            judgement.fail(f"a copy of {format_bytes(size)} took {ms:g} ms")
            continue
        spread = 100 * float(np.ptp(own)) / ms
        judgement.device(
            format_bytes(size),
            size / ms / 1e6,
            "GB/s",
            f"{significant(1000 * ms, 4)} us, ± {significant(spread, 2)} %",
        )
    return judgement.check("what is copied back is right; trace buffers come back as fast as this")
