"""A comparison as the JSON document that `ktrace diff --json` prints; its keys are a promise.

diff.schema.json, beside this file, describes it.
"""

from __future__ import annotations

from dataclasses import asdict
from importlib.resources import files
from typing import Any

import orjson

from ktrace_cli.analysis.compare.profile import PhaseId
from ktrace_cli.analysis.compare.results import (
    Comparison,
    KernelComparison,
    PhaseSide,
    Reason,
    Row,
    Side,
    Status,
)

SCHEMA_VERSION = 1


def to_document(result: Comparison) -> dict[str, Any]:
    """Return what `--json` prints."""
    return {
        "schema": SCHEMA_VERSION,
        "verdict": result.verdict.value,
        "unit": result.unit,
        "fail_on": list(result.rules),
        "reasons": [_reason(reason) for reason in result.reasons],
        "allowed": [_reason(reason) for reason in result.allowed],
        "base": _side(result.base),
        "new": _side(result.new),
        "counts": {status.value: len(result.rows(status)) for status in Status},
        "kernels": [_kernel(kernel) for kernel in result.kernels],
        "vanished_kernels": list(result.vanished_kernels),
        "added_kernels": list(result.added_kernels),
        "renamed_kernels": [asdict(one) for one in result.renamed_kernels],
    }


def read_schema() -> dict[str, Any]:
    """Return the JSON Schema of the document."""
    schema: dict[str, Any] = orjson.loads(
        files(__package__).joinpath("diff.schema.json").read_bytes()
    )
    return schema


def _reason(reason: Reason) -> dict[str, str]:
    return {"kind": reason.kind.value, "text": reason.text, "fix": reason.fix}


def _side(side: Side) -> dict[str, Any]:
    return {"runs": list(side.runs), "losses": side.losses, "modelled_time": side.is_modelled}


def _kernel(kernel: KernelComparison) -> dict[str, Any]:
    shape = kernel.shape
    return {
        "name": kernel.name,
        "grid": list(shape.grid) if shape else None,
        "block": list(shape.block) if shape else None,
        "level": kernel.level,
        "base": _units(kernel.base_launches, kernel.base_units, kernel.base_sampled),
        "new": _units(kernel.new_launches, kernel.new_units, kernel.new_sampled),
        "phases": [_row(row) for row in kernel.rows],
        "vanished": [_id(id_) for id_ in kernel.vanished],
        "added": [_id(id_) for id_ in kernel.added],
        "renamed": [asdict(one) for one in kernel.renamed],
        "stopped": [_id(id_) for id_ in kernel.stopped],
        "started": [_id(id_) for id_ in kernel.started],
    }


def _units(launches: int, units: int, sampled: int) -> dict[str, int]:
    return {"launches": launches, "units": units, "sampled": sampled}


def _id(id_: PhaseId) -> dict[str, str]:
    return {"name": id_.name, "kind": id_.kind, "lane": id_.lane}


def _row(row: Row) -> dict[str, Any]:
    return {
        **_id(row.id),
        "status": row.status.value,
        "change": None if row.change is None else round(row.change, 6),
        "change_per_wave": round(row.change_ns, 3),
        "limit": row.limit,
        "p": row.p,
        "noise": None if row.noise is None else round(row.noise, 6),
        "floor_per_wave": round(row.floor_ns, 3),
        "base": _phase_side(row.base),
        "new": _phase_side(row.new),
    }


def _phase_side(side: PhaseSide) -> dict[str, Any]:
    return {
        "count": side.count,
        "count_per_wave": round(side.count_per_wave, 6),
        "time_per_wave": round(side.wave_ns, 3),
        "mean": round(side.mean_ns, 3),
        "median": round(side.median_ns, 3),
        "self_mean": round(side.self_mean_ns, 3),
    }
