"""Finds a disassembler that knows a code object's target, and disassembles with it."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

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
    processor = processor_of(target)
    readers = [partial(run_objdump, objdump, image) for objdump in objdumps()]
    if not os.environ.get(VARIABLE):
        found = libraries()
        readers += [partial(disassemble_with_library, one, image, processor) for one in found]
    failures = []
    for reader in readers:
        read = _attempt(reader)
        if isinstance(read, MachineCode):
            return read
        failures.append(read)
    raise CodeObjectError(
        f"cannot disassemble {origin}",
        why=_why(failures, processor),
        fix=f"`pip install {PACKAGE}`, or install an LLVM that knows {processor}, or name an "
        f"llvm-objdump in {VARIABLE}",
    )


def _attempt(reader: Callable[[], MachineCode]) -> MachineCode | str:
    """Return the code, or why it cannot be read."""
    try:
        return reader()
    except UnusableDisassemblerError as problem:
        return str(problem)


def _why(failures: list[str], processor: str) -> str:
    if not failures:
        return "no disassembler for AMD GPUs is installed"
    return f"no disassembler here reads {processor}: {'; '.join(failures)}"
