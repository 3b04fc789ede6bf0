"""Tables over traced waves: balance, SIMDs, the matrix unit in phases, checks of the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from ktrace_cli.att.code_table import CodeTable, Ints
from ktrace_cli.att.matrix import Busy
from ktrace_cli.att.results import Coverage, SimdRow, WaveSpread
from ktrace_cli.att.wave_files import Wave

_TOLERANCE: Final = 0.01
Place = tuple[int, int, int]


def wave_spread(waves: Sequence[Wave]) -> WaveSpread | None:
    """Return how long waves took; None without any."""
    if not waves:
        return None
    cycles = [wave.cycles for wave in waves]
    slowest = max(waves, key=lambda wave: wave.cycles)
    return WaveSpread(len(waves), min(cycles), sum(cycles) / len(cycles), max(cycles), slowest.name)


def simd_rows(
    waves: Sequence[Wave], busy: Mapping[Place, Busy], cycles: Ints
) -> tuple[SimdRow, ...]:
    """Return what was traced on each SIMD.

    Args:
        waves: of the kernel.
        busy: the matrix unit of each SIMD; empty where the target is not known.
        cycles: of each row of code.json that is a matrix instruction.
    """
    rows = []
    for place in sorted({wave.place for wave in waves}):
        mine = [wave for wave in waves if wave.place == place]
        begin, end = min(wave.begin for wave in mine), max(wave.end for wave in mine)
        issued = sum(int((cycles[wave.line] > 0).sum()) for wave in mine)
        worked = busy[place].until(np.array([begin, end])) if place in busy else None
        rows.append(
            SimdRow(
                place=place,
                waves=len(mine),
                instructions=sum(wave.line.size for wave in mine),
                cycles=sum(wave.cycles for wave in mine),
                stall=sum(int(wave.stall.sum()) for wave in mine),
                matrix=None
                if worked is None
                else Coverage(end - begin, float(worked[1] - worked[0]), issued),
            )
        )
    return tuple(rows)


def coverage_by_phase(
    waves: Sequence[Wave], busy: Mapping[Place, Busy], numbers: Ints, cycles: Ints
) -> dict[int, Coverage]:
    """Return how much of the time that waves spend in a phase their SIMD's matrix unit is busy.

    Args:
        waves: of the kernel.
        busy: the matrix unit of each SIMD, whichever wave keeps it so.
        numbers: of each row of code.json: which phase it lies in.
        cycles: of each row of code.json that is a matrix instruction.
    """
    size = int(numbers.max(initial=0)) + 1
    spent, worked, issued = np.zeros(size), np.zeros(size), np.zeros(size)
    for wave in waves:
        if not wave.line.size or wave.place not in busy:
            continue
        # An instruction's time goes from the end of the one before to its own end.
        end = wave.time + wave.duration
        points = np.maximum.accumulate(np.concatenate(([wave.begin], end)))
        done = busy[wave.place].until(points)
        phase = numbers[wave.line]
        spent += np.bincount(phase, np.diff(points), size)
        worked += np.bincount(phase, np.diff(done), size)
        issued += np.bincount(phase, cycles[wave.line] > 0, size)
    return {
        number: Coverage(int(spent[number]), float(worked[number]), int(issued[number]))
        for number in range(size)
        if spent[number]
    }


def check(table: CodeTable, waves: Sequence[Wave]) -> tuple[tuple[str, ...], int]:
    """Compare the wave files of a bundle with its code.json.

    Returns:
        What does not agree, in words; how many checks there were.
    """
    if not waves:
        return ("no wave file: nothing to compare code.json with",), 0
    hits = np.zeros(len(table.text), np.int64)
    for wave in waves:
        hits += np.bincount(wave.line, minlength=len(hits))
    latency = sum(int(wave.duration.sum()) for wave in waves)
    stall = sum(int(wave.stall.sum()) for wave in waves)
    idle = sum(int(wave.idle.sum()) for wave in waves)
    alive = sum(wave.cycles for wave in waves)
    told = [int(column.sum()) for column in (table.hit, table.latency, table.stall, table.idle)]
    compared = (
        ("executed instructions", int(hits.sum()), told[0], 0.0),
        ("latency", latency, told[1], 0.0),
        ("stall", stall, told[2], 0.0),
        ("idle", idle, told[3], _TOLERANCE),
        ("time of waves and latency + idle", alive, told[1] + told[3], _TOLERANCE),
    )
    problems = [
        f"{what}: {found:,} in wave files, {wanted:,} in code.json"
        for what, found, wanted, tolerance in compared
        if abs(found - wanted) > tolerance * max(wanted, 1)
    ]
    differing = int((hits != table.hit).sum())
    if differing and int(hits.sum()) == told[0]:
        problems.append(f"{differing:,} instructions were executed another number of times")
    torn = sum(0 <= wave.line.size < wave.declared for wave in waves)
    if torn:
        problems.append(f"{torn} of {len(waves)} waves lack instructions that the decoder counted")
    return tuple(problems), len(compared) + 2
