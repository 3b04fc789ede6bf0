"""Names, and what else a buffer does not tell, as JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from ktrace_cli.errors import KtraceError
from ktrace_cli.foreign.shape import Shape, shape_of
from ktrace_cli.foreign.side_car import SideCar, id_of, names_of, no_names

_KERNEL_FILE = re.compile(r"(.+)_ktrace\.json")
_SHIPPED = {
    *("names", "kernel", "target", "lanes", "groups", "flows", "edges"),
    *("id_to_name", "lane_id_to_name", "group_id_to_name"),
}


def read_json(path: Path, data: bytes) -> SideCar:
    """Read a table of names, or a document.

    Raises:
        KtraceError: it is neither.
    """
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as problem:
        raise KtraceError(
            f"cannot read the names in {path}",
            why=f"it is no JSON ({problem}), no cached kernel of FlyDSL and none of its IR",
            fix='write for example {"load": 1, "mma": 2}',
        ) from problem
    if not isinstance(document, dict):
        raise no_names(path, "it is no JSON object")
    match = _KERNEL_FILE.fullmatch(path.name)
    kernel = match[1] if match else ""
    if "regions" in document and "per_warp_cap" in document:
        return _read_quack_summary(path, document)
    # An object may well have a phase called `names`; then that is a number.
    if not any(key in document for key in _SHIPPED) or _is_table(document):
        shape = Shape() if _is_table(document) else shape_of(document, str(path))
        if shape == Shape():
            return SideCar(names=names_of(path, document), kernel=kernel)
        return SideCar(kernel=kernel, shape=shape)
    found = _read_document(path, document)
    return found if found.kernel else replace(found, kernel=kernel)


def _read_quack_summary(path: Path, document: Mapping[str, Any]) -> SideCar:
    """Read the names and the shape in the summary that QuACK writes beside its trace."""
    regions = document["regions"]
    is_list = isinstance(regions, list) and all(isinstance(each, dict) for each in regions)
    if not is_list:
        raise no_names(path, "`regions` is no list of objects")
    names = {str(each.get("region")): each.get("name") for each in regions}
    return SideCar(names=names_of(path, names), shape=shape_of(document, str(path)))


def _is_table(document: Mapping[str, Any]) -> bool:
    is_by_name = all(type(value) is int for value in document.values())
    return is_by_name or all(id_of(key) is not None for key in document)


def _read_document(path: Path, document: Mapping[str, Any]) -> SideCar:
    def table(key: str, other: str) -> dict[int, str]:
        value = document.get(key) or document.get(other) or {}
        if not isinstance(value, dict):
            raise no_names(path, f"`{key}` is no object")
        return names_of(path, value)

    edges = document.get("edges") or document.get("flows") or []
    if not isinstance(edges, list) or not all(_is_pair(edge) for edge in edges):
        raise no_names(path, "`edges` is no list of pairs of names")
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
