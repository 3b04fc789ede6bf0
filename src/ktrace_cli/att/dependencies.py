"""What made instructions wait: the loads behind waits, and the results behind s_nop."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from ktrace_cli.att.code_table import CodeTable
from ktrace_cli.att.matrix import wait_states
from ktrace_cli.att.wave_files import Wave
from ktrace_cli.kernel_code.instructions import InstructionClass, classify

NOT_TOLD: Final = ""
_REGISTERS: Final = re.compile(r"\b(?:acc)?([vas])\[(\d+):(\d+)\]|\b([vas])(\d+)\b|\b(vcc|exec|m0)")
_LOOK_BACK: Final = 24
_MOST_REGISTERS: Final = 512
_WAIT_STATES: Final = re.compile(r"^s_nop\s+(?:0x)?([0-9a-f]+)")


@dataclass
class Waited:
    """What waits of one class waited for."""

    kind: InstructionClass
    on: str
    """`lds`, `smem`, `vmem_load`, several joined by ` + `; "" where the trace does not tell."""
    count: int = 0
    stall: int = 0


@dataclass
class Awaited:
    """One instruction that waits waited for last."""

    row: int
    count: int = 0
    stall: int = 0


def split_waits(
    waves: Sequence[Wave], table: CodeTable, kinds: Sequence[InstructionClass]
) -> tuple[list[Waited], list[Awaited]]:
    """Attribute the stall of waits to what they waited for, as the wave files tell.

    Returns:
        Sums by class and what was waited for, and by the last instruction waited for; the greatest
        stall first.
    """
    is_wait = np.array([kind.is_wait for kind in kinds], np.bool_)
    waited: dict[tuple[InstructionClass, str], Waited] = {}
    awaited: dict[int, Awaited] = {}
    for wave in waves:
        for row, stall, on in _executed_waits(wave, is_wait):
            names = sorted({kinds[one].value for one in on})
            key = (kinds[row], " + ".join(names))
            entry = waited.setdefault(key, Waited(*key))
            entry.count += 1
            entry.stall += stall
            if on:
                # Counters count down in the order of issue: the last one decides.
                last = awaited.setdefault(on[-1], Awaited(on[-1]))
                last.count += 1
                last.stall += stall
    return (
        sorted(waited.values(), key=lambda one: (-one.stall, one.kind.value, one.on)),
        sorted(awaited.values(), key=lambda one: (-one.stall, one.row)),
    )


def _executed_waits(
    wave: Wave, is_wait: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Yield row, stall and what was waited for of each wait that was executed.

    The trace lists, in the order of execution, those waits that had something to wait for.
    """
    told = iter(wave.waits)
    following = next(told, None)
    executed = is_wait[wave.line]
    for row, stall in zip(
        wave.line[executed].tolist(), wave.stall[executed].tolist(), strict=True
    ):
        if following is not None and following[0] == row:
            yield row, stall, following[1]
            following = next(told, None)
        else:
            yield row, stall, ()


@dataclass
class Padding:
    """s_nop that keep a distance between a result and its use."""

    producer: str
    """Mnemonic of what made the result; "" if it was not found."""
    consumer: str
    """Mnemonic of what follows."""
    needed: int | None
    """Wait states that the target demands after this matrix instruction."""
    places: int = 0
    hit: int = 0
    wait_states: int = 0
    """That the s_nop make, at most at one place."""
    stall: int = 0


@dataclass(frozen=True)
class Executed:
    """The instructions of a kernel and the waves that executed them."""

    rows: Sequence[int]
    """In the order of addresses."""
    waves: Sequence[Wave]
    kinds: Sequence[InstructionClass]
    """Of each row of the table."""


