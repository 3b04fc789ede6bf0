"""Baselines on disk: the profiles of some runs as JSON, which may be compressed."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from ktrace_cli.analysis.compare.profile import (
    LEVELS,
    DeviceProfile,
    Floats,
    KernelProfile,
    PhaseId,
    PhaseProfile,
    RunProfile,
    Shape,
    SourcePlace,
)
from ktrace_cli.errors import KtraceError

FORMAT = "ktrace baseline"
VERSION = 1
MOST_TIME = float(1 << 62)
"""Of anything in a file: times in 64 bits are below it."""
_FIX = "make it again with `ktrace baseline RUN... -o FILE`"


class _MalformedError(Exception):
    """What is wrong, and where."""


def write_baseline(runs: Sequence[RunProfile], release: str) -> bytes:
    """Return a baseline file.

    Args:
        runs: at least one.
        release: of ktrace, for whoever reads the file.
    """
    document = {
        "format": FORMAT,
        "version": VERSION,
        "ktrace": release,
        "runs": [_run(run) for run in runs],
    }
    return orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)


def is_baseline(path: Path) -> bool:
    """Tell whether a file begins as baselines do; a pipe could not be read a second time."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError:
        return False
    if head.startswith(b"\x1f\x8b"):
        try:
            head = zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(head, 256)
        except zlib.error:
            return False
    return f'"format":"{FORMAT}"'.encode() in head[:256].replace(b'": "', b'":"')


def read_baseline(path: Path) -> list[RunProfile]:
    """Return the runs of a baseline file.

    Raises:
        KtraceError: it cannot be read, is damaged, or of another version.
    """
    try:
        data = path.read_bytes()
        if data.startswith(b"\x1f\x8b"):
            data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as problem:
        why = getattr(problem, "strerror", None) or str(problem)
        raise KtraceError(f"cannot read {path}", why=why, fix=_FIX) from problem
    return parse_baseline(data, path)


def parse_baseline(data: bytes, path: Path) -> list[RunProfile]:
    """Return the runs of a baseline from its bytes; `path` is its name in messages.

    Raises:
        KtraceError: as read_baseline.
    """
    try:
        document = _as(orjson.loads(data), dict, "the file")
        version = _get(document, "version", int)
        if version != VERSION:
            raise KtraceError(
                f"cannot read {path}",
                why=f"it is a baseline of version {version}; this ktrace reads version {VERSION}",
                fix=f"{_FIX}, or read it with the ktrace release that wrote it",
            )
        runs = [_read_run(run) for run in _items(document, "runs", dict)]
        if not runs:
            raise _MalformedError("it has no run")
    except (orjson.JSONDecodeError, _MalformedError) as problem:
        raise KtraceError(
            f"cannot read {path}", why=f"it is a damaged baseline: {problem}", fix=_FIX
        ) from problem
    return runs


def _run(run: RunProfile) -> dict[str, Any]:
    return {
        "name": run.name,
        "unit": run.unit,
        "tick": run.tick,
        "devices": [
            {
                "target": device.target,
                "name": device.name,
                "compute_units": device.compute_units,
                "modelled_time": device.is_modelled,
            }
            for device in run.devices
        ],
        "losses": dict(run.losses),
        "kernels": [_kernel(kernel) for kernel in run.kernels],
    }


def _kernel(kernel: KernelProfile) -> dict[str, Any]:
    return {
        "name": kernel.name,
        "signature": kernel.signature,
        "target": kernel.target,
        "grid": list(kernel.shape.grid),
        "block": list(kernel.shape.block),
        "is_partial": kernel.shape.is_partial,
        "launches": kernel.launches,
        "waves": kernel.waves,
        "units": dict(kernel.units),
        "sampled": dict(kernel.sampled),
        "table": [
            {**_id(id_), "file": place.file, "line": place.line}
            for id_, place in kernel.table.items()
        ],
        "phases": [_phase(phase) for phase in kernel.phases.values()],
    }


def _id(id_: PhaseId) -> dict[str, str]:
    return {"name": id_.name, "kind": id_.kind, "lane": id_.lane}


def _phase(phase: PhaseProfile) -> dict[str, Any]:
    return {
        **_id(phase.id),
        "count": phase.count,
        "total": phase.total_ns,
        "self": phase.self_ns,
        "median": phase.median_ns,
        "values": {
            level: [_shortest(value) for value in values.tolist()]
            for level, values in phase.values.items()
        },
    }


def _shortest(value: float) -> float:
    return int(value) if value == int(value) else value


