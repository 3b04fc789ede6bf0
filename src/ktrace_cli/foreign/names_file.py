"""Files that tell what a buffer does not: names, kernel, shape, lanes, edges."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from ktrace_cli.errors import KtraceError
from ktrace_cli.foreign.naming import Naming
from ktrace_cli.foreign.pickled import NotPlainError, dicts_in, refuse
from ktrace_cli.foreign.shape import Shape, shape_of

_MOST_BYTES = 256 << 20
_MOST_IR_BYTES = 64 << 20
_MOST_ID = (1 << 24) - 1
_SLOT = 32
_KERNEL_FILE = re.compile(r"(.+)_ktrace\.json")
_IR_NAMES = re.compile(r"fly_ktrace\.event_names\s*=\s*\{([^{}]*)\}")
_IR_NAME = re.compile(r'("(?:[^"\\]|\\.)*"|[A-Za-z_][\w.$]*)\s*=\s*(-?\d+)')
_IR_CHIP = re.compile(r'fly_ktrace\.chip\s*=\s*"([\w:+-]+)"')
_PICKLE = b"\x80"
_SHIPPED = {
    *("names", "kernel", "target", "lanes", "groups", "flows", "edges"),
    *("id_to_name", "lane_id_to_name", "group_id_to_name"),
}


@dataclass(frozen=True)
class SideCar:
    """What files beside the buffer tell."""

    names: Mapping[int, str] = field(default_factory=dict)
    kernel: str = ""
    target: str = ""
    lanes: Mapping[int, str] = field(default_factory=dict)
    """By number of the lane."""
    groups: Mapping[int, str] = field(default_factory=dict)
    """By number of the group in its workgroup."""
    edges: tuple[tuple[str, str], ...] = ()
    shape: Shape = field(default_factory=Shape)
    kernels: tuple[tuple[str, frozenset[int]], ...] = ()
    """Instrumented kernels, each with the ids that it has."""
    contradicting: int = 0
    """Ids with several names: the first one counts."""


def name_kernel(side_car: SideCar, otherwise: str) -> Naming:
    """Return the names of a buffer whose events have the ids of the side-car."""
    kernel = side_car.kernel or otherwise
    return Naming(kernel, side_car.target, side_car.names, kernels=side_car.kernels)


def tell_kernel(side_car: SideCar, naming: Naming) -> tuple[str, ...]:
    """Say what is assumed of kernel and launches, which a buffer does not name."""
    names = sorted({name for name, _ in naming.kernels})
    which = naming.kernel if side_car.kernel else f"one kernel, called {naming.kernel} here"
    if len(names) > 1:
        which = f"the one of {', '.join(names)} that has their events, and fewest others"
    return (f"launches are taken as of {which}; grids and blocks, as large as their waves tell",)


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
    return _read_json(path, data)


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
    names = _names(path, state["ktrace_names"]) if isinstance(state["ktrace_names"], dict) else {}
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
        if 0 <= int(number) <= _MOST_ID:
            names[int(number)] = plain
    return SideCar(names=names, target=chip[1] if chip else "")


def _read_json(path: Path, data: bytes) -> SideCar:
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as problem:
        raise KtraceError(
            f"cannot read the names in {path}",
            why=f"it is no JSON ({problem}), no cached kernel of FlyDSL and none of its IR",
            fix='write for example {"load": 1, "mma": 2}',
        ) from problem
    if not isinstance(document, dict):
        raise _no_names(path, "it is no JSON object")
    match = _KERNEL_FILE.fullmatch(path.name)
    kernel = match[1] if match else ""
    if "regions" in document and "per_warp_cap" in document:
        return _read_quack_summary(path, document)
    # An object may well have a phase called `names`; then that is a number.
    if not any(key in document for key in _SHIPPED) or _is_table(document):
        shape = Shape() if _is_table(document) else shape_of(document, str(path))
        if shape == Shape():
            return SideCar(names=_names(path, document), kernel=kernel)
        return SideCar(kernel=kernel, shape=shape)
    found = _read_document(path, document)
    return found if found.kernel else replace(found, kernel=kernel)


def _read_quack_summary(path: Path, document: Mapping[str, Any]) -> SideCar:
    """Read the names and the shape in the summary that QuACK writes beside its trace."""
    regions = document["regions"]
    is_list = isinstance(regions, list) and all(isinstance(each, dict) for each in regions)
    if not is_list:
        raise _no_names(path, "`regions` is no list of objects")
    names = {str(each.get("region")): each.get("name") for each in regions}
    return SideCar(names=_names(path, names), shape=shape_of(document, str(path)))


def _is_table(document: Mapping[str, Any]) -> bool:
    is_by_name = all(type(value) is int for value in document.values())
    return is_by_name or all(_id(key) is not None for key in document)


def _read_document(path: Path, document: Mapping[str, Any]) -> SideCar:
    def table(key: str, other: str) -> dict[int, str]:
        value = document.get(key) or document.get(other) or {}
        if not isinstance(value, dict):
            raise _no_names(path, f"`{key}` is no object")
        return _names(path, value)

    edges = document.get("edges") or document.get("flows") or []
    if not isinstance(edges, list) or not all(_is_pair(edge) for edge in edges):
        raise _no_names(path, "`edges` is no list of pairs of names")
    return SideCar(
        names=table("names", "id_to_name"),
        kernel=str(document.get("kernel") or ""),
        target=str(document.get("target") or ""),
        lanes=table("lanes", "lane_id_to_name"),
        groups=table("groups", "group_id_to_name"),
        edges=tuple((edge[0], edge[1]) for edge in edges),
        shape=shape_of(document, str(path)),
    )


def _is_pair(edge: Any) -> bool:
    return isinstance(edge, list) and len(edge) == 2 and all(isinstance(e, str) for e in edge)


def _names(path: Path, table: Mapping[Any, Any]) -> dict[int, str]:
    """Read {name: id} or {id: name}.

    Raises:
        KtraceError: it is neither.
    """
    if all(type(value) is int and isinstance(key, str) for key, value in table.items()):
        pairs = [(value, key) for key, value in table.items()]
    elif all(isinstance(value, str) and _id(key) is not None for key, value in table.items()):
        pairs = [(int(key), value) for key, value in table.items()]
    else:
        raise _no_names(path, "it is neither {name: id} nor {id: name}")
    found: dict[int, str] = {}
    for number, name in pairs:
        if not 0 <= number <= _MOST_ID:
            raise _no_names(path, f"{name!r} has the id {number}, not one of 0 to {_MOST_ID}")
        found.setdefault(number, name)
    return found


def _id(key: Any) -> int | None:
    if isinstance(key, str) and re.fullmatch(r"[0-9]{1,8}", key):
        return int(key)
    return key if type(key) is int else None


def _no_names(path: Path, why: str) -> KtraceError:
    return KtraceError(
        f"no names in {path}", why=why, fix='write for example {"load": 1, "mma": 2}'
    )
