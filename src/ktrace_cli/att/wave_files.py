"""The wave files of a bundle: what each traced wave executed, when, and what it waited for."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from ktrace_cli.att.faults import Faults

Ints = NDArray[np.int64]

_NAME: Final = re.compile(r"se(\d{1,4})_sm(\d{1,4})_sl(\d{1,4})_wv(\d{1,9})\.json")
_INSTRUCTIONS: Final = re.compile(rb'"instructions"\s*:\s*\[')
_WIDTH: Final = 5
_ROW: Final = b"[,,,,],"
_MOST: Final = 1 << 48


@dataclass(frozen=True)
class Wave:
    """One wave, as it was traced."""

    name: str
    """Of its file."""
    place: tuple[int, int, int]
    """Shader engine, CU, SIMD."""
    slot: int
    begin: int
    end: int
    """In cycles of the shader engine's clock."""
    time: Ints
    """Of the first attempt to issue each instruction."""
    stall: Ints
    duration: Ints
    """With the stall."""
    line: Ints
    """Which row of code.json each is."""
    waits: tuple[tuple[int, tuple[int, ...]], ...]
    """Rows of waits, in the order of execution, each with those that it waited for."""
    declared: int
    """How many instructions the decoder counted; -1 if it does not tell."""

    @property
    def cycles(self) -> int:
        """How long the wave was there."""
        return self.end - self.begin

    @property
    def idle(self) -> Ints:
        """Cycles between the end of the instruction before and each one's first attempt."""
        if not self.time.size:
            return self.time
        before = np.concatenate(([self.begin], (self.time + self.duration)[:-1]))
        return np.maximum(self.time - before, 0)

    @property
    def issue(self) -> Ints:
        """When each instruction was issued."""
        return self.time + self.stall


def read_waves(folder: Path, rows: int, faults: Faults) -> list[Wave]:
    """Read all wave files; what is missing, torn or malformed is counted.

    Args:
        folder: the bundle.
        rows: how many code.json has.
        faults: gets the counts.
    """
    waves = []
    for path in _paths(folder, faults):
        found = _NAME.fullmatch(path.name)
        place = [int(part) for part in found.groups()] if found else [0, 0, 0, 0]
        wave = _read_wave(path, place, rows, faults)
        if wave is not None:
            waves.append(wave)
    return sorted(waves, key=lambda wave: (wave.place, wave.begin, wave.slot, wave.name))


def _paths(folder: Path, faults: Faults) -> Iterator[Path]:
    there = {p.name: p for p in sorted(folder.glob("se*.json")) if _NAME.fullmatch(p.name)}
    listed = _listed(folder / "filenames.json", faults)
    if listed:
        faults["missing_waves"] += len(listed - there.keys())
        faults["unlisted_waves"] += len(there.keys() - listed)
    yield from there.values()


def _listed(path: Path, faults: Faults) -> set[str]:
    """Return the wave files that filenames.json names; none where it cannot be read."""
    try:
        document = orjson.loads(path.read_bytes())
        return set(_leaves(document["wave_filenames"]))
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError):
        faults["unreadable_filenames"] += 1
        return set()


def _leaves(value: object) -> Iterator[str]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list) and one and isinstance(one[0], str):
            yield one[0]


def _read_wave(path: Path, place: list[int], rows: int, faults: Faults) -> Wave | None:
    try:
        data = path.read_bytes()
    except OSError:
        faults["unreadable_waves"] += 1
        return None
    document, given = _parse(data, faults)
    wave = document.get("wave") if isinstance(document, dict) else None
    if given is None and isinstance(wave, dict):
        given = wave.get("instructions")
    if not isinstance(wave, dict) or not isinstance(given, (list, np.ndarray)):
        faults["unreadable_waves"] += 1
        return None
    table = _instructions(given, rows, faults)
    first = int(table[0, 0]) if len(table) else 0
    last = int(table[-1, 0] + table[-1, 3]) if len(table) else first
    begin = _whole(wave.get("begin"), first)
    declared = max(_whole(document.get(key), -1) for key in ("num_insts", "num_stitched"))
    return Wave(
        name=path.name,
        place=(place[0], _whole(wave.get("cu"), 0), place[1]),
        slot=place[2],
        begin=begin,
        end=max(begin, _whole(wave.get("end"), last)),
        time=table[:, 0],
        stall=table[:, 2],
        duration=table[:, 3],
        line=table[:, 4],
        waits=tuple(_waits(wave.get("waitcnt"), rows, faults)),
        declared=declared,
    )