def _read_run(run: Mapping[str, Any]) -> RunProfile:
    unit = _get(run, "unit", str)
    if unit not in ("ns", "cycles"):
        raise _MalformedError(f"its unit is {unit!r}, not ns or cycles")
    return RunProfile(
        name=_get(run, "name", str),
        unit=unit,
        tick=_number(run, "tick"),
        devices=tuple(
            DeviceProfile(
                target=_get(device, "target", str),
                name=_get(device, "name", str),
                compute_units=_count(device, "compute_units"),
                is_modelled=_get(device, "modelled_time", bool),
            )
            for device in _items(run, "devices", dict)
        ),
        losses=_counts(run, "losses"),
        kernels=tuple(_read_kernel(kernel) for kernel in _items(run, "kernels", dict)),
    )


def _read_kernel(kernel: Mapping[str, Any]) -> KernelProfile:
    sampled = _counts(kernel, "sampled")
    phases = [_read_phase(phase, sampled) for phase in _items(kernel, "phases", dict)]
    return KernelProfile(
        name=_get(kernel, "name", str),
        signature=_get(kernel, "signature", str),
        target=_get(kernel, "target", str),
        shape=Shape(
            _size(kernel, "grid"), _size(kernel, "block"), _get(kernel, "is_partial", bool)
        ),
        launches=_count(kernel, "launches"),
        waves=_count(kernel, "waves"),
        units=_counts(kernel, "units"),
        sampled=sampled,
        table={
            _read_id(row): SourcePlace(_get(row, "file", str), _count(row, "line"))
            for row in _items(kernel, "table", dict)
        },
        phases={phase.id: phase for phase in phases},
    )


def _read_phase(phase: Mapping[str, Any], sampled: Mapping[str, int]) -> PhaseProfile:
    values = _get(phase, "values", dict)
    for level, size in sampled.items():
        if level in values and len(_items(values, level, (int, float))) != size:
            raise _MalformedError(f"it has {len(values[level])} values of {size} {level}s")
    return PhaseProfile(
        id=_read_id(phase),
        count=_count(phase, "count"),
        total_ns=_count(phase, "total"),
        self_ns=_signed(phase, "self"),
        median_ns=_number(phase, "median"),
        values={level: _floats(values, level) for level in LEVELS if level in values},
    )


def _read_id(row: Mapping[str, Any]) -> PhaseId:
    return PhaseId(_get(row, "name", str), _get(row, "kind", str), _get(row, "lane", str))


def _floats(values: Mapping[str, Any], level: str) -> Floats:
    found = np.array(_items(values, level, (int, float)), np.float64)
    if len(found) and not (found.min() >= 0 and found.max() < MOST_TIME):
        raise _MalformedError(f"values of {level}s are not between 0 and {MOST_TIME:g}")
    return found


def _size(kernel: Mapping[str, Any], key: str) -> tuple[int, int, int]:
    sizes = _items(kernel, key, int)
    if len(sizes) != 3:
        raise _MalformedError(f"{key} has {len(sizes)} sizes, not 3")
    return sizes[0], sizes[1], sizes[2]


def _counts(document: Mapping[str, Any], key: str) -> dict[str, int]:
    found = _get(document, key, dict)
    return {name: _count(found, name) for name in found}


def _count(document: Mapping[str, Any], key: str) -> int:
    value: int = _get(document, key, int)
    if not 0 <= value < MOST_TIME:
        raise _MalformedError(f"{key} is {value}, not between 0 and {MOST_TIME:g}")
    return value


def _signed(document: Mapping[str, Any], key: str) -> int:
    # A phase's own time: rounding may make what nests inside longer than what is around it.
    value: int = _get(document, key, int)
    if not -MOST_TIME < value < MOST_TIME:
        raise _MalformedError(f"{key} is {value}, more than {MOST_TIME:g}")
    return value


def _number(document: Mapping[str, Any], key: str) -> float:
    value = float(_get(document, key, (int, float)))
    if not 0 <= value < MOST_TIME:
        raise _MalformedError(f"{key} is {value}, not between 0 and {MOST_TIME:g}")
    return value


def _items(document: Mapping[str, Any], key: str, kind: Any) -> list[Any]:
    return [_as(item, kind, f"an entry of {key}") for item in _get(document, key, list)]


def _get(document: Mapping[str, Any], key: str, kind: Any) -> Any:
    if key not in document:
        raise _MalformedError(f"it lacks {key}")
    return _as(document[key], kind, key)


def _as(value: Any, kind: Any, what: str) -> Any:
    # JSON's true and false are integers to Python.
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        wanted = getattr(kind, "__name__", "number")
        raise _MalformedError(f"{what} is {type(value).__name__}, not {wanted}")
    return value
