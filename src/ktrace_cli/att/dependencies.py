"""What made instructions wait: the loads behind waits, and the results behind s_nop."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from ktrace_cli.att.code_table import CodeTable
from ktrace_cli.att.faults import Faults
from ktrace_cli.att.matrix import wait_states
from ktrace_cli.att.wave_files import Wave
from ktrace_cli.kernel_code.instructions import InstructionClass, classify

NOT_TOLD: Final = ""
_REGISTERS: Final = re.compile(r"\b(?:acc)?([vas])\[(\d+):(\d+)\]|\b([vas])(\d+)\b|\b(vcc|exec|m0)")
_LOOK_BACK: Final = 24
_LOOK_AHEAD: Final = 4
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
    waves: Sequence[Wave], kinds: Sequence[InstructionClass], faults: Faults
) -> tuple[list[Waited], list[Awaited]]:
    """Attribute the stall of waits to what they waited for, as the wave files tell.

    Returns:
        Sums by class and what was waited for, and by the last instruction waited for; the greatest
        stall first.
    """
    is_wait = np.array([kind.is_wait for kind in kinds], np.bool_)
    sums: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    for wave in waves:
        for row, stall, on in _executed_waits(wave, is_wait, faults):
            entry = sums.setdefault((row, on), [0, 0])
            entry[0] += 1
            entry[1] += stall
    waited: dict[tuple[InstructionClass, str], Waited] = {}
    awaited: dict[int, Awaited] = {}
    for (row, on), (count, stall) in sums.items():
        key = (kinds[row], " + ".join(sorted({kinds[one].value for one in on})))
        of_class = waited.setdefault(key, Waited(*key))
        of_class.count += count
        of_class.stall += stall
        if on:
            # Counters count down in the order of issue: the last one decides.
            last = awaited.setdefault(on[-1], Awaited(on[-1]))
            last.count += count
            last.stall += stall
    return (
        sorted(waited.values(), key=lambda one: (-one.stall, one.kind.value, one.on)),
        sorted(awaited.values(), key=lambda one: (-one.stall, one.row)),
    )


def _executed_waits(
    wave: Wave, is_wait: np.ndarray[tuple[int], np.dtype[np.bool_]], faults: Faults
) -> list[tuple[int, int, tuple[int, ...]]]:
    """Return row, stall and what was waited for of each wait that was executed.

    The trace lists, in the order of execution, those waits that had something to wait for.
    """
    places = np.flatnonzero(is_wait[wave.line])
    rows, stalls = wave.line[places].tolist(), wave.stall[places].tolist()
    told = _match(rows, places.tolist(), wave, _Issued(wave).are_pending)
    if told is None:
        # Something was issued before the trace began, or is left out of it.
        told = _match(rows, places.tolist(), wave, lambda _place, _on: True)
    if told is None:
        faults["unmatched_waits"] += 1
        told = [()] * len(rows)
    return list(zip(rows, stalls, told, strict=True))


def _match(
    rows: Sequence[int],
    places: Sequence[int],
    wave: Wave,
    fits: Callable[[int, tuple[int, ...]], bool],
) -> list[tuple[int, ...]] | None:
    """Give each executed wait the entry that is about it; None where some are left."""
    told = []
    number = 0
    for row, place in zip(rows, places, strict=True):
        entry = wave.waits[number] if number < len(wave.waits) else (-1, ())
        if entry[0] == row and fits(place, entry[1]):
            told.append(entry[1])
            number += 1
        else:
            told.append(())
    return told if number == len(wave.waits) else None


class _Issued:
    """When a wave issued what its waits waited for, and how much of it was waited for."""

    def __init__(self, wave: Wave) -> None:
        wanted = sorted({row for _, on in wave.waits for row in on})
        places = np.flatnonzero(np.isin(wave.line, wanted))
        lines = wave.line[places]
        order = np.argsort(lines, kind="stable")
        begins = np.searchsorted(lines[order], wanted)
        parts = np.split(places[order], begins[1:]) if wanted else []
        self.places = {row: part.tolist() for row, part in zip(wanted, parts, strict=True)}
        self.waited = dict.fromkeys(wanted, 0)

    def are_pending(self, place: int, on: tuple[int, ...]) -> bool:
        """Tell whether all were issued before a place and not waited for; then they are."""
        needed = {row: on.count(row) for row in on}
        for row, count in needed.items():
            if bisect_left(self.places[row], place) < self.waited[row] + count:
                return False
        for row, count in needed.items():
            self.waited[row] += count
        return True


@dataclass
class Padding:
    """s_nop that keep a distance between a result and its use."""

    producer: str
    """Mnemonic of what made the result; "" if it was not found."""
    consumer: str
    """Mnemonic of what follows."""
    needed: int | None
    """Wait states that the target demands after this matrix instruction."""
    rows: set[int] = field(default_factory=set)
    hit: int = 0
    wait_states: int = 0
    """The most that one s_nop makes."""
    stall: int = 0


def find_padding(
    table: CodeTable, waves: Sequence[Wave], kinds: Sequence[InstructionClass], processor: str
) -> list[Padding]:
    """Find for each executed s_nop what it keeps apart; after matrix instructions first.

    Args:
        table: the code.
        waves: what ran before and after is taken from these, as branches lead there, too.
        kinds: of each row of the table.
        processor: gfx942
    """
    found: dict[tuple[str, str], Padding] = {}
    for (row, _, _), seen in _executed_nops(waves, kinds).items():
        after = next((one for one in seen.after if not _is_nop(kinds, one)), -1)
        consumer = table.text[after] if after >= 0 else ""
        producer = _producer(table, seen.before, consumer)
        key = (_mnemonic(producer), _mnemonic(consumer))
        entry = found.setdefault(key, Padding(*key, _needed(producer, processor)))
        entry.rows.add(row)
        entry.hit += seen.count
        entry.stall += seen.stall
        entry.wait_states = max(entry.wait_states, _states(table.text[row]))
    return sorted(
        found.values(),
        key=lambda one: (not _is_matrix(one.producer), -one.stall, one.producer, one.consumer),
    )


@dataclass
class _Seen:
    """Executions of one s_nop on one way through the code."""

    before: list[int]
    after: list[int]
    count: int = 0
    stall: int = 0


def _is_nop(kinds: Sequence[InstructionClass], row: int) -> bool:
    return kinds[row] is InstructionClass.S_NOP


def _executed_nops(
    waves: Sequence[Wave], kinds: Sequence[InstructionClass]
) -> dict[tuple[int, int, int], _Seen]:
    """Return the ways on which each s_nop was executed: its row, those before and after."""
    is_nop = np.array([_is_nop(kinds, row) for row in range(len(kinds))], np.bool_)
    ways: dict[tuple[int, int, int], _Seen] = {}
    size = len(kinds) + 1
    for wave in waves:
        if not wave.line.size:
            continue
        padded = np.concatenate(([-1], wave.line, [-1]))
        places = np.flatnonzero(is_nop[wave.line])
        ends = (padded[places] + 1, padded[places + 2] + 1)
        keys = (wave.line[places] * size + ends[0]) * size + ends[1]
        unique, first, which = np.unique(keys, return_index=True, return_inverse=True)
        counts = np.bincount(which, minlength=len(unique))
        stalls = np.bincount(which, wave.stall[places], len(unique))
        for number, key in enumerate(unique.tolist()):
            rest, after = divmod(key, size)
            row, before = divmod(rest, size)
            place = int(places[first[number]])
            last = wave.line[max(0, place - _LOOK_BACK) : place].tolist()
            coming = wave.line[place + 1 : place + 1 + _LOOK_AHEAD].tolist()
            seen = ways.setdefault((row, before - 1, after - 1), _Seen(last, coming))
            seen.count += int(counts[number])
            seen.stall += int(stalls[number])
    return ways


def _producer(table: CodeTable, before: Sequence[int], consumer: str) -> str:
    """Return the nearest instruction that writes what the consumer reads, else what it writes."""
    _, _, sources = consumer.partition(",")
    for wanted in (registers(sources), registers(consumer)):
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
    return wait_states(producer, processor) if _is_matrix(producer) else None


def _is_matrix(text: str) -> bool:
    return classify(text) is InstructionClass.MFMA


def _states(text: str) -> int:
    found = _WAIT_STATES.match(text)
    return int(found[1], 16 if "0x" in text else 10) + 1 if found else 1
