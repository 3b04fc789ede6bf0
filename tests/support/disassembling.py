"""Disassembly in tests: stored listings where it must not matter what a machine has installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from ktrace_cli.kernel_code.llvm_library import libraries
from ktrace_cli.kernel_code.objdump import (
    VARIABLE,
    UnusableDisassemblerError,
    objdumps,
    run_objdump,
)

LISTINGS = Path(__file__).parent / "listings"
LISTED_OBJDUMP = LISTINGS / "llvm-objdump"
SAMPLES = Path(__file__).parents[2] / "samples"


def use_listings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let stored listings be all that there is of a disassembler."""
    monkeypatch.setenv(VARIABLE, str(LISTED_OBJDUMP))


def use_no_disassembler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be none."""
    monkeypatch.setenv(VARIABLE, "/no/llvm-objdump")


def listing(name: str) -> list[str]:
    """Return the lines of a stored listing: `gemm.gfx942.co`."""
    return (LISTINGS / f"{name}.txt").read_text().splitlines()


def real_objdump() -> Path:
    """Return an llvm-objdump that reads gfx942, or skip the test."""
    image = (SAMPLES / "saxpy" / "saxpy.gfx942.co").read_bytes()
    for objdump in objdumps():
        try:
            run_objdump(objdump, image)
        except UnusableDisassemblerError:
            continue
        return objdump
    pytest.skip("no llvm-objdump here reads gfx942: apt-get install llvm-19")


def real_library() -> Path:
    """Return an LLVM library, or skip the test."""
    found = next(libraries(), None)
    if found is None:
        pytest.skip("pip install rocm-llvm-python")
    return found
