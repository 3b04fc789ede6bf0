"""Every instruction of a target, found by disassembling the whole space of opcodes.

For each encoding and each opcode there are a few candidates with operands that some instruction of
the encoding accepts; LLVM says which of them are instructions, and their names.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence

from support.hip_calls import load_hip
from support.instructions import SUFFIX, TARGETS, Instruction
from support.native_decoder import decode

Words = tuple[int, ...]

_OUTPUT = re.compile(r"\s*(\S+).*encoding: \[(.*)\]")
_V = 256  # the operand code of v0


def candidates() -> Iterator[Words]:
    """Give the candidates, of every encoding."""
    yield from _scalar()
    yield from _memory()
    yield from _local_memory()
    yield from _vector()
    yield from _packed()


def _scalar() -> Iterator[Words]:
    for op in range(256):
        for source, result in ((2, 4), (2, 124), (2, 0), (0, 4)):
            yield (0xBE800000 | result << 16 | op << 8 | source,)
    for op in range(128):
        yield (0x80000000 | op << 23 | 4 << 16 | 6 << 8 | 2,)
        yield (0x80000000 | op << 23 | 6 << 8 | 2,)
        yield (0xBF000000 | op << 16 | 6 << 8 | 2,)
        yield (0xBF000000 | op << 16 | 1 << 8 | 2,)
        yield (0xBF800000 | op << 16 | 1,)
        yield (0xBF800000 | op << 16,)
    for op in range(32):
        yield (0xB0000000 | op << 23 | 4 << 16 | 1,)
        yield (0xB0000000 | op << 23 | 0xF801, 0x10)
    for op in range(256):
        for data in (4, 8):
            yield (0xC0020000 | op << 18 | data << 6 | 8, 0x10)
            yield (0xC0030000 | op << 18 | data << 6 | 8, 0x10)
        yield (0xC0000000 | op << 18, 0)
        yield (0xC0000000 | op << 18 | 4 << 6, 0)


def _memory() -> Iterator[Words]:
    for op in range(128):
        for segment in range(3):
            uses_vaddr = 1 << 13 if segment == 1 else 0
            base = 0xDC000000 | op << 18 | segment << 14 | uses_vaddr
            no_saddr = 0x7F << 16
            for returns in (0, 1 << 16):
                for high in (8 << 8 | 20 << 24, 8 << 8, 20 << 24, 0):
                    yield (base | returns, 4 | high | no_saddr)
                    yield (base | returns, 4 | high)
    for op in range(128):
        for flags in (0, 1 << 14, 1 << 16):
            data = 0 if flags == 1 << 16 else 8
            yield (0xE0001000 | op << 18 | flags, 4 | data << 8 | 2 << 16 | 128 << 24)
            yield (0xE0000000 | op << 18 | flags, 0)
    for op in range(16):
        yield (0xEBA01000 | op << 15, 4 | 8 << 8 | 2 << 16 | 128 << 24)


def _local_memory() -> Iterator[Words]:
    address, data, data2, result = 4, 8 << 8, 12 << 16, 20 << 24
    operands = (
        address | data | data2 | result, address | data, address | data | data2,
        address | data | result, address | result, result, address, 4 << 8, data, 0,
    )  # fmt: skip
    for op in range(256):
        for high in operands:
            yield (0xD8000000 | op << 17, high)
        for high in (address, 4 << 8, 0):
            yield (0xD8010000 | op << 17, high)


def _vector() -> Iterator[Words]:
    for op in range(64):
        yield (op << 25 | 4 << 17 | 6 << 9 | _V + 8,)
        yield (op << 25 | 4 << 17 | 6 << 9 | _V + 8, 0x42)
    for op in range(256):
        yield (0x7E000000 | 4 << 17 | op << 9 | _V + 8,)
        yield (0x7E000000 | 4 << 17 | op << 9 | 8,)
        yield (0x7E000000 | op << 9,)
        yield (0x7C000000 | op << 17 | 6 << 9 | _V + 8,)
    v8, v16, v24, v40, v72 = _V + 8, _V + 16, _V + 24, _V + 40, _V + 72
    sources = (
        (v8, v16, v24), (v8, v16, 0), (v8, 0, 0), (v8, 8, 0), (8, 10, 0), (8, v8, 0),
        (v8, v40, v72),
    )  # fmt: skip
    for op in range(1024):
        for a, b, c in sources:
            high = a | b << 9 | c << 18
            yield (0xD0000004 | op << 16, high)
            yield (0xD0000004 | op << 16 | 106 << 8, high)


def _packed() -> Iterator[Words]:
    v8, v16, v24, v32, v64 = _V + 8, _V + 16, _V + 24, _V + 32, _V + 64
    for op in range(128):
        for a, b, c in ((v8, v16, v24), (v8, v16, 0), (v8, 0, 0), (v16, v32, v64)):
            for low in (0x4004, 4, 0x8004, 0x4040, 0x40):
                for accumulation in (0, 3 << 27):
                    high = a | b << 9 | c << 18 | accumulation
                    yield (0xD3800000 | op << 16 | low, high)
    for op in (45, 46):
        scales = (0xD3AC0800, (_V + 20) | (_V + 22) << 9)
        yield (*scales, 0xD3800840 | op << 16, v8 | v24 << 9 | v64 << 18)


def named(target: str, llvm_mc: str) -> dict[str, Words]:
    """Give the first candidate of every mnemonic that the target has."""
    tried = list(candidates())
    lines = ["[" + ",".join(f"{byte:#04x}" for byte in _bytes(words)) + "]" for words in tried]
    command = [
        llvm_mc,
        "--disassemble",
        "--triple=amdgcn-amd-amdhsa",
        f"--mcpu={target}",
        "--show-encoding",
    ]
    done = subprocess.run(
        command, input="\n".join(lines), capture_output=True, text=True, check=False
    )
    found: dict[Words, str] = {}
    for line in done.stdout.splitlines():
        if match := _OUTPUT.match(line):
            found[_dwords(match[2])] = SUFFIX.sub("", match[1])
    names: dict[str, Words] = {}
    for words in tried:
        if words in found:
            names.setdefault(found[words], words)
    return names


def _bytes(words: Words) -> bytes:
    return b"".join(word.to_bytes(4, "little") for word in words)


def _dwords(text: str) -> Words:
    content = bytes(int(byte, 16) for byte in text.split(","))
    return tuple(int.from_bytes(content[k : k + 4], "little") for k in range(0, len(content), 4))


def list_anew(before: Sequence[Instruction], llvm_mc: str) -> list[Instruction]:
    """Make the list anew; what was seen in programs stays."""
    seen = {one.mnemonic: one.seen for one in before}
    targets: dict[tuple[str, Words], list[str]] = {}
    for target in TARGETS:
        for name, words in named(target, llvm_mc).items():
            targets.setdefault((name, words), []).append(target)
    library = load_hip()
    return [
        Instruction(
            name,
            tuple(f"{word:08x}" for word in words),
            tuple(having),
            all(decode(library, words, target)[0] > 0 for target in having),
            seen.get(name, ()),
        )
        for (name, words), having in targets.items()
    ]
