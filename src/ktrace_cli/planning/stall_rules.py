"""Rules on the instructions of a thread trace: each a function from evidence to findings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from ktrace_cli.kernel_code.instructions import InstructionClass
from ktrace_cli.planning.evidence import Instruction, Stalls, registers
from ktrace_cli.planning.findings import Match, Priority, gain_of, priority_of
from ktrace_cli.units import counted

_LEAST_SHARE: Final = 0.01  # of a kernel's cycles: less is not worth a finding
_LOADS_IN_A_ROW: Final = 4
_JUST_BEFORE: Final = 4  # instructions between a read of LDS and the wait for it
_SCALE_DISTANCE: Final = 16
_VM: Final = (InstructionClass.WAIT_VM, InstructionClass.WAIT_VM_LGKM)
_LGKM: Final = (InstructionClass.WAIT_LGKM, InstructionClass.WAIT_VM_LGKM)
_COUNT: Final = re.compile(r"lgkmcnt\((\d+)\)|s_wait_\w*dscnt (?:0x)?(\d+)$")
_QUIET: Final = (InstructionClass.VMEM_LOAD, InstructionClass.SALU, InstructionClass.S_NOP)


def loads_in_matrix_loop(stalls: Stalls) -> Iterator[Match]:
    """Loops with matrix instructions that wait for loads of their own."""
    for loop in stalls.loops:
        if not _has(loop, InstructionClass.MFMA) or not _has(loop, InstructionClass.VMEM_LOAD):
            continue
        waits = [one for one in loop if one.kind in _VM]
        loads = [one for one in loop if one.kind is InstructionClass.VMEM_LOAD]
        cycles = sum(one.stall for one in (*waits, *loads))
        yield from _match(
            stalls,
            cycles,
            waits or loads,
            f"{counted(len(loads), 'load')} and {counted(len(waits), 'wait')} for memory in a loop"
            f" with {counted(_number(loop, InstructionClass.MFMA), 'matrix instruction')} stall for"
            f" {cycles:,} cycles",
        )


def back_to_back_loads(stalls: Stalls) -> Iterator[Match]:
    """Loads that follow each other with no compute between, and stall as they are issued."""
    for run in _runs(stalls):
        loads = [one for one in run if one.kind is InstructionClass.VMEM_LOAD]
        cycles = sum(one.stall for one in loads)
        if len(loads) >= _LOADS_IN_A_ROW:
            yield from _match(
                stalls,
                cycles,
                loads,
                f"{len(loads)} loads in a row stall for {cycles:,} cycles when they are issued",
            )


def _runs(stalls: Stalls) -> Iterator[list[Instruction]]:
    for piece in stalls.straight:
        run: list[Instruction] = []
        for one in piece:
            if one.kind in _QUIET:
                run.append(one)
            else:
                yield run
                run = []
        yield run


def lds_just_before_use(stalls: Stalls) -> Iterator[Match]:
    """Waits for a read of LDS right behind it, in front of a matrix instruction that uses it."""
    waits = []
    for piece in stalls.straight:
        for number, one in enumerate(piece):
            after = piece[number + 1 : number + 1 + _JUST_BEFORE]
            read = _read_waited_for(piece, number) if one.kind in _LGKM else None
            if read is not None and any(_uses(matrix, read) for matrix in after):
                waits.append(one)
    cycles = sum(one.stall for one in waits)
    yield from _match(
        stalls,
        cycles,
        waits,
        f"{counted(len(waits), 'wait')} for LDS, at most {_JUST_BEFORE} instructions behind the"
        f" read and before a matrix instruction that uses it, stall for {cycles:,} cycles",
    )


def _read_waited_for(piece: Sequence[Instruction], number: int) -> Instruction | None:
    """Return the last operation that a wait at `number` waits for, if it is a close LDS read."""
    told = _COUNT.search(piece[number].text)
    left = int(told[1] or told[2]) if told else 0
    for one in reversed(piece[max(0, number - _JUST_BEFORE - left) : number]):
        if one.kind not in (InstructionClass.LDS, InstructionClass.SMEM):
            continue
        if not left:
            return one if one.text.startswith(("ds_read", "ds_load")) else None
        left -= 1
    return None


def _uses(matrix: Instruction, read: Instruction) -> bool:
    """Tell whether a matrix instruction has a factor that a read wrote."""
    if matrix.kind is not InstructionClass.MFMA or read.writes is None:
        return False
    first, last = read.writes
    factors = map(registers, matrix.text.partition(" ")[2].split(",")[1:3])
    return any(f is not None and first <= f[1] and f[0] <= last for f in factors)


def scale_loads_too_late(stalls: Stalls) -> Iterator[Match]:
    """Loads of scales that are waited for just before the scaled matrix instruction."""
    late: list[Instruction] = []
    for piece in stalls.straight:
        for number, one in enumerate(piece):
            if not one.text.startswith("v_mfma_scale"):
                continue
            near = piece[max(0, number - _SCALE_DISTANCE) : number]
            loads = [n for n in near if _loads_a_scale(n, one)]
            if loads:
                behind = near[near.index(loads[0]) + 1 :]
                waits = _VM if loads[0].kind is InstructionClass.VMEM_LOAD else _LGKM
                late += [w for w in behind if w.kind in waits and w not in late]
    cycles = sum(one.stall for one in late)
    yield from _match(
        stalls,
        cycles,
        late,
        f"{counted(len(late), 'wait')} between the load of a scale and the scaled matrix"
        f" instruction, at most {_SCALE_DISTANCE} instructions behind it, stall for {cycles:,}"
        " cycles",
    )


def _loads_a_scale(load: Instruction, matrix: Instruction) -> bool:
    written = load.writes
    is_load = load.kind in (InstructionClass.VMEM_LOAD, InstructionClass.LDS)
    if not is_load or written is None:
        return False
    operands = matrix.text.partition(" ")[2].split(",")
    scales = [registers(text.strip().split(" ")[0]) for text in operands[4:6]]
    return any(s is not None and written[0] <= s[0] <= written[1] for s in scales)


def waits_at_barriers(stalls: Stalls) -> Iterator[Match]:
    """Barriers at which waves wait for each other."""
    barriers = [one for one in stalls.instructions if one.kind is InstructionClass.BARRIER]
    cycles = sum(one.stall for one in barriers)
    yield from _match(
        stalls,
        cycles,
        barriers,
        f"{counted(len(barriers), 'barrier')} stall for {cycles:,} cycles",
    )


def padding(stalls: Stalls) -> Iterator[Match]:
    """Instructions that let time pass until the result of a matrix instruction is there."""
    nops = [one for one in stalls.instructions if one.kind is InstructionClass.S_NOP]
    cycles = sum(one.stall for one in nops)
    worst = max(stalls.padding, key=lambda one: one.stall, default=None)
    pair = (
        f"; the most, {worst.stall:,} cycles, between {worst.after} and {worst.before}"
        if worst
        else ""
    )
    yield from _match(
        stalls,
        cycles,
        nops,
        f"{counted(len(nops), 's_nop')} stall for {cycles:,} cycles{pair}",
    )


def artefacts(stalls: Stalls) -> Iterator[Match]:
    """Source lines that collect what belongs to others."""
    for one in stalls.set_aside:
        share = one.stall / stalls.stall if stalls.stall else 0.0
        if share >= _LEAST_SHARE:
            yield Match(
                where=one.place,
                evidence=f"{100 * share:.1f} % of the stall: {one.why}",
                priority=Priority.LOW,
                gain="",
                weight=0.0,
            )


def _match(
    stalls: Stalls, cycles: int, places: Sequence[Instruction], evidence: str
) -> Iterator[Match]:
    share = cycles / stalls.latency if stalls.latency else 0.0
    if share < _LEAST_SHARE:
        return
    worst = max(places, key=lambda one: one.stall)
    phase = f"phase {worst.phase}, " if worst.phase else ""
    yield Match(
        where=f"{phase}{worst.place or 'no source line'}, {worst.address:#x} `{worst.text}`",
        evidence=f"{evidence}: {100 * share:.1f} % of the traced cycles",
        priority=priority_of(share),
        gain=gain_of(share),
        weight=share,
    )


def _has(instructions: Sequence[Instruction], kind: InstructionClass) -> bool:
    return any(one.kind is kind for one in instructions)


def _number(instructions: Sequence[Instruction], kind: InstructionClass) -> int:
    return sum(one.kind is kind for one in instructions)
