"""The JSON of `ktrace hotspots`; hotspots.schema.json, beside this file, describes it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from ktrace_cli.att.results import (
    ClassRow,
    Coverage,
    Hotspots,
    InstructionRow,
    PhaseRow,
    SourceRow,
    Sums,
)
from ktrace_cli.kernel_code.occupancy import Occupancy

SCHEMA_VERSION = 1


def to_document(found: Hotspots) -> dict[str, Any]:
    """Return what is written as JSON."""
    return {
        "schema_version": SCHEMA_VERSION,
        "bundle": _printable(str(found.folder)),
        "kernel": found.kernel,
        "mangled_name": found.mangled,
        "arch": found.target.processor or None,
        "arch_source": {"certain": found.target.is_certain, "why": found.target.why},
        "occupancy": _occupancy(found),
        "totals": {**_sums(found.totals), "executed_instructions": found.executed,
                   "instructions": found.instructions},
        "by_class": _classes(found.by_class),
        "by_source": [_source(one) for one in found.by_source],
        "by_instruction": [_instruction(one) for one in found.by_instruction],
        "by_phase": [_phase(one) for one in found.by_phase],
        "no_phases": found.no_phases,
        "waits": [
            {"class": one.kind.value, "for": one.on or None, "count": one.count, "stall": one.stall}
            for one in found.waits
        ],
        "waited_for": [
            {"instruction": one.instruction.row, "count": one.count, "stall": one.stall}
            for one in found.awaited
        ],
        "padding": [
            {"after": one.producer or None, "before": one.consumer or None, "places": len(one.rows),
             "hit": one.hit, "wait_states": one.wait_states, "needed": one.needed,
             "stall": one.stall}
            for one in found.padding
        ],
        "waves": _waves(found),
        "simds": [
            {"se": one.place[0], "cu": one.place[1], "simd": one.place[2], "waves": one.waves,
             "instructions": one.instructions, "cycles": one.cycles, "stall": one.stall,
             "mfma": _coverage(one.matrix)}
            for one in found.simds
        ],
        "source_coverage": {
            "instructions": found.source_coverage.rows,
            "executed": found.source_coverage.executed,
            "stall": found.source_coverage.stall,
            "stall_set_aside": found.source_coverage.stall_set_aside,
        },
        "quality": {"checks": found.checks, "problems": list(found.quality)},
        "other_kernels": [{"name": one.name, "latency": one.latency} for one in found.others],
        "notes": list(found.notes),
        "faults": found.faults,
    }  # fmt: skip


def read_schema() -> dict[str, Any]:
    """Return the schema of the document."""
    text = files(__package__).joinpath("hotspots.schema.json").read_text()
    schema: dict[str, Any] = json.loads(text)
    return schema


def _printable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _sums(sums: Sums) -> dict[str, int]:
    return {"hit": sums.hit, "latency": sums.latency, "stall": sums.stall, "idle": sums.idle}


def _classes(rows: Sequence[ClassRow]) -> list[dict[str, Any]]:
    return [{"class": one.kind.value, **_sums(one.sums)} for one in rows]


def _occupancy(found: Hotspots) -> dict[str, Any]:
    of, needs, observed = found.occupancy, found.needs, found.observed
    resources = needs.resources
    return {
        "waves_per_simd": of.waves_per_simd if of else None,
        "limited_by": of.limited_by if of else None,
        "max_waves_per_simd": of.max_waves_per_simd if of else None,
        "limits": {limit.name: limit.waves for limit in of.limits} if of else {},
        "next_step": _next_step(of),
        "resources": {
            "vgprs": resources.vgprs,
            "sgprs": resources.sgprs,
            "lds_bytes": resources.lds_bytes + resources.dynamic_lds_bytes,
            "workgroup_size": resources.workgroup_size,
        },
        "sources": list(needs.sources),
        "unknown": list(needs.unknown),
        "observed_waves_per_simd": observed.most_per_simd if observed else None,
    }


def _next_step(of: Occupancy | None) -> dict[str, Any] | None:
    if of is None or of.next_step is None:
        return None
    needs = [
        {"name": need.name, "used": need.used, "most": need.most} for need in of.next_step.needs
    ]
    return {"waves_per_simd": of.next_step.waves_per_simd, "needs": needs}


def _source(one: SourceRow) -> dict[str, Any]:
    return {
        "path": one.frame.path,
        "line": one.frame.line or None,
        **_sums(one.sums),
        "class": one.kind.value,
        "instructions": one.instructions,
        "set_aside": one.artefact or None,
        "inlined_into": [frame.text for frame in one.inlined_into],
    }


def _instruction(one: InstructionRow) -> dict[str, Any]:
    return {
        "row": one.row,
        "text": one.text,
        "address": one.address,
        "class": one.kind.value,
        **_sums(one.sums),
        "source": [frame.text for frame in one.chain],
        "phase": one.phase or None,
    }


def _phase(one: PhaseRow) -> dict[str, Any]:
    return {
        "phase": None if one.is_marker else one.name or None,
        "is_marker": one.is_marker,
        **_sums(one.sums),
        "by_class": _classes(one.by_class),
        "mfma": _coverage(one.matrix),
    }


def _coverage(matrix: Coverage | None) -> dict[str, Any] | None:
    if matrix is None:
        return None
    return {
        "issued": matrix.issued,
        "cycles": matrix.cycles,
        "busy": round(matrix.busy, 3),
        "share": matrix.share,
    }


def _waves(found: Hotspots) -> dict[str, Any] | None:
    spread, observed = found.waves, found.observed
    if spread is None:
        return None
    return {
        "traced": spread.count,
        "seen": observed.waves if observed else None,
        "seen_cus": observed.cus if observed else None,
        "min_cycles": spread.least,
        "mean_cycles": spread.mean,
        "max_cycles": spread.most,
        "slowest": spread.slowest,
    }
