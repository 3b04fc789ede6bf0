"""Finds a disassembler that knows a code object's target, and disassembles with it."""

from __future__ import annotations

from collections.abc import Iterator

from ktrace_cli.errors import CodeObjectError
from ktrace_cli.kernel_code.llvm_library import PACKAGE, disassemble_with_library, libraries
from ktrace_cli.kernel_code.machine_code import MachineCode
from ktrace_cli.kernel_code.objdump import (
    VARIABLE,
    UnusableDisassemblerError,
    objdumps,
    run_objdump,
)
from ktrace_cli.kernel_code.occupancy import processor_of


def disassemble(image: bytes | memoryview, target: str, origin: str) -> MachineCode:
    """Disassemble all functions of a code object.

    Args:
        image: the ELF file.
        target: gfx942:sramecc+:xnack-
        origin: what to call it in messages.

    Raises:
        CodeObjectError: no disassembler is at hand, or none knows the target.
    """
    failures = []
    processor = processor_of(target)
    for attempt in _attempts(image, processor):
        if isinstance(attempt, MachineCode):
            return attempt
        failures.append(attempt)
    raise CodeObjectError(
        f"cannot disassemble {origin}",
        why=_why(failures, processor),
        fix=f"`pip install {PACKAGE}`, or install an LLVM that knows {processor}, or name an "
        f"llvm-objdump in {VARIABLE}",
    )


def _why(failures: list[str], processor: str) -> str:
    if not failures:
        return "no disassembler for AMD GPUs is installed"
    return f"no disassembler here reads {processor}: {'; '.join(failures)}"


def _attempts(image: bytes | memoryview, processor: str) -> Iterator[MachineCode | str]:
    """Yield the code as soon as one can read it; before that, why others could not."""
    for objdump in objdumps():
        try:
            yield run_objdump(objdump, image)
        except UnusableDisassemblerError as problem:
            yield str(problem)
    for library in libraries():
        try:
            yield disassemble_with_library(library, image, processor)
        except UnusableDisassemblerError as problem:
            yield str(problem)