def _parse(data: bytes, faults: Faults) -> tuple[Any, Ints | None]:
    """Return the document and, where that was possible, its instructions as a table."""
    try:
        split = _split(data)
        if split is not None:
            return orjson.loads(split[0]), split[1]
        return orjson.loads(data), None
    except orjson.JSONDecodeError:
        document = _salvage(data)
        faults["torn_waves"] += bool(document)
        return document, None


def _split(data: bytes) -> tuple[bytes, Ints] | None:
    """Take the instructions out of a file and read them as numbers: a list for each is slow.

    Returns:
        What is left of the file, and the instructions; None where they are not all alike.
    """
    found = _INSTRUCTIONS.search(data)
    end = data.find(b"]]", found.end()) if found else -1
    if found is None or end < 0:
        return None
    table = data[found.end() : end + 1]
    structure = table.translate(None, b"0123456789- \t\r\n")
    count = (len(structure) + 1) // len(_ROW)
    if structure != b",".join([_ROW[:-1]] * count):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            numbers = np.fromstring(table.translate(None, b"[]"), np.int64, sep=",")
        except (DeprecationWarning, ValueError):
            return None
    if len(numbers) != _WIDTH * count:
        return None
    return data[: found.end()] + data[end + 1 :], numbers.reshape(-1, _WIDTH)


def _whole(value: object, otherwise: int) -> int:
    return value if type(value) is int and -_MOST < value < _MOST else otherwise


def _instructions(given: list[Any] | Ints, rows: int, faults: Faults) -> Ints:
    """Return the instructions, shape (n, 5), without those that are malformed."""
    try:
        table = np.array(given, np.int64).reshape(len(given), -1)
        is_whole = not len(given) or table.shape[1] >= _WIDTH
    except (ValueError, TypeError, OverflowError):
        is_whole = False
    if not is_whole:
        table = np.array([one[:_WIDTH] for one in given if _is_instruction(one)], np.int64)
    table = (
        table.reshape(len(table), -1)[:, :_WIDTH] if table.size else np.zeros((0, _WIDTH), np.int64)
    )
    is_right = (table[:, 4] >= 0) & (table[:, 4] < rows)
    is_right &= (table >= -_MOST).all(axis=1) & (table < _MOST).all(axis=1)
    is_right &= (table[:, 2] >= 0) & (table[:, 3] >= 0)
    table = table[is_right]
    faults["bad_instructions"] += len(given) - len(table)
    return table


def _is_instruction(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) >= _WIDTH
        and all(type(one) is int and -_MOST < one < _MOST for one in value[:_WIDTH])
    )


def _waits(given: object, rows: int, faults: Faults) -> Iterator[tuple[int, tuple[int, ...]]]:
    for one in given if isinstance(given, list) else ():
        try:
            line, found = one
            on = tuple(pair[0] for pair in found)
        except (ValueError, TypeError, IndexError, KeyError):
            faults["bad_waits"] += 1
            continue
        if all(type(number) is int and 0 <= number < rows for number in (line, *on)):
            yield line, on
        else:
            faults["bad_waits"] += 1


def _salvage(data: bytes) -> dict[str, Any]:
    """Read a file that was cut off within its instructions, or after them."""
    begin = _INSTRUCTIONS.search(data)
    end = data.find(b"]]", begin.end()) if begin else -1
    if begin is None:
        return {}
    if end < 0:
        end = data.rfind(b"]", begin.end())
    rows = data[begin.end() : end + 1] if end > 0 else b""
    try:
        instructions = orjson.loads(b"[" + rows.rstrip(b",") + b"]")
    except orjson.JSONDecodeError:
        return {}
    wave: dict[str, Any] = {"instructions": instructions}
    for key in ("begin", "cu", "end"):
        found = re.search(rb'"%s"\s*:\s*(-?\d{1,18})\b' % key.encode(), data)
        if found:
            wave[key] = int(found[1])
    return {"wave": wave}
