"""A selftest's result as text, and HIP as the program that measures finds it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ktrace_cli.selftest import hip
from ktrace_cli.selftest.hip import Hip, HipError
from ktrace_cli.selftest.wording import as_text, verdict
from ktrace_cli.selftest_file.result import Check, Figure, SelftestResult, Source, State

FIGURES = (
    Figure("s_memrealtime: step", 1.0, "ticks", Source.DEVICE),
    Figure("… by the host's clock", None, "MHz", Source.DEVICE, "not known"),
    Figure("launches", 1234567.0, "", Source.COUNTED),
    Figure("a launch", 2.5, "us", Source.HOST, "x" * 60),
    Figure("steps", "1 (50%)", "ticks", Source.DEVICE),
)
CHECKS = (
    Check("clocks", State.FAIL, "s_memtime went backwards: 1 instead of 0", FIGURES),
    Check("xcc_skew", State.SKIPPED, "the device has one XCC"),
    Check("of a later version", State.PASS, "well"),
)
MACHINE: dict[str, str | int | None] = {
    "target": "gfx942",
    "name": "AMD Instinct MI300X",
    "device_index": 2,
    "rocm_version": "7.0.1",
    "hip_runtime_version": 70000001,
    "kernel_driver_version": None,
}


def result(*, is_modelled: bool) -> SelftestResult:
    return SelftestResult("0.1.0", "2026-01-02T03:04:05Z", False, is_modelled, MACHINE, CHECKS)


def test_text_tells_states_figures_and_what_is_not_known() -> None:
    assert as_text(result(is_modelled=False)).splitlines() == [
        "ktrace 0.1.0, device 2: gfx942",
        "AMD Instinct MI300X",
        "ROCm 7.0.1, HIP 70000001",
        "",
        "fail     clock steps and rates",
        "         s_memtime went backwards: 1 instead of 0",
        "           s_memrealtime: step            1 tick",
        "           … by the host's clock          - MHz  not known",
        "           launches               1,234,567",
        "           a launch                     2.5 us",
        "             " + "x" * 60,
        "           steps                    1 (50%) ticks",
        "",
        "skipped  XCC skew",
        "         the device has one XCC",
        "",
        "pass     of a later version",
        "         well",
        "",
    ]
    assert verdict(result(is_modelled=False)) == "3 checks: 1 passed, 1 failed, 1 skipped"


def test_only_times_of_a_model_are_called_modelled() -> None:
    lines = as_text(result(is_modelled=True)).splitlines()

    assert lines[2] == "Times of this device are modelled: it is the software device, not hardware."
    assert [line.split()[0] for line in lines if "(modelled)" in line] == [
        "s_memrealtime:",
        "steps",
    ]


def test_a_machine_without_hip_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hip, "_open", lambda name: None)

    with pytest.raises(HipError, match=r"^no HIP library: no libamdhip64.so.7 where the loader"):
        Hip(0)


def test_a_library_that_lacks_a_call_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    library = SimpleNamespace(hipGetErrorString=lambda code: b"")
    monkeypatch.setattr(hip, "_open", lambda name: library)

    with pytest.raises(HipError, match=r"^this HIP has no hipGetDeviceCount$"):
        Hip(0)