def find_padding(table: CodeTable, executed: Executed, processor: str) -> list[Padding]:
    """Find for each run of s_nop what it keeps apart; the greatest stall first.

    What came before is looked up where the s_nop stalled most: branches may lead there, too.

    Args:
        table: the code.
        executed: whose code, and by which waves.
        processor: gfx942
    """
    found: dict[tuple[str, str], Padding] = {}
    rows = executed.rows
    runs = list(_runs(rows, executed.kinds))
    before_by_row = _executed_before(executed.waves, [rows[begin] for begin, _ in runs])
    for begin, end in runs:
        consumer = table.text[rows[end]] if end < len(rows) else ""
        before = before_by_row.get(rows[begin]) or rows[max(0, begin - _LOOK_BACK) : begin]
        producer = _producer(table, before, consumer)
        key = (_mnemonic(producer), _mnemonic(consumer))
        entry = found.setdefault(key, Padding(*key, _needed(producer, processor)))
        nops = rows[begin:end]
        entry.places += 1
        entry.hit += int(table.hit[nops].sum())
        entry.stall += int(table.stall[nops].sum())
        states = sum(_states(table.text[row]) for row in nops)
        entry.wait_states = max(entry.wait_states, states)
    kept = [entry for entry in found.values() if entry.hit]
    return sorted(kept, key=lambda one: (-one.stall, one.producer, one.consumer))


def _runs(
    rows: Sequence[int], kinds: Sequence[InstructionClass]
) -> Iterator[tuple[int, int]]:
    """Yield where each run of s_nop begins and ends."""
    begin: int | None = None
    for position, row in enumerate(rows):
        is_nop = kinds[row] is InstructionClass.S_NOP
        if is_nop and begin is None:
            begin = position
        elif not is_nop and begin is not None:
            yield begin, position
            begin = None
    if begin is not None:
        yield begin, len(rows)


def _executed_before(waves: Sequence[Wave], rows: Sequence[int]) -> dict[int, list[int]]:
    """Return the instructions that ran before each of these rows when it stalled most."""
    most: dict[int, int] = {}
    before: dict[int, list[int]] = {}
    for wave in waves:
        places = np.flatnonzero(np.isin(wave.line, rows))
        order = places[np.lexsort((wave.stall[places], wave.line[places]))]
        lines = wave.line[order]
        is_last = np.concatenate((lines[1:] != lines[:-1], [True]))[: len(order)]
        for place in order[is_last].tolist():
            row, stall = int(wave.line[place]), int(wave.stall[place])
            if stall > most.get(row, -1):
                most[row] = stall
                before[row] = wave.line[max(0, place - _LOOK_BACK) : place].tolist()
    return before


def _producer(table: CodeTable, before: Sequence[int], consumer: str) -> str:
    """Return the nearest instruction that writes a register which the consumer names."""
    wanted = registers(consumer)
    for row in reversed(before):
        text = table.text[row]
        if not wanted.isdisjoint(registers(_destination(text))):
            return text
    return ""


def _destination(text: str) -> str:
    _, _, operands = text.partition(" ")
    return "vcc" if text.startswith("v_cmp") and "vcc" in operands else operands.split(",", 1)[0]


def registers(operands: str) -> frozenset[str]:
    """Return the registers that operands name: `v[0:1], s3` are v0, v1 and s3."""
    return frozenset(_registers(_REGISTERS.findall(operands)))


def _registers(found: Iterable[tuple[str, ...]]) -> Iterator[str]:
    for file, first, last, single_file, single, special in found:
        if special:
            yield special
        elif single_file:
            yield f"{single_file}{int(single[:6])}"
        else:
            begin = int(first[:6])
            for number in range(begin, min(int(last[:6]), begin + _MOST_REGISTERS) + 1):
                yield f"{file}{number}"


def _mnemonic(text: str) -> str:
    return text.partition(" ")[0]


def _needed(producer: str, processor: str) -> int | None:
    is_matrix = classify(producer) is InstructionClass.MFMA
    return wait_states(producer, processor) if is_matrix else None


def _states(text: str) -> int:
    found = _WAIT_STATES.match(text)
    return int(found[1], 16 if "0x" in text else 10) + 1 if found else 1
