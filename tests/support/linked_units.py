"""Annotated kernels in translation units of their own, linked into one code object."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.compile_kernel import any_compiler

_ROOT = Path(__file__).parents[2]
_INCLUDES = (_ROOT / "samples" / "minimal_hip", _ROOT / "preload" / "include")
_ARCH = "gfx942"
_CLANG = ("clang++-19", "--target=amdgcn-amd-amdhsa", f"-mcpu={_ARCH}", "-O2", "-nogpulib")


def source(kernel: str, marker: str, unit: str, parameters: str = "int* out") -> str:
    """Write a kernel of one marker that sets its first 64 numbers to 7."""
    return f"""
#define KTRACE_UNIT_NAME "{unit}"
#include <hip/hip_runtime.h>
#include <ktrace/ktrace.hpp>
extern "C" __global__ void {kernel}({parameters} KTRACE_PARAM) {{
  KTRACE_WAVE(t);
  KTRACE_MARK(t, "{marker}");
  out[threadIdx.x] = 7;
}}
"""


def link(folder: Path, *sources: str, options: Sequence[str] = ()) -> Path:
    """Compile each source to an object and link them: one code object, a metadata note of each."""
    compiler = any_compiler(_ARCH)
    objects = []
    for number, text in enumerate(sources):
        # A symbol is named by the second option.
        assembly = compiler.hip_assembly(
            text, "-DKTRACE_ENABLE", f"-cuid={number}", includes=_INCLUDES
        )
        objects.append(folder / f"{number}.o")
        subprocess.run(
            [
                *compiler.driver,
                *("--target=amdgcn-amd-amdhsa", f"-mcpu={_ARCH}", "-x", "assembler"),
                *("-c", assembly, "-o", objects[-1]),
            ],
            check=True,
        )
    linked = folder / "linked.co"
    command = [*compiler.linker, "-shared", *options, *objects, "-o", linked]
    subprocess.run(command, check=True)
    return linked


def link_bitcode(folder: Path, *sources: str) -> Path:
    """Link the units before they are compiled, as `-fgpu-rdc` does: one metadata note for all."""
    linker = shutil.which("llvm-link-19")
    if not linker:
        pytest.skip("llvm-link-19 is not installed")
    units = _to_bitcode(folder, sources)
    whole, linked = folder / "whole.bc", folder / "linked.co"
    subprocess.run([linker, *units, "-o", whole], check=True)
    subprocess.run([*_CLANG, "-x", "ir", whole, "-o", linked], check=True)
    return linked


def link_relocatable(folder: Path, *sources: str) -> Path:
    """Compile each unit to an object that may call the others, and link them."""
    linked, objects = folder / "linked.co", []
    for unit in _to_bitcode(folder, sources):
        objects.append(unit.with_suffix(".o"))
        subprocess.run([*_CLANG, "-c", "-x", "ir", unit, "-o", objects[-1]], check=True)
    subprocess.run([*any_compiler(_ARCH).linker, "-shared", *objects, "-o", linked], check=True)
    return linked


def _to_bitcode(folder: Path, sources: Sequence[str]) -> list[Path]:
    if not shutil.which(_CLANG[0]):
        pytest.skip(f"{_CLANG[0]} is not installed")
    options = ["-x", "hip", "--offload-device-only", f"--offload-arch={_ARCH}", "-nogpuinc"]
    options += ["-nogpulib", "-std=c++17", "-O2", "-fgpu-rdc", "-c", "-emit-llvm"]
    options += ["-DKTRACE_ENABLE", "--no-gpu-bundle-output"]
    units = []
    for number, text in enumerate(sources):
        path = folder / f"{number}.hip"
        path.write_text(text)
        units.append(path.with_suffix(".bc"))
        includes = [f"-I{include}" for include in _INCLUDES]
        subprocess.run(
            [_CLANG[0], *options, f"-cuid={number}", *includes, path, "-o", units[-1]], check=True
        )
    return units
