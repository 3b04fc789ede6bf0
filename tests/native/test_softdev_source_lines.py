"""Source lines in what the software device says about a kernel: .debug_line of DWARF 4 and 5."""

import random
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from support.compile_kernel import Compiler, any_compiler, compilers_for
from support.hip import Launch, launch_kernels

EARLY = """#include "mini_hip.hpp"
__device__ int copied(int x) {
  int copy;
  asm volatile("v_mov_b32 %0, %1" : "=&v"(copy) : "v"(x));
  return copy;
}

extern "C" __global__ void early(const int* in, int* out) {
  int loaded;
  asm volatile("global_load_dword %0, %1, %2" : "=&v"(loaded) : "v"(threadIdx.x * 4), "s"(in));
  out[threadIdx.x] = copied(loaded);
}
"""
WILD = """#include "mini_hip.hpp"

extern "C" __global__ void wild(int* out) {
  *(volatile int*)0x10 = 3;
}
"""
CASES = [
    (compiler, version)
    for target in ("gfx942", "gfx950")
    for compiler in compilers_for(target)
    for version in (4, 5)
]
NAMES = [f"{compiler.name}-{compiler.target}-dwarf{version}" for compiler, version in CASES]


def said(code_objects: list[Path], target: str, kernel: str = "early") -> list[str]:
    buffers = [np.ones(64, np.int32), np.zeros(64, np.int32)]
    launches = [
        Launch(path, kernel, buffers if kernel == "early" else buffers[:1]) for path in code_objects
    ]
    outcome = launch_kernels(launches, target, {"KTRACE_SOFT_CHECK": "1"})
    assert len(outcome.statuses) == len(launches)
    return outcome.errors.splitlines()


@pytest.mark.parametrize(("compiler", "version"), CASES, ids=NAMES)
def test_a_check_names_the_line_of_the_read_and_of_the_load(
    compiler: Compiler, version: int
) -> None:
    first, _ = said([compiler.hip(EARLY, "-g", f"-gdwarf-{version}")], compiler.target)

    assert " v_mov_b32] at kernel.hip:4: reads v" in first
    assert first.endswith(" (kernel.hip:10)")


def test_a_fault_names_its_line() -> None:
    (fault,) = said([any_compiler("gfx942").hip(WILD, "-gline-tables-only")], "gfx942", "wild")

    assert "] at kernel.hip:4: memory access fault" in fault


def test_without_debug_information_no_line_is_named() -> None:
    first, _ = said([any_compiler("gfx942").hip(EARLY)], "gfx942")

    assert " v_mov_b32]: reads v" in first
    assert "kernel.hip" not in first


def test_a_damaged_line_table_costs_the_line_and_nothing_else(tmp_path: Path) -> None:
    whole = any_compiler("gfx942").hip(EARLY, "-g")
    with whole.open("rb") as file:
        section = ELFFile(file).get_section_by_name(".debug_line")
        begin, size = section["sh_offset"], section["sh_size"]
    generator = random.Random(7)
    damaged = []
    for number in range(30):
        content = bytearray(whole.read_bytes())
        if number == 0:
            content[begin : begin + size] = b"\xff" * size
        for _ in range(number):
            content[begin + generator.randrange(size)] = generator.randrange(256)
        damaged.append(tmp_path / f"{number}.co")
        damaged[-1].write_bytes(content)

    *_, last = said(damaged, "gfx942")

    assert last == "ktrace: check: 30 findings at 1 instruction"
