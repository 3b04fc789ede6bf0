"""What files beside a buffer tell of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ktrace_cli.errors import KtraceError
from ktrace_cli.foreign.naming import Naming
from ktrace_cli.foreign.shape import Shape

MOST_ID = (1 << 24) - 1


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


def names_of(path: Path, table: Mapping[Any, Any]) -> dict[int, str]:
    """Read {name: id} or {id: name}.

    Raises:
        KtraceError: it is neither.
    """
    if all(type(value) is int and isinstance(key, str) for key, value in table.items()):
        pairs = [(value, key) for key, value in table.items()]
    elif all(isinstance(value, str) and id_of(key) is not None for key, value in table.items()):
        pairs = [(int(key), value) for key, value in table.items()]
    else:
        raise no_names(path, "it is neither {name: id} nor {id: name}")
    found: dict[int, str] = {}
    for number, name in pairs:
        if not 0 <= number <= MOST_ID:
            raise no_names(path, f"{name!r} has the id {number}, not one of 0 to {MOST_ID}")
        found.setdefault(number, name)
    return found


def id_of(key: Any) -> int | None:
    """Return the number that a key of a table is; None: it is none."""
    if isinstance(key, str) and re.fullmatch(r"[0-9]{1,8}", key):
        return int(key)
    return key if type(key) is int else None


def no_names(path: Path, why: str) -> KtraceError:
    """Return what is said of a file that tells no names."""
    return KtraceError(
        f"no names in {path}", why=why, fix='write for example {"load": 1, "mma": 2}'
    )
