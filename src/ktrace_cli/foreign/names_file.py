"""Files that tell what a buffer does not: names, kernel, shape, lanes, edges."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ktrace_cli.errors import KtraceError
from ktrace_cli.foreign.names_json import read_json
from ktrace_cli.foreign.pickled import NotPlainError, dicts_in, refuse
from ktrace_cli.foreign.shape import Shape
from ktrace_cli.foreign.side_car import MOST_ID, SideCar, names_of

_MOST_BYTES = 256 << 20
_MOST_IR_BYTES = 64 << 20
_SLOT = 32
_IR_NAMES = re.compile(r"fly_ktrace\.event_names\s*=\s*\{([^{}]*)\}")
_IR_NAME = re.compile(r'("(?:[^"\\]|\\.)*"|[A-Za-z_][\w.$]*)\s*=\s*(-?\d+)')
_IR_CHIP = re.compile(r'fly_ktrace\.chip\s*=\s*"([\w:+-]+)"')
_PICKLE = b"\x80"


def read_side_cars(paths: Sequence[Path]) -> SideCar:
    """Read JSON, FlyDSL's cached kernels, or its IR; a folder stands for all its cached kernels.

    Raises:
        KtraceError: one cannot be read, or says nothing about names.
    """
    found = SideCar()
    for path in paths:
        for file in _files(path):
            found = _join(found, _read(file))
    return found


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(path.rglob("*.pkl"))
    if not found:
        raise KtraceError(
            f"no names in {path}",
            why="the folder holds no *.pkl, which is what FlyDSL's cache is made of",
            fix="name its FLYDSL_RUNTIME_CACHE_DIR, or a JSON file",
        )
    return found


def _join(one: SideCar, other: SideCar) -> SideCar:
    contradicting = sum(one.names.get(n, name) != name for n, name in other.names.items())
    is_same_kernel = not one.kernel or not other.kernel or one.kernel == other.kernel
    kernel = (one.kernel or other.kernel) if is_same_kernel else ""
    return SideCar(
        names={**other.names, **one.names},
        kernel=kernel,
        kernels=tuple(dict.fromkeys(one.kernels + other.kernels)),
        target=one.target or other.target,
        lanes={**other.lanes, **one.lanes},
        groups={**other.groups, **one.groups},
        edges=tuple(dict.fromkeys(one.edges + other.edges)),
        shape=one.shape.over(other.shape),
        contradicting=one.contradicting + contradicting,
    )


def _read(path: Path) -> SideCar:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as problem:
        raise KtraceError(
            f"cannot read the names in {path}", why=problem.strerror or str(problem)
        ) from problem
    if len(data) > _MOST_BYTES:
        raise KtraceError(
            f"cannot read the names in {path}", why=f"it has more than {_MOST_BYTES:,} bytes"
        )
    if data.startswith(_PICKLE):
        return _read_pickle(path, data)
    if b"fly_ktrace.event_names" in data:
        return _read_ir(data.decode("utf-8", "replace"))
    return read_json(path, data)


def _read_pickle(path: Path, data: bytes) -> SideCar:
    try:
        states = [found for found in dicts_in(data) if "ktrace_names" in found]
    except NotPlainError as problem:
        raise refuse(path, problem) from problem
    if not states:
        raise KtraceError(
            f"no names in {path}",
            why="it is a pickle, but none of a kernel that FlyDSL has cached",
            fix="name a file of FLYDSL_RUNTIME_CACHE_DIR",
        )
    state = states[0]
    ir = _unpacked(state.get("ir_zlib"))
    entry, capacity = state.get("entry"), state.get("ktrace_buffer_config")
    names = names_of(path, state["ktrace_names"]) if isinstance(state["ktrace_names"], dict) else {}
    slots = capacity if isinstance(capacity, int) and 0 < capacity < 1 << 26 else -1
    return SideCar(
        names=names,
        kernel=entry if isinstance(entry, str) and names else "",
        kernels=((str(entry), frozenset(names)),) if names else (),
        target=_read_ir(ir).target,
        shape=Shape(bytes=(slots + 1) * _SLOT),
    )


def _unpacked(packed: Any) -> str:
    if not isinstance(packed, bytes):
        return ""
    try:
        return zlib.decompressobj().decompress(packed, _MOST_IR_BYTES).decode("utf-8", "replace")
    except zlib.error:
        return ""  # it only tells the target


def _read_ir(text: str) -> SideCar:
    table, chip = _IR_NAMES.search(text), _IR_CHIP.search(text)
    names = {}
    for name, number in _IR_NAME.findall(table[1] if table else ""):
        plain = name[1:-1].replace('\\"', '"') if name.startswith('"') else name
        if 0 <= int(number) <= MOST_ID:
            names[int(number)] = plain
    return SideCar(names=names, target=chip[1] if chip else "")
