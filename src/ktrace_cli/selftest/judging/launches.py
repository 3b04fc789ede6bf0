"""Launch overhead: the interposer sees and records each launch, and adds some time to it."""

from __future__ import annotations

import numpy as np

from ktrace_cli.selftest.judging.measured import Judgement, Measured, failed, median
from ktrace_cli.selftest.settings import COST_MARKERS
from ktrace_cli.selftest.tracing import launch_count
from ktrace_cli.selftest_file.result import Check, Situation
from ktrace_cli.units import significant

NAME = "launch_overhead"
_KERNEL = "empty"
_KINDS = {"plain": "without annotations", "annotated": "annotated"}


def judge_launches(measured: Measured) -> Check:
    """Judge counts of launches, and tell their times with and without the interposer."""
    if trouble := measured.trouble(bare="launches", traced="launches"):
        return failed(NAME, trouble)
    judgement, settings = Judgement(NAME), measured.settings
    each = launch_count(settings.batches, settings.batch)
    loops = settings.repetitions * (1 + len(COST_MARKERS)) * len(Situation)
    recorded = len(measured.dispatches(_KERNEL))
    judgement.expect("recorded launches of an empty kernel", recorded, each)
    process = measured.process
    if process is None:
        judgement.fail("the interposer told nothing of the program")
    else:
        judgement.expect("launches that the interposer saw", process.launches, 2 + loops + 2 * each)
        lost = {reason.name.lower(): count for reason, count in process.losses.items()}
        judgement.expect("launches that were lost", lost, {})
    judgement.count("launches recorded", recorded, f"of {each:,}", "of an empty annotated kernel")
    for kind, said in _KINDS.items():
        _tell_times(judgement, measured, kind, said)
    return judgement.check(f"each launch was seen and recorded; {_whose(measured)}")


def _tell_times(judgement: Judgement, measured: Measured, kind: str, said: str) -> None:
    bare = measured.bare.arrays[f"launch_{kind}_ns"]
    traced = measured.traced.arrays[f"traced_{kind}_ns"]
    noise = max(float(np.subtract(*np.percentile(a, (75, 25)))) for a in (bare, traced)) / 1000
    judgement.host(f"a launch, {said}", median(bare) / 1000, "us", "without the interposer")
    added = (median(traced) - median(bare)) / 1000
    spread = f"± {significant(noise, 3)} us between batches" + (
        "" if added > noise else ": lost in noise"
    )
    judgement.host("… the interposer adds", added, "us", spread)


def _whose(measured: Measured) -> str:
    if measured.is_software:
        return "times are this computer's, of a thread that also runs the kernel (software device)"
    return "times are those of the launching thread"
