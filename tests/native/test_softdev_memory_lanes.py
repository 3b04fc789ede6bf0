"""Memory instructions give each lane what it asked for, in every copy, however lanes lie."""

from collections.abc import Iterator

import numpy as np
import pytest

from support.memory_lanes import (
    LANES,
    LDS_BYTES,
    MEMORY_BYTES,
    REGISTERS,
    Case,
    Instruction,
    Words,
    active_lanes,
    expected,
    run_cases,
)

COPIES = ("baseline", "avx2", "")
LANE = np.arange(LANES)
ALL = 2**64 - 1
EXECS = (ALL, 2**48 - 1, ALL << 5 & ALL, 0x5555555555555555, 0x00FF_F0F0_0000_FFFF, 1 << 37, 0)
SPACINGS = ("run", "step", "backwards", "together", "tiles", "blocks", "broken", "anywhere", "near")


def moves(prefix: str, place: str, lds: bool) -> Iterator[Instruction]:
    """Loads and stores; `place` is a format of the operands."""
    for suffix, size, signed, half in (
        ("ubyte", 1, False, ""),
        ("sbyte", 1, True, ""),
        ("ushort", 2, False, ""),
        ("sshort", 2, True, ""),
        ("short_d16", 2, False, "low"),
        ("short_d16_hi", 2, False, "high"),
        ("dword", 4, False, ""),
        ("dwordx2", 8, False, ""),
        ("dwordx3", 12, False, ""),
        ("dwordx4", 16, False, ""),
    ):
        for target in (16, 8):  # beside the address, and over it
            registers = span(target, size)
            text = f"{prefix}_load_{suffix} {place.format(data=registers)}"
            yield Instruction(text, "load", size, (8,), target, (), signed, half, lds=lds)
    for suffix, size, half in (
        ("byte", 1, ""),
        ("short", 2, ""),
        ("short_d16_hi", 2, "high"),
        ("dword", 4, ""),
        ("dwordx2", 8, ""),
        ("dwordx3", 12, ""),
        ("dwordx4", 16, ""),
    ):
        operands = place.format(data=span(10, size))
        if prefix != "buffer":
            data, address, *rest = operands.split(", ", 2)
            operands = ", ".join([address.split(" offset")[0], data, *rest])
        text = f"{prefix}_store_{suffix} {operands}"
        if " offset:8" not in text:
            text += " offset:8"
        yield Instruction(text, "store", size, (8,), lds=lds, half=half)


def span(first: int, size: int) -> str:
    return f"v{first}" if size <= 4 else f"v[{first}:{first + size // 4 - 1}]"


def lds_moves() -> Iterator[Instruction]:
    for suffix, size, signed, half in (
        ("u8", 1, False, ""),
        ("i8", 1, True, ""),
        ("u16", 2, False, ""),
        ("i16", 2, True, ""),
        ("u16_d16", 2, False, "low"),
        ("u8_d16_hi", 1, False, "high"),
        ("b32", 4, False, ""),
        ("b64", 8, False, ""),
        ("b96", 12, False, ""),
        ("b128", 16, False, ""),
    ):
        for target in (16, 8):
            text = f"ds_read_{suffix} {span(target, size)}, v8 offset:8"
            yield Instruction(text, "load", size, (8,), target, (), signed, half, lds=True)
    for suffix, size, half in (
        ("b8", 1, ""),
        ("b16", 2, ""),
        ("b16_d16_hi", 2, "high"),
        ("b32", 4, ""),
        ("b64", 8, ""),
        ("b96", 12, ""),
        ("b128", 16, ""),
    ):
        text = f"ds_write_{suffix} v8, {span(10, size)} offset:8"
        yield Instruction(text, "store", size, (8,), half=half, lds=True)
    for name, size, unit in (("2", 4, 4), ("2", 8, 8), ("2st64", 4, 256), ("2st64", 8, 512)):
        bits, offsets = 8 * size, (unit, 0)
        for target in (16, 8):
            text = f"ds_read{name}_b{bits} {span(target, 2 * size)}, v8 offset0:1"
            yield Instruction(text, "load", size, offsets, target, lds=True)
        second = 10 + size // 4
        text = f"ds_write{name}_b{bits} v8, {span(10, size)}, {span(second, size)} offset0:1"
        yield Instruction(text, "store", size, offsets, data=(10, second), lds=True)


def signed32(value: int) -> int:
    return value - 2**32 if value >> 31 else value


def atomics() -> Iterator[Instruction]:
    add = lambda old, data, _: old + data  # noqa: E731
    for target, flags in ((0, ""), (16, " sc0"), (8, " sc0")):
        result = f"v{target}, " if target else ""
        wide = f"v[{target}:{target + 1}], " if target else ""

        def memory(name: str, operands: str, result: str = result, flags: str = flags) -> str:
            return f"global_atomic_{name} {result}v8, {operands}, s[4:5] offset:8{flags}"

        def swap(old: int, data: int, wanted: int) -> int:
            return data if old == wanted else old

        yield Instruction(memory("add", "v10"), "atomic", 4, (8,), target, update=add)
        yield Instruction(memory("add_x2", "v[10:11]", wide), "atomic", 8, (8,), target, update=add)
        yield Instruction(memory("cmpswap", "v[10:11]"), "atomic", 4, (8,), target, update=swap)
        yield Instruction(
            memory("smax", "v10"), "atomic", 4, (8,), target,
            update=lambda old, data, _: max(signed32(old), signed32(data)),
        )  # fmt: skip
        yield Instruction(
            memory("inc", "v10"), "atomic", 4, (8,), target,
            update=lambda old, data, _: 0 if old >= data else old + 1,
        )  # fmt: skip
        rtn = "_rtn" if target else ""
        for name, size, update in (
            ("add", 4, add),
            ("rsub", 4, lambda old, data, _: data - old),
            ("add", 8, add),
        ):
            registers = f"{span(target, size)}, " if target else ""
            text = f"ds_{name}{rtn}_u{8 * size} {registers}v8, {span(10, size)} offset:8"
            yield Instruction(text, "atomic", size, (8,), target, update=update, lds=True)


