"""The wheel of `nox -s wheel` in clean environments: CI's job as it stands, CMake, the extras."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import PackageMetadata, distribution
from pathlib import Path

import pytest

from support.ci_jobs import commit, make_repository, run_job
from support.ci_machine import Machine

PROJECT = """
cmake_minimum_required(VERSION 3.20)
project(kernels LANGUAGES CXX)
find_package(ktrace 0.1 REQUIRED CONFIG)
add_library(kernels OBJECT kernel.cpp)
target_link_libraries(kernels PRIVATE ktrace::ktrace)
"""
KERNEL = """
#include <ktrace/format.h>
#ifndef KTRACE_ENABLE
#error "tracing was asked for"
#endif
int version = KTRACE_FILE_MAJOR;
"""


@pytest.fixture(scope="module")
def wheel() -> Path:
    folder = os.environ.get("KTRACE_DIST")
    if not folder:
        pytest.skip("KTRACE_DIST is not set: `nox -s wheel` builds what is tried here")
    return next(Path(folder).glob("*.whl"))


def test_the_documented_job_installs_the_wheel_and_passes(wheel: Path, tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository")
    (repository / "ci").mkdir()
    shutil.copy(wheel, repository / "ci" / wheel.name)
    commit(repository, "Add the wheel")

    first = run_job("github/ktrace.yml", repository, Machine(tmp_path / "first", install=True))

    assert (first.failed, first.status) == ("Compare and report", 1), first.output
    shutil.copy(first.artifacts / "ktrace/ktrace-baseline.json", repository)
    commit(repository, "Add the baseline")

    second = run_job("gitlab/ktrace.yml", repository, Machine(tmp_path / "second", install=True))

    assert (second.failed, second.status) == ("", 0), second.output
    assert "PASSED: none of 5 phases became slower than allowed" in second.summary


def test_the_job_for_a_gpu_installs_into_an_environment_of_its_own(
    wheel: Path, tmp_path: Path
) -> None:
    if not shutil.which("clang++-19"):
        pytest.skip("no clang++-19 in place of hipcc")
    repository = make_repository(tmp_path / "repository")
    (repository / "ci").mkdir()
    shutil.copy(wheel, repository / "ci" / wheel.name)
    commit(repository, "Add the wheel")
    hipcc = "clang++-19 -nogpuinc -nogpulib -Iminimal_hip"
    variables = {"DEVICE": "soft", "RUNS": "1", "HIPCC": hipcc}
    machine = Machine(tmp_path / "run", install=True, variables=variables)

    done = run_job("github/ktrace-gpu.yml", repository, machine)

    assert (done.failed, done.status) == ("", 0), done.output
    assert "PASSED: none of 5 phases became slower than allowed" in done.summary
    assert (machine.folder / "venv" / "bin" / "ktrace").exists()


def test_a_cmake_project_finds_the_installed_package(wheel: Path, tmp_path: Path) -> None:
    if not shutil.which("cmake"):
        pytest.skip("no cmake")
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    (tmp_path / "kernel.cpp").write_text(KERNEL)
    script = (
        'cmake -S . -B build -Dktrace_DIR="$(ktrace config --cmake-dir)" && cmake --build build'
    )
    programs = Path(sys.executable).parent

    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(tmp_path.glob("build/**/kernel.cpp.o"))) == 1


def test_the_extras_are_those_that_the_readme_names(wheel: Path) -> None:
    metadata: PackageMetadata = distribution("ktrace").metadata
    readme = (Path(__file__).parents[2] / "README.md").read_text()

    extras = set(metadata.get_all("Provides-Extra") or [])

    assert extras == {"disassembler", "flydsl", "parquet", "tests", "view"}
    assert [extra for extra in extras - {"tests"} if f"ktrace[{extra}]" not in readme] == []
