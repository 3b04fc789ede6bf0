"""The code object that a bundle's instructions come from: its target, resources and phases."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ktrace_cli.att.code_table import CodeTable
from ktrace_cli.att.faults import Faults
from ktrace_cli.code_object.contents import CodeObject, Kernel
from ktrace_cli.code_object.files import read_file
from ktrace_cli.errors import KtraceError
from ktrace_cli.kernel_code.machine_code import Instruction, MachineCode
from ktrace_cli.kernel_code.phases import PhaseMap, map_phases

_NAME: Final = re.compile(r"code_object_id_(\d+)\.out$")
_LONGEST_INSTRUCTION: Final = 20
_WORD: Final = 4


@dataclass(frozen=True)
class KernelObject:
    """A kernel of a code object whose addresses those of the trace are."""

    origin: str
    code_object: CodeObject
    kernel: Kernel

    @property
    def name(self) -> str:
        """Of the file, without folders."""
        return self.origin.rpartition("/")[2]


def find_kernel_object(
    folder: Path, given: Path | None, place: tuple[int, int, str], faults: Faults
) -> KernelObject | None:
    """Find the code object of a kernel: the one given, else one beside the bundle.

    Args:
        folder: the bundle.
        given: a code object that the user names.
        place: the kernel's code object id, the address of its first instruction, its name.
        faults: gets the counts.

    Raises:
        KtraceError: the file that the user names cannot be read, or has other kernels.
    """
    number, address, name = place
    if given is not None:
        found = _holding(given, address, name)
        if found is None:
            raise KtraceError(
                f"{given} has no kernel at address 0x{address:x}",
                why=f"there `{name}` begins in the trace: it is another build",
                fix="give the code object that was traced, *_code_object_id_"
                f"{number}.out in rocprofv3's output",
            )
        return found
    held = (_readable(path, address, name, faults) for path in _beside(folder, number))
    return next((one for one in held if one is not None), None)


def _readable(path: Path, address: int, name: str, faults: Faults) -> KernelObject | None:
    try:
        return _holding(path, address, name)
    except KtraceError:
        faults["unreadable_beside"] += 1
        return None


def _beside(folder: Path, number: int) -> list[Path]:
    near = (folder, folder.resolve().parent)
    found = [path for one in near for path in sorted(one.glob("*code_object_id_*.out"))]
    return [p for p in found if (n := _NAME.search(p.name)) and int(n[1][:18]) == number]


def _holding(path: Path, address: int, name: str) -> KernelObject | None:
    """Return the kernel whose code the address is in; of the same name, if there are several."""
    content = read_file(path)
    if not content.found and content.problems:
        raise content.problems[0]
    holding = [
        KernelObject(one.origin, one.code_object, kernel)
        for one in content.found
        for kernel in one.code_object.kernels
        if kernel.code is not None and address in kernel.code
    ]
    named = [one for one in holding if one.kernel.name == name]
    return next(iter(named or holding), None)


def phases_of(found: KernelObject, table: CodeTable, rows: Sequence[int]) -> PhaseMap | None:
    """Find the phases of a kernel in the disassembly of the trace; None without annotations.

    Args:
        found: the kernel.
        table: the code.
        rows: the instructions of its code object, in the order of addresses.
    """
    if not found.kernel.is_annotated:
        return None
    addresses = table.address[rows].tolist()
    following = [*addresses[1:], (addresses[-1] if addresses else 0) + _WORD]
    code = tuple(
        Instruction(address, _size(after - address), table.text[row].strip())
        for row, address, after in zip(rows, addresses, following, strict=True)
    )
    return map_phases(MachineCode("code.json", code), found.code_object, found.kernel)


def _size(gap: int) -> int:
    return gap if 0 < gap <= _LONGEST_INSTRUCTION else _WORD