def lanes_of(addresses: Words) -> Words:
    return (addresses + np.uint32(8)) // 4 % LANES


def swizzled(pattern: int) -> Words:
    if pattern & 0x8000:
        return np.array([lane & ~3 | pattern >> 2 * (lane & 3) & 3 for lane in range(LANES)])
    masks = [pattern & 31 | 32, pattern >> 5 & 31, pattern >> 10 & 31]
    return (LANE & masks[0] | masks[1]) ^ masks[2]


SWIZZLES = (0x041F, 0x7C1F, 0x001C, 0x0018, 0x03E0, 0x804E, 0x5A95)


def permutes() -> Iterator[Instruction]:
    for target in (16, 8, 10):
        for name, kind in (("bpermute", "pull"), ("permute", "push")):
            text = f"ds_{name}_b32 v{target}, v8, v10 offset:8"
            yield Instruction(text, kind, target=target, source=lanes_of)
        for pattern in SWIZZLES:
            text = f"ds_swizzle_b32 v{target}, v10 offset:{pattern}"
            yield Instruction(text, "pull", target=target, source=lambda _, p=pattern: swizzled(p))


INSTRUCTIONS = (
    *moves("global", "{data}, v8, s[4:5] offset:8", False),
    *moves("global", "{data}, v[6:7], off offset:8", False),
    *moves("flat", "{data}, v[6:7] offset:8", False),
    *moves("buffer", "{data}, v8, s[12:15], 0 offen offset:8", False),
    *lds_moves(),
    *atomics(),
    *permutes(),
)


def spaced(spacing: str, size: int, room: int, random: np.random.Generator) -> Words:
    """Offsets below `room` of lanes of `size` bytes."""
    group, within = LANE // 16, LANE % 16
    start = int(random.integers(0, 16)) * 4
    tiles = random.integers(0, room // 4 - 64, 4)[group] * 4
    offsets = {
        "run": start + LANE * size,
        "step": start + LANE * int(random.integers(0, room // 70)),
        "backwards": start + (63 - LANE) * int(random.integers(1, room // 70)),
        "together": start + LANE * 0,
        "tiles": tiles + within * size,
        "blocks": np.where(random.integers(0, 2, 4)[group], tiles, tiles + within * size),
        "anywhere": random.integers(0, room - size, LANES),
        "near": start + random.integers(0, 8, LANES) * 4,
        "broken": start + LANE * size,
    }[spacing]
    if spacing == "broken":
        offsets[int(random.integers(0, LANES))] = int(random.integers(0, room // 4)) * 4
    return offsets.astype(np.uint32)


def case_of(
    instruction: Instruction, spacing: str, exec_mask: int, random: np.random.Generator
) -> Case:
    """Lanes that are off may have addresses that are none."""
    registers = random.integers(0, 2**32, (REGISTERS, LANES), np.uint32)
    furthest = max(instruction.offsets)
    room = (LDS_BYTES if instruction.lds else MEMORY_BYTES) - 16 - furthest
    registers[0] = np.minimum(spaced(spacing, instruction.bytes, room, random), room)
    if instruction.lds and random.integers(0, 2):
        registers[0] -= np.uint32(min(instruction.offsets))  # wraps
    if random.integers(0, 2):
        is_off = ~np.isin(LANE, active_lanes(exec_mask))
        registers[0, is_off] = random.integers(0, 2**32, int(is_off.sum()), np.uint32)
    if instruction.kind == "atomic":
        registers[2] %= 5  # what is expected is found at times
        registers[3] %= 5
    memory = random.integers(0, 256, MEMORY_BYTES, np.uint8)
    if instruction.kind == "atomic":
        memory.view(np.uint32)[:] %= 5
    return Case(instruction, exec_mask, registers, memory)


def all_cases(seed: int) -> list[Case]:
    random = np.random.default_rng(seed)
    return [
        case_of(instruction, spacing, EXECS[int(random.integers(0, len(EXECS)))], random)
        for instruction in INSTRUCTIONS
        for spacing in SPACINGS
    ]


@pytest.mark.parametrize("copy", COPIES)
def test_every_lane_gets_its_own_bytes_in_every_copy(copy: str) -> None:
    cases = all_cases(11)

    states, _ = run_cases(INSTRUCTIONS, cases, {"KTRACE_SOFT_LANES": copy})

    for case, state in zip(cases, states, strict=True):
        wanted = expected(case)
        told = f"{case.instruction.text}, EXEC {case.exec:#x}, at {case.registers[0].tolist()}"
        assert np.array_equal(state.registers, wanted.registers), told
        assert np.array_equal(state.memory, wanted.memory), told
