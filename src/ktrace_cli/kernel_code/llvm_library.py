"""Disassembles through the C interface of the LLVM library that `rocm-llvm-python` carries."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from ktrace_cli.code_object.elf import ElfFile, MalformedElfError, Part, read_elf
from ktrace_cli.kernel_code.machine_code import Instruction, MachineCode
from ktrace_cli.kernel_code.objdump import UnusableDisassemblerError

PACKAGE: Final = "rocm-llvm-python"
# The module that each package has, and its library. The second needs libraries of a ROCm beside it.
_LIBRARIES: Final = (("rocm.llvm", "librocmllvm.so"), ("rocm.bindings.llvm", "libLLVM.so"))
_TRIPLE: Final = b"amdgcn-amd-amdhsa"
_LONGEST: Final = 512
_TIMEOUT_S: Final = 60
_TRIAL: Final = """
import ctypes, sys
library, triple, processor = sys.argv[1:]
llvm = ctypes.CDLL(library)
for part in ("TargetInfo", "TargetMC", "Disassembler"):
    getattr(llvm, "LLVMInitializeAMDGPU" + part)()
create, step = llvm.LLVMCreateDisasmCPUFeatures, llvm.LLVMDisasmInstruction
create.restype = ctypes.c_void_p
context = create(triple.encode(), processor.encode(), b"", None, 0, None, None)
text, size = ctypes.create_string_buffer(64), ctypes.c_size_t(64)
step.restype = ctypes.c_size_t
place = ctypes.c_uint64(0)
read = context and step(
    ctypes.c_void_p(context), bytes.fromhex("000080bf"), ctypes.c_uint64(4), place, text, size
)
sys.exit(0 if read == 4 else 1)
"""
_WORD: Final = 4


def libraries() -> Iterator[Path]:
    """Yield the libraries at hand, without loading or importing anything of theirs."""
    for module, name in _LIBRARIES:
        try:
            spec = find_spec(module)
        except (ImportError, ValueError):
            continue
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            path = Path(folder) / name
            if path.is_file():
                yield path


def disassemble_with_library(
    library: Path, image: bytes | memoryview, processor: str
) -> MachineCode:
    """Disassemble the executable sections of a code object; nothing tells source lines.

    Raises:
        UnusableDisassemblerError: the library cannot be loaded, or does not know the processor.
    """
    _try_in_a_process_of_its_own(library, processor)
    llvm = _load(library)
    try:
        elf = read_elf(memoryview(image))
    except MalformedElfError as problem:
        raise UnusableDisassemblerError(str(problem)) from problem
    context = llvm.LLVMCreateDisasmCPUFeatures(
        _TRIPLE, processor.encode(), b"", None, 0, None, None
    )
    if not context:
        raise UnusableDisassemblerError(_unknown(library, processor))
    try:
        parts = [part for part in _executable(elf) if part.size]
        instructions = [one for part in parts for one in _read(llvm, context, elf, part)]
    finally:
        llvm.LLVMDisasmDispose(context)
    by_address = {instruction.address: instruction for instruction in instructions}
    ordered = tuple(by_address[address] for address in sorted(by_address))
    return MachineCode(library.name, ordered)


@lru_cache(maxsize=8)
def _try_in_a_process_of_its_own(library: Path, processor: str) -> None:
    # LLVM ends the whole process when it is asked for a processor that it does not know.
    command = [sys.executable, "-I", "-c", _TRIAL, str(library), _TRIPLE.decode(), processor]
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise UnusableDisassemblerError(f"{library.name}: {problem}") from problem
    if done.returncode:
        raise UnusableDisassemblerError(_unknown(library, processor))


def _unknown(library: Path, processor: str) -> str:
    return f"{library.name}: it cannot be loaded, or does not know {processor}"


def _executable(elf: ElfFile) -> list[Part]:
    return [part for part in elf.sections or elf.segments if part.is_executable]


def _read(llvm: Any, context: int, elf: ElfFile, part: Part) -> Iterator[Instruction]:
    content = bytes(elf.content(part))
    text = ctypes.create_string_buffer(_LONGEST)
    position = 0
    while position + _WORD <= len(content):
        piece = content[position : position + 32]
        address = part.address + position
        size = llvm.LLVMDisasmInstruction(context, piece, len(piece), address, text, _LONGEST)
        if size:
            words = text.value.decode("utf-8", "replace").strip()
        else:
            words = f".long 0x{int.from_bytes(piece[:_WORD], 'little'):08x}"
        yield Instruction(address, size or _WORD, words)
        position += size or _WORD


@lru_cache(maxsize=2)
def _load(path: Path) -> Any:
    try:
        llvm = ctypes.CDLL(str(path))
        for part in ("TargetInfo", "TargetMC", "Disassembler"):
            getattr(llvm, f"LLVMInitializeAMDGPU{part}")()
        create, step = llvm.LLVMCreateDisasmCPUFeatures, llvm.LLVMDisasmInstruction
        dispose = llvm.LLVMDisasmDispose
    except (OSError, AttributeError) as problem:
        raise UnusableDisassemblerError(f"{path.name}: {problem}") from problem
    text, pointer, size = ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t
    create.restype = pointer
    create.argtypes = (text, text, text, pointer, ctypes.c_int, pointer, pointer)
    step.restype = size
    step.argtypes = (pointer, text, ctypes.c_uint64, ctypes.c_uint64, text, size)
    dispose.restype = None
    dispose.argtypes = (pointer,)
    return llvm
