"""Annotated kernels in translation units of their own, linked into one code object."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from support.compile_kernel import any_compiler

_ROOT = Path(__file__).parents[2]
_INCLUDES = (_ROOT / "samples" / "minimal_hip", _ROOT / "preload" / "include")
_ARCH = "gfx942"


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
