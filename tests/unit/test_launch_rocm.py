"""What programs find in the folder that stands for ROCm, beside the software device."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ktrace_cli.launch.environment import TraceOptions, traced_environment
from ktrace_cli.launch.native import Session
from ktrace_cli.launch.rocm import fill_rocm


@pytest.fixture
def rocm(tmp_path: Path) -> Path:
    folder = tmp_path / "session" / "rocm"
    (folder / "lib").mkdir(parents=True)
    (folder / "lib" / "libamdhip64.so").write_text("the software device")
    return folder


def executable(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def answer(tool: Path, **environment: str) -> str:
    done = subprocess.run([tool], env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def test_rocms_own_files_are_there_but_neither_its_hip_nor_its_libraries(
    rocm: Path, tmp_path: Path
) -> None:
    installed = tmp_path / "opt"
    executable(installed / "lib" / "llvm" / "bin" / "ld.lld", "of ROCm")
    (installed / "llvm").symlink_to("lib/llvm")
    executable(installed / "lib" / "libamdhip64.so", "AMD's")
    executable(installed / "lib" / "librocblas.so", "AMD's")
    executable(installed / "amdgcn" / "bitcode" / "ocml.bc", "code")
    executable(installed / "bin" / "hipcc", "compiler")
    executable(installed / "bin" / "rocminfo", "AMD's")

    fill_rocm(rocm, {"ROCM_PATH": str(installed)})

    assert (rocm / "lib" / "libamdhip64.so").read_text() == "the software device"
    assert sorted(path.name for path in (rocm / "lib").iterdir()) == ["libamdhip64.so", "llvm"]
    assert (rocm / "llvm" / "bin" / "ld.lld").read_text() == "of ROCm"
    assert (rocm / "amdgcn" / "bitcode" / "ocml.bc").read_text() == "code"
    assert (rocm / "bin" / "hipcc").read_text() == "compiler"
    assert "of ktrace" in (rocm / "bin" / "rocminfo").read_text()


def test_without_rocm_the_machines_newest_linker_takes_its_place(
    rocm: Path, tmp_path: Path
) -> None:
    for name in ("ld.lld-18", "ld.lld-19"):
        executable(tmp_path / "path" / name, f"#!/bin/sh\necho {name}\n")

    fill_rocm(rocm, {"ROCM_PATH": str(tmp_path / "none"), "PATH": str(tmp_path / "path")})

    assert answer(rocm / "llvm" / "bin" / "ld.lld", PATH=os.environ["PATH"]) == "ld.lld-19\n"


def test_without_any_other_linker_it_is_ziglangs(rocm: Path, tmp_path: Path) -> None:
    pytest.importorskip("ziglang")

    fill_rocm(rocm, {"ROCM_PATH": str(tmp_path / "none"), "PATH": str(tmp_path)})

    linker = rocm / "llvm" / "bin" / "ld.lld"
    done = subprocess.run([linker, "--version"], capture_output=True, text=True, check=True)
    assert "LLD 2" in done.stdout


@pytest.mark.parametrize(("count", "lines"), [("1", 1), ("3", 3)])
def test_tools_that_list_gpus_name_those_of_the_software_device(
    rocm: Path, tmp_path: Path, count: str, lines: int
) -> None:
    fill_rocm(rocm, {"ROCM_PATH": str(tmp_path / "none"), "PATH": str(tmp_path)})
    settings = {"KTRACE_SOFT_ARCH": "gfx950", "KTRACE_SOFT_DEVICES": count}

    assert answer(rocm / "bin" / "rocm_agent_enumerator", **settings) == "gfx950\n" * lines
    names = [line.split() for line in answer(rocm / "bin" / "rocminfo", **settings).splitlines()]
    assert names.count(["Name:", "gfx950"]) == lines


def test_the_tools_come_before_the_users_own_and_no_path_is_made_up() -> None:
    session = Session(Path("/tmp/ktrace-x"))

    with_path, without_path = (
        traced_environment(TraceOptions(inherited=user), session, "1", software_device=True)
        for user in ({"PATH": "/usr/bin"}, {})
    )

    assert with_path["PATH"] == "/tmp/ktrace-x/rocm/bin:/usr/bin"
    assert "PATH" not in without_path
