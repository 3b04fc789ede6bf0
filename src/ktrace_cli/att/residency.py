"""How many waves can be on a SIMD at once, by what a kernel takes, and how many were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson

from ktrace_cli.att.code_objects import KernelObject
from ktrace_cli.att.dependencies import registers
from ktrace_cli.att.faults import Faults
from ktrace_cli.att.launches import Beside, Launch
from ktrace_cli.att.target import Target
from ktrace_cli.importers.kernel_names import is_same_kernel
from ktrace_cli.kernel_code.occupancy import (
    KernelResources,
    Occupancy,
    combined_vgprs,
    occupancy,
    rules_of,
)

_LDS_STEP: Final = 512
"""rocprofv3 rounds static LDS up to a multiple of this."""
_MOST: Final = 1 << 48


@dataclass(frozen=True)
class Needs:
    """What a launch took, and where each number comes from."""

    resources: KernelResources
    sources: tuple[str, ...]
    unknown: tuple[str, ...]
    """What nothing tells and was left out: LDS, workgroup size, SGPRs."""


def find_needs(
    texts: Sequence[str],
    found: KernelObject | None,
    launch: tuple[Launch, str] | None,
    target: Target,
) -> Needs:
    """Put together what is known of a kernel's resources.

    Args:
        texts: its disassembly.
        found: its code object.
        launch: as rocprofv3 tells, and the file that tells it.
        target: corrects what rocprofv3 tells of gfx950.
    """
    vgprs, accum = highest_registers(texts)
    named = combined_vgprs(vgprs, accum)
    sources = [f"{named} VGPRs named by instructions"]
    sgprs = lds = dynamic = size = 0
    if found is not None:
        of_kernel = found.kernel.resources
        named, sgprs, lds = of_kernel.vgprs or named, of_kernel.sgprs, of_kernel.lds_bytes
        sources = [f"{named} VGPRs, {sgprs} SGPRs and {lds:,} B static LDS by {found.name}"]
    if launch is not None:
        told, file = launch
        if found is None:
            named = max(named, _told_vgprs(told, vgprs, target))
            sgprs = told.sgprs
            sources = [f"{named} VGPRs and {sgprs} SGPRs by {file} and instructions"]
        dynamic = _dynamic_lds(told, lds, has_static=found is not None)
        lds = lds if found is not None else told.lds_bytes
        dynamic = dynamic if found is not None else 0
        size = told.workgroup_size
        sources.append(f"{lds + dynamic:,} B LDS and {size} work-items of a workgroup by {file}")
    unknown = []
    if not size and found is not None and found.kernel.resources.max_workgroup_size:
        size = found.kernel.resources.max_workgroup_size
        sources.append(f"{size} work-items are the most that a workgroup may have")
    if not size:
        # How many waves share a workgroup's LDS is not known, so it cannot be told what it allows.
        unknown += ["the workgroup's size"] + (["LDS"] if lds or dynamic else [])
        lds = dynamic = 0
    if found is None and launch is None:
        unknown += ["LDS", "SGPRs"]
    elif launch is None or not (told.is_whole_lds or dynamic):
        unknown.append("dynamic LDS")
    return Needs(
        KernelResources(named, sgprs, lds, size or 64, dynamic), tuple(sources), tuple(unknown)
    )


def _told_vgprs(told: Launch, in_code: int, target: Target) -> int:
    """Return the registers of both files; old releases tell half of them for gfx950."""
    if target.processor == "gfx950" and not told.accum_vgprs and told.vgprs < in_code:
        return 2 * told.vgprs
    return combined_vgprs(told.vgprs, told.accum_vgprs)


def _dynamic_lds(told: Launch, static: int, *, has_static: bool) -> int:
    """Return what a launch added to the static LDS, which rocprofv3's CSV gives rounded up."""
    if not has_static:
        return 0
    rounded = -(-static // _LDS_STEP) * _LDS_STEP
    return told.lds_bytes - static if told.lds_bytes > rounded else 0


def highest_registers(texts: Sequence[str]) -> tuple[int, int]:
    """Return how many VGPRs and AGPRs instructions name: one more than the highest of each."""
    highest = {"v": -1, "a": -1}
    for text in texts:
        for register in registers(text.partition(" ")[2]):
            if register[0] in highest and register[1:].isdigit():
                highest[register[0]] = max(highest[register[0]], int(register[1:]))
    return highest["v"] + 1, highest["a"] + 1


def choose_launch(
    beside: Beside, names: Sequence[str], faults: Faults
) -> tuple[Launch, str] | None:
    """Return the launch with the bundle's dispatch id whose kernel has one of the names."""
    fitting = [
        (launch, file)
        for launch, file in beside.launches.items()
        if any(is_same_kernel(name, launch.kernel) for name in names if name)
    ]
    if len({launch.kernel for launch, _ in fitting}) > 1 or _differ(fitting):
        faults["ambiguous_launches"] += len(fitting)
        return None
    whole = [one for one in fitting if one[0].is_whole_lds]
    return next(iter(whole or fitting), None)


def _differ(fitting: Sequence[tuple[Launch, str]]) -> bool:
    taken = {(one.vgprs, one.accum_vgprs, one.sgprs, one.workgroup_size) for one, _ in fitting}
    return len(taken) > 1


def theoretical(needs: Needs, target: Target) -> Occupancy | None:
    """Compute the occupancy; None where the rules of the target are not known."""
    if rules_of(target.processor) is None:
        return None
    return occupancy(needs.resources, target.processor)


@dataclass(frozen=True)
class Observed:
    """What occupancy.json tells of all CUs of the traced shader engines."""

    shader_engines: int
    cus: int
    waves: int
    most_per_simd: int
    """The most waves that were on one SIMD at once."""


def read_observed(folder: Path, faults: Faults) -> Observed | None:
    """Read occupancy.json."""
    path = folder / "occupancy.json"
    if not path.exists():
        return None
    try:
        document = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        document = None
    if not isinstance(document, dict):
        faults["unreadable_occupancy"] += 1
        return None
    most = waves = engines = 0
    cus: set[tuple[str, int]] = set()
    for engine, rows in document.items():
        if not engine.isdigit() or not isinstance(rows, list):
            continue
        events = np.array([row[:5] for row in rows if _is_event(row)], np.int64).reshape(-1, 5)
        faults["bad_occupancy"] += len(rows) - len(events)
        engines += bool(len(events))
        waves += int((events[:, 4] == 1).sum())
        cus |= {(engine, int(cu)) for cu in np.unique(events[:, 1])}
        most = max(most, _most_at_once(events))
    return Observed(engines, len(cus), waves, most)


def _is_event(row: Any) -> bool:
    return (
        isinstance(row, list)
        and len(row) >= 5
        and all(type(one) is int and -_MOST < one < _MOST for one in row[:5])
    )


def _most_at_once(events: np.ndarray[Any, np.dtype[np.int64]]) -> int:
    """Return the most waves on one SIMD; one that ends makes room before another begins."""
    if not len(events):
        return 0
    change = np.where(events[:, 4] == 1, 1, -1)
    order = np.lexsort((change, events[:, 0], events[:, 2], events[:, 1]))
    places, change = events[order][:, 1:3], change[order]
    is_first = np.concatenate(([True], (places[1:] != places[:-1]).any(axis=1)))
    total = np.cumsum(change)
    before = np.where(is_first, total - change, 0)
    base = np.maximum.accumulate(np.where(is_first, np.arange(len(total)), 0))
    return int((total - before[base]).max())
