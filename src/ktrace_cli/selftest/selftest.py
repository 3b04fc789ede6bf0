"""A whole selftest: both programs, the recording, the judgement."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path

from ktrace_cli.errors import KtraceError
from ktrace_cli.selftest import kernels
from ktrace_cli.selftest.answer import EVERYTHING, Answer
from ktrace_cli.selftest.children import TracedAnswer, run_bare, run_under_interposer
from ktrace_cli.selftest.judging.all import judge
from ktrace_cli.selftest.judging.measured import Measured
from ktrace_cli.selftest.machine import machine_facts
from ktrace_cli.selftest.settings import Settings
from ktrace_cli.selftest_file.result import SelftestResult
from ktrace_cli.trace_file.reader import read_recording
from ktrace_cli.trace_file.recording import Recording


def run_selftest(settings: Settings) -> SelftestResult:
    """Measure on the device and judge what was measured.

    Raises:
        KtraceError: there is no device, none of these kernels is for it, or the installation is
            not whole.
    """
    with tempfile.TemporaryDirectory(prefix="ktrace-selftest-") as folder:
        return judged(measure(Path(folder), settings))


def measure(folder: Path, settings: Settings) -> Measured:
    """Run both programs; the recording stays in `folder`.

    Raises:
        KtraceError: as `run_selftest`.
    """
    bare = run_bare(folder / "bare", settings)
    if not bare.facts:
        raise _no_device(bare, settings)
    measured = _measure(folder, "traced", bare, settings)
    if not settings.tries_polling:
        return measured
    polling = _measure(folder, "polling", bare, settings)
    return replace(measured, polling=replace(polling, annotated=kernels.POLLING))


def _measure(folder: Path, part: str, bare: Answer, settings: Settings) -> Measured:
    traced = run_under_interposer(folder / part, part, settings)
    recording, unreadable = _read(traced)
    return Measured(
        settings=settings,
        facts=bare.facts,
        bare=bare,
        traced=traced.answer,
        process=traced.process,
        recording=recording,
        unreadable=unreadable,
    )


def judged(measured: Measured) -> SelftestResult:
    """Judge what was measured, now."""
    checks, costs = judge(measured)
    return SelftestResult(
        version=version("ktrace"),
        date=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        is_quick=measured.settings.is_quick,
        is_modelled=measured.is_software,
        machine={**measured.facts, **machine_facts()},
        checks=checks,
        costs=costs,
    )


def _read(traced: TracedAnswer) -> tuple[Recording | None, str]:
    try:
        return read_recording(traced.recording), ""
    except KtraceError as problem:
        return None, f"the recording cannot be read: {problem.why}"


def _no_device(bare: Answer, settings: Settings) -> KtraceError:
    return KtraceError(
        f"cannot test device {settings.device_index}",
        why=bare.error_of(EVERYTHING),
        fix="leave out `--device-index`: `ktrace doctor` lists the devices"
        if settings.device_index
        else "`ktrace doctor` says what hinders; `--device soft` tests the software device",
    )
