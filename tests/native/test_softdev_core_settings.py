"""The software device's environment variables: what is understood, and what is refused and how."""

import os
import subprocess
import sys

import pytest

from support.hip import library_path

COUNT_DEVICES = """
import ctypes, sys
count = ctypes.c_int(-1)
print(ctypes.CDLL(sys.argv[1]).hipGetDeviceCount(ctypes.byref(count)), count.value)
"""
NO_DEVICE = 100
BUDGET = "a number of wave instructions is expected, in digits, from 1 to 18446744073709551615"
LANES = "`baseline` is expected, or `avx2`, or nothing"
THREADS = "a number of threads is expected, in digits, from 1 to 4294967295"
HOST_MEMORY = "`0` is expected, or `1`, or nothing"


def count_devices(**environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", COUNT_DEVICES, str(library_path())]
    return subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=True
    )


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        *(
            ("KTRACE_SOFT_BUDGET", value, BUDGET)
            for value in ("1e6", "abc", "0", "-5", "+5", " 5", "5 ", "0x10", "1.5", "10_000")
        ),
        ("KTRACE_SOFT_BUDGET", "18446744073709551616", BUDGET),
        *(
            ("KTRACE_SOFT_THREADS", value, THREADS)
            for value in ("0", "-1", "two", "2 ", "4294967296")
        ),
        *(("KTRACE_SOFT_LANES", value, LANES) for value in ("x", "avx512", "Baseline", "avx2 ")),
        ("KTRACE_SOFT_HOST_MEMORY", "no", HOST_MEMORY),
    ],
)
def test_a_value_that_is_not_understood_is_one_line_and_no_device(
    variable: str, value: str, expected: str
) -> None:
    done = count_devices(**{variable: value})

    assert done.stdout.split()[0] == str(NO_DEVICE)
    line = f"ktrace softdev: {variable} is `{value}`; {expected}: there are no devices\n"
    assert done.stderr == line


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("KTRACE_SOFT_BUDGET", ""),
        ("KTRACE_SOFT_BUDGET", "1"),
        ("KTRACE_SOFT_BUDGET", "18446744073709551615"),
        ("KTRACE_SOFT_THREADS", ""),
        ("KTRACE_SOFT_THREADS", "1"),
        ("KTRACE_SOFT_THREADS", "4294967295"),
        ("KTRACE_SOFT_LANES", ""),
        ("KTRACE_SOFT_LANES", "baseline"),
        ("KTRACE_SOFT_LANES", "avx2"),
        ("KTRACE_SOFT_HOST_MEMORY", "0"),
        ("KTRACE_SOFT_HOST_MEMORY", "1"),
    ],
)
def test_a_value_that_is_understood_leaves_the_device(variable: str, value: str) -> None:
    done = count_devices(**{variable: value})

    assert (done.stdout, done.stderr) == ("0 1\n", "")
