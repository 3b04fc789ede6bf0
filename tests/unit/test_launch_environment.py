"""What a traced program finds in its environment, and which HIP it gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from ktrace_cli.errors import KtraceError, UsageError
from ktrace_cli.launch.device import DeviceChoice, is_software
from ktrace_cli.launch.environment import TraceOptions, changes, traced_environment
from ktrace_cli.launch.native import Session
from ktrace_cli.units import format_bytes, format_duration, parse_size

SESSION = Session(Path("/tmp/ktrace-x"))


def test_the_users_preloads_stay_in_order_behind_ours() -> None:
    options = TraceOptions(inherited={"LD_PRELOAD": "a.so:b.so", "LD_LIBRARY_PATH": "/u/lib"})

    environment = traced_environment(options, SESSION, "1.2.3", software_device=True)

    assert environment["LD_PRELOAD"] == (
        "/tmp/ktrace-x/libktrace_preload.so:/tmp/ktrace-x/rocm/lib/libamdhip64.so.7:a.so:b.so"
    )
    assert environment["LD_LIBRARY_PATH"] == "/tmp/ktrace-x/rocm/lib:/u/lib"
    assert environment["ROCM_PATH"] == "/tmp/ktrace-x/rocm"


def test_hardware_runs_keep_their_own_hip() -> None:
    options = TraceOptions(inherited={"ROCM_PATH": "/opt/rocm"})

    environment = traced_environment(options, SESSION, "1.2.3", software_device=False)

    assert environment["LD_PRELOAD"] == "/tmp/ktrace-x/libktrace_preload.so"
    assert environment["ROCM_PATH"] == "/opt/rocm"
    assert "LD_LIBRARY_PATH" not in environment


def test_options_become_variables_and_empty_ones_do_not() -> None:
    options = TraceOptions(
        output=Path("/out/%rank%.bin"), kernels=("gemm*", "/attn/"), words="256",
        kernel_include=("a", "b"), kernel_exclude=("c", "d"), kernel_iterations="1,3-4",
        periods="0:1:2", mode="claim", full="ring", on_full="wait", on_full_ms="9", hang_ms="5",
        log_level="info", soft_arch="gfx950", soft_devices="2", soft_check="1", memory="65536",
        blocks="0", waves="1", xcc="2",
    )  # fmt: skip

    environment = traced_environment(options, SESSION, "1.2.3", software_device=False)

    ours = {k: v for k, v in environment.items() if k.startswith("KTRACE_")}
    assert ours == {
        "KTRACE_SESSION_DIR": "/tmp/ktrace-x",
        "KTRACE_VERSION": "1.2.3",
        "KTRACE_OUTPUT": "/out/%rank%.bin",
        "KTRACE_OUTPUT_DIR": str(Path("ktrace_out").absolute()),
        "KTRACE_KERNELS": "gemm*\n/attn/",
        "KTRACE_WORDS": "256",
        "KTRACE_KERNEL_INCLUDE": "a\nb",
        "KTRACE_KERNEL_EXCLUDE": "c\nd",
        "KTRACE_KERNEL_ITERATIONS": "1,3-4",
        "KTRACE_PERIODS": "0:1:2",
        "KTRACE_MODE": "claim",
        "KTRACE_FULL": "ring",
        "KTRACE_ON_FULL": "wait",
        "KTRACE_ON_FULL_MS": "9",
        "KTRACE_HANG_MS": "5",
        "KTRACE_LOG_LEVEL": "info",
        "KTRACE_SOFT_ARCH": "gfx950",
        "KTRACE_SOFT_DEVICES": "2",
        "KTRACE_SOFT_CHECK": "1",
        "KTRACE_MEMORY": "65536",
        "KTRACE_BLOCKS": "0",
        "KTRACE_WAVES": "1",
        "KTRACE_XCC": "2",
    }


def test_nothing_given_sets_nothing_but_the_place() -> None:
    environment = traced_environment(TraceOptions(), SESSION, "1.2.3", software_device=True)

    assert sorted(name for name in environment if name.startswith("KTRACE_")) == [
        "KTRACE_OUTPUT_DIR", "KTRACE_SESSION_DIR", "KTRACE_VERSION",
    ]  # fmt: skip


def test_what_the_program_gets_is_shown_as_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAME", "1")
    monkeypatch.setenv("OTHER", "1")

    assert changes({"SAME": "1", "OTHER": "2", "KTRACE_X": "3"}) == [
        ("KTRACE_X", "3"), ("OTHER", "2"),
    ]  # fmt: skip


def test_auto_takes_the_software_device_only_without_a_driver(tmp_path: Path) -> None:
    assert is_software(DeviceChoice.AUTO, tmp_path / "kfd") is True
    assert is_software(DeviceChoice.HARDWARE, tmp_path / "kfd") is False
    assert is_software(DeviceChoice.SOFT, Path("/dev/null")) is True
    assert is_software(DeviceChoice.AUTO, Path("/dev/null")) is False


def test_a_driver_without_permission_is_an_error_and_never_simulated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kfd = tmp_path / "kfd"
    kfd.touch()
    monkeypatch.setattr("os.access", lambda *_: False)

    with pytest.raises(KtraceError, match="no permission") as problem:
        is_software(DeviceChoice.AUTO, kfd)

    assert problem.value.status == 125
    assert "usermod -aG render" in problem.value.fix


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("65536", 65536),
        ("512M", 536870912),
        ("2G", 2147483648),
        ("1.5 GiB", 1610612736),
        ("64kB", 65536),
    ],
)
def test_sizes_are_binary(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "-1", "M", "12 parsecs", "1e9"])
def test_what_is_no_size_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError) as problem:
        parse_size(text)

    assert problem.value.status == 2


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"), (12, "12 ns"), (1234, "1.23 us"), (999.4, "999 ns"), (999_960, "1.00 ms"),
        (56_789, "56.8 us"), (123_456_789, "123 ms"), (2_000_000_000, "2 s"), (0.476, "0.48 ns"),
    ],
)  # fmt: skip
def test_durations_have_three_digits_and_a_unit(ns: float, text: str) -> None:
    assert format_duration(ns) == text


def test_bytes_have_a_unit() -> None:
    assert [format_bytes(n) for n in (12, 2048, 5_000_000, 1 << 31)] == [
        "12 B", "2.0 KiB", "4.8 MiB", "2.0 GiB",
    ]  # fmt: skip
