"""What keeps a marker's limits from being checked, by what the interposer has counted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ktrace_cli.launch.status import ProcessStatus, status_of
from ktrace_cli.pytest_plugin.checking import why_not_met
from ktrace_cli.pytest_plugin.requirements import Limit, Requirement
from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import LossReason

WANTED = [Requirement((Limit("load", "max", 1),), "", "ns")]
BEFORE = status_of(np.zeros(1, layout.STATUS)[0])


def why(before: ProcessStatus | None, after: ProcessStatus | None) -> list[str]:
    return why_not_met(WANTED, before, after, None).splitlines()


def test_a_process_without_hip_is_said() -> None:
    assert why(None, None) == [
        "ktrace: limits could not be checked",
        "  this process called no HIP; programs that it starts have recordings of their own, which"
        " are not looked at",
    ]


def test_launches_that_did_not_finish_are_said() -> None:
    after = replace(BEFORE, launches=3, annotated_launches=2)

    assert why(BEFORE, after) == [
        "ktrace: limits could not be checked",
        "  no annotated kernel was recorded: 3 launches, 2 of annotated kernels",
        "  2 launches were not finished 10 s after the call",
    ]


def test_only_losses_of_the_call_are_said() -> None:
    before = replace(BEFORE, losses={LossReason.CAPTURE: 5, LossReason.FAULTED: 1})
    losses = {LossReason.CAPTURE: 5, LossReason.FAULTED: 2, LossReason.NO_MEMORY: 3}
    after = replace(BEFORE, launches=4, annotated_launches=4, losses=losses)

    assert why(before, after)[2:] == [
        "  1 launch was not traced: the kernel faulted: its records are lost; `--hang` keeps them",
        "  3 launches were not traced: no memory on the device, or no thread, for its trace buffer",
    ]


def test_kernels_that_ktrace_did_not_see_are_said() -> None:
    after = replace(BEFORE, launches=4, unseen_launches=4)

    assert why(BEFORE, after)[1:] == [
        "  no annotated kernel was recorded: 4 launches, 4 of kernels whose code object ktrace did"
        " not see"
    ]


def test_settings_that_were_not_understood_are_said() -> None:
    after = replace(BEFORE, is_refused=True, message="KTRACE_WORDS=3: wanted a power of two")

    assert why(None, after)[1:] == [
        "  ktrace's settings were not understood: KTRACE_WORDS=3: wanted a power of two"
    ]
