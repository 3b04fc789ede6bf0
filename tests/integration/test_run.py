"""`ktrace run` as its users start it, on the software device."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.asm_kernel import AsmKernel
from support.compile_kernel import any_compiler
from support.ktrace_command import TRACED, UNTRACED, Ktrace, said, saxpy


def test_a_run_says_one_line_and_adds_nothing_to_the_programs_output(
    ktrace: Ktrace, tmp_path: Path
) -> None:
    result = ktrace("run", "-o", "a.bin", "--device", "soft", "--", *saxpy(count=3))

    assert (result.returncode, result.stdout) == (0, "ok\n")
    (line,) = result.stderr.splitlines()
    assert re.fullmatch(
        r"ktrace: recorded 3 dispatches in a\.bin \(.* KiB\); next: `ktrace decode a\.bin`", line
    )
    assert [p.name for p in tmp_path.iterdir()] == ["a.bin"]


def test_without_a_driver_the_software_device_is_announced(ktrace: Ktrace) -> None:
    if Path("/dev/kfd").exists():
        pytest.skip("this machine has a GPU driver")

    result = ktrace("run", "-o", "a.bin", "--", *saxpy())

    assert result.stderr.splitlines()[0] == (
        "ktrace: no AMD GPU here: using the software device, whose times are modelled"
    )


def test_a_program_without_annotations_says_what_was_seen(ktrace: Ktrace, tmp_path: Path) -> None:
    result = ktrace("run", "-o", "a.bin", "--", *saxpy(UNTRACED, 2))

    assert (result.returncode, result.stdout) == (0, "ok\n")
    assert said(result) == [
        "nothing was recorded: saw 1 code object (0 annotated, with 0 annotated kernels) and "
        "2 launches (0 of annotated kernels); compile the kernel with ktrace.hpp and "
        "-DKTRACE_ENABLE"
    ]
    assert list(tmp_path.iterdir()) == []


def test_an_annotated_kernel_that_is_never_launched_says_what_was_seen(
    ktrace: Ktrace, tmp_path: Path
) -> None:
    result = ktrace("run", "-o", "a.bin", "--", *saxpy(TRACED, 0))

    assert said(result) == [
        "nothing was recorded: saw 1 code object (1 annotated, with 1 annotated kernel) and "
        "0 launches (0 of annotated kernels)"
    ]
    assert list(tmp_path.iterdir()) == []


def test_a_program_without_hip_says_so(ktrace: Ktrace) -> None:
    result = ktrace("run", "--", "true")

    assert result.returncode == 0
    assert said(result) == [
        "nothing was recorded: no process called HIP through a library that ktrace can see"
    ]


def test_a_full_standard_output_is_an_error_in_words(ktrace: Ktrace, tmp_path: Path) -> None:
    ktrace("run", "-o", "a.bin", "--", *saxpy())

    for command in (["summary", "a.bin"], ["summary", "--json", "a.bin"], ["inspect", "a.bin"]):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [sys.executable, "-m", "ktrace_cli", *command],
                cwd=tmp_path,
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        assert done.returncode == 1
        assert "ktrace: error: cannot write to standard output\n" in done.stderr
        assert "No space left on device" in done.stderr


def test_an_unknown_instruction_is_named_and_the_program_sees_hips_error(
    ktrace: Ktrace, tmp_path: Path
) -> None:
    compiler = any_compiler("gfx942")
    kernel = AsmKernel("  ds_gws_barrier v0 gds\n", name="saxpy")
    code_object = compiler.assemble(kernel.source("gfx942"))

    result = ktrace("run", "--", *saxpy(code_object))

    assert result.returncode != 0
    assert "ds_gws_barrier" in result.stderr
    assert "saxpy" in result.stderr
