"""Memory instructions of one wave with any addresses and any EXEC, and what they do lane by lane.

One kernel holds all instructions; its parameters say which of them a launch executes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from support.asm_kernel import AsmKernel
from support.compile_kernel import any_compiler
from support.hip import Launch, launch_kernels

TARGET = "gfx942"
LANES = 64
MEMORY_BYTES = 8192
LDS_BYTES = 4096
PARAMETERS = 1024
"""Words of a case: the registers, EXEC, the instruction's number, whether it is LDS's; the time."""
REGISTERS = 12
"""v8 holds addresses, v[9:15] other operands, v[16:19] results. All are given and read back."""
Words = npt.NDArray[np.uint32]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Instruction:
    """An instruction and what it means."""

    text: str
    kind: str  # load, store, atomic; pull or push, from or to another lane's register
    bytes: int = 4
    offsets: tuple[int, ...] = (0,)  # one access each
    target: int = 16  # first register of the result
    data: tuple[int, ...] = (10,)  # first registers of each access's data
    signed: bool = False
    half: str = ""  # low, high: the part of the register that is used
    update: Callable[[int, int, int], int] | None = None  # old, data, second operand
    source: Callable[[Words], Words] | None = None  # of a permutation: addresses to lanes
    lds: bool = False


@dataclass(frozen=True)
class Case:
    """One execution."""

    instruction: Instruction
    exec: int
    registers: Words  # (REGISTERS, LANES), from v8 on
    memory: Bytes  # of the buffer, or of LDS


@dataclass(frozen=True)
class State:
    """What an execution leaves behind."""

    registers: Words
    memory: Bytes


def active_lanes(exec_mask: int) -> list[int]:
    return [lane for lane in range(LANES) if exec_mask >> lane & 1]


def expected(case: Case) -> State:
    """What the instruction does, one lane after the other."""
    registers, memory = case.registers.copy(), case.memory.copy()
    if case.instruction.kind in ("pull", "push"):
        return State(_permuted(case), memory)
    access = {"load": _load, "store": _store, "atomic": _atomic}[case.instruction.kind]
    for number, offset in enumerate(case.instruction.offsets):
        for lane in active_lanes(case.exec):
            place = (int(case.registers[0, lane]) + offset) % 2**32
            access(case, number, lane, memory[place : place + case.instruction.bytes], registers)
    return State(registers, memory)


def _load(case: Case, number: int, lane: int, memory: Bytes, registers: Words) -> None:
    instruction = case.instruction
    row = instruction.target - 8 + number * max(instruction.bytes // 4, 1)
    if instruction.bytes >= 4:
        registers[row : row + instruction.bytes // 4, lane] = memory.view(np.uint32)
        return
    value = int.from_bytes(memory.tobytes(), "little", signed=instruction.signed)
    old = int(case.registers[row, lane])
    parts = {
        "": value % 2**32,
        "low": old & 0xFFFF0000 | value % 2**16,
        "high": old & 0xFFFF | value % 2**16 << 16,
    }
    registers[row, lane] = parts[instruction.half]


def _store(case: Case, number: int, lane: int, memory: Bytes, registers: Words) -> None:
    row = case.instruction.data[number] - 8
    words = case.registers[row : row + max(case.instruction.bytes // 4, 1), lane].copy()
    if case.instruction.half == "high":
        words >>= 16
    memory[:] = words.view(np.uint8)[: case.instruction.bytes]


def _atomic(case: Case, number: int, lane: int, memory: Bytes, registers: Words) -> None:
    instruction = case.instruction
    assert instruction.update is not None
    dwords = instruction.bytes // 4
    row = instruction.data[number] - 8
    operands = case.registers[row : row + 2 * dwords, lane].tobytes()
    old = int.from_bytes(memory.tobytes(), "little")
    data, second = (
        int.from_bytes(operands[k : k + instruction.bytes], "little")
        for k in (0, instruction.bytes)
    )
    new = instruction.update(old, data, second) % 2 ** (8 * instruction.bytes)
    memory[:] = np.frombuffer(new.to_bytes(instruction.bytes, "little"), np.uint8)
    if instruction.target:
        first = instruction.target - 8
        words = np.frombuffer(old.to_bytes(instruction.bytes, "little"), np.uint32)
        registers[first : first + dwords, lane] = words


def _permuted(case: Case) -> Words:
    instruction = case.instruction
    assert instruction.source is not None
    active = np.isin(np.arange(LANES), active_lanes(case.exec))
    data = np.where(active, case.registers[instruction.data[0] - 8], 0).astype(np.uint32)
    lanes = instruction.source(case.registers[0])
    if instruction.kind == "pull":
        result = np.take(data, lanes)
    else:
        result = np.zeros(LANES, np.uint32)
        for lane in active_lanes(case.exec):
            result[lanes[lane]] = data[lane]
    registers = case.registers.copy()
    registers[instruction.target - 8, active] = result[active]
    return registers


def kernel(instructions: Sequence[Instruction]) -> AsmKernel:
    """Arguments: the buffer, and the parameters as `launch` lays them out."""
    rows = range(REGISTERS)
    moves = "\n".join(f"  global_load_dword v{8 + k}, v1, s[6:7] offset:{256 * k}" for k in rows)
    stores = "\n".join(f"  global_store_dword v1, v{8 + k}, s[6:7] offset:{256 * k}" for k in rows)
    choices = "\n".join(_CHOICE.format(k=k, text=one.text) for k, one in enumerate(instructions))
    body = _BODY.format(moves=moves, stores=stores, choices=choices)
    return AsmKernel(body, 2, lds=LDS_BYTES)


def run_cases(
    instructions: Sequence[Instruction], cases: Sequence[Case], environment: Mapping[str, str]
) -> tuple[list[State], list[int]]:
    """Execute all, a workgroup each; what each left behind, and its virtual cycles."""
    code_object = any_compiler(TARGET).assemble(kernel(instructions).source(TARGET))
    parameters = np.zeros((len(cases), PARAMETERS), np.uint32)
    size = LANES * REGISTERS
    for row, case in zip(parameters, cases, strict=True):
        row[:size] = case.registers.ravel()
        number = instructions.index(case.instruction)
        row[size : size + 4] = (case.exec % 2**32, case.exec >> 32, number, case.instruction.lds)
    memory = np.stack([case.memory for case in cases])
    launch = Launch(code_object, "test_kernel", [memory, parameters], (len(cases), 1, 1))
    outcome = launch_kernels([launch], TARGET, environment)
    assert outcome.statuses == [0], outcome.errors
    memories, rows = outcome.arrays[0]
    states = [
        State(row[:size].reshape(REGISTERS, LANES), after)
        for row, after in zip(rows, memories, strict=True)
    ]
    return states, rows[:, size + 4].tolist()


# s[16:17]: EXEC; s18: the instruction's number; s19: whether it is LDS's. LDS begins as the buffer
# does, and then goes back to it.
_BODY = """
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_and_b32 v0, 63, v0
  v_lshlrev_b32 v1, 2, v0
  v_lshlrev_b32 v2, 4, v0
  s_mov_b32 m0, -1
  s_waitcnt lgkmcnt(0)
  s_lshl_b32 s24, s2, 13
  s_lshl_b32 s25, s2, 12
  s_add_u32 s4, s4, s24
  s_addc_u32 s5, s5, 0
  s_add_u32 s6, s6, s25
  s_addc_u32 s7, s7, 0
  s_load_dwordx4 s[16:19], s[6:7], 0xc00
  s_mov_b32 s12, s4
  s_mov_b32 s13, s5
  s_mov_b32 s14, 0x2000
  s_mov_b32 s15, 0x00027000
{moves}
  global_load_dwordx4 v[20:23], v2, s[4:5]
  global_load_dwordx4 v[24:27], v2, s[4:5] offset:1024
  global_load_dwordx4 v[28:31], v2, s[4:5] offset:2048
  global_load_dwordx4 v[32:35], v2, s[4:5] offset:3072
  s_waitcnt vmcnt(0) lgkmcnt(0)
  ds_write_b128 v2, v[20:23]
  ds_write_b128 v2, v[24:27] offset:1024
  ds_write_b128 v2, v[28:31] offset:2048
  ds_write_b128 v2, v[32:35] offset:3072
  v_mov_b32 v7, s5
  v_add_co_u32 v6, vcc, s4, v8
  v_addc_co_u32 v7, vcc, 0, v7, vcc
  s_waitcnt lgkmcnt(0)
  s_memtime s[20:21]
  s_waitcnt lgkmcnt(0)
  s_mov_b64 exec, s[16:17]
{choices}
done:
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_memtime s[22:23]
  s_mov_b64 exec, -1
  s_waitcnt lgkmcnt(0)
  s_sub_u32 s22, s22, s20
  v_mov_b32 v5, 0
  v_mov_b32 v4, s22
  global_store_dword v5, v4, s[6:7] offset:3088
{stores}
  s_cmp_eq_u32 s19, 1
  s_cbranch_scc0 over
  ds_read_b128 v[20:23], v2
  ds_read_b128 v[24:27], v2 offset:1024
  ds_read_b128 v[28:31], v2 offset:2048
  ds_read_b128 v[32:35], v2 offset:3072
  s_waitcnt lgkmcnt(0)
  global_store_dwordx4 v2, v[20:23], s[4:5]
  global_store_dwordx4 v2, v[24:27], s[4:5] offset:1024
  global_store_dwordx4 v2, v[28:31], s[4:5] offset:2048
  global_store_dwordx4 v2, v[32:35], s[4:5] offset:3072
over:
  s_waitcnt vmcnt(0)
"""
_CHOICE = """
  s_cmp_lg_u32 s18, {k}
  s_cbranch_scc1 not_{k}
  {text}
  s_branch done
not_{k}:
"""
