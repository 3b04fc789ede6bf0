"""The JSON of `ktrace pmc`; docs/reference/cli-pmc.md is its schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ktrace_cli.counters.counters import KernelResult, Result
from ktrace_cli.counters.kernels import Figure, Missing, Spread
from ktrace_cli.counters.timing import Bandwidth
from ktrace_cli.importers.kernel_names import shown_name

SCHEMA_VERSION = 1


def to_document(result: Result) -> dict[str, Any]:
    """Return what is written as JSON."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "pmc",
        "files": [str(path) for path in result.request.files],
        "warm_up": result.request.warm_up,
        "kernels": [_kernel(kernel) for kernel in result.kernels],
        "notes": list(result.notes),
        "faults": list(result.faults),
    }


def _kernel(result: KernelResult) -> dict[str, Any]:
    kernel = result.counters
    return {
        "name": shown_name(kernel.name),
        "full_name": kernel.name,
        "target": kernel.target,
        "target_is_guessed": kernel.is_guessed,
        "grid": kernel.grid,
        "workgroup": kernel.workgroup,
        "dispatches": kernel.dispatches,
        "passes": kernel.passes,
        "warm_up_left_out": kernel.warm_up,
        "is_all_warm_up": kernel.is_all_warm_up,
        "figures": {figure.metric.key: _figure(figure) for figure in kernel.figures},
        "missing": [_missing(one) for one in kernel.missing],
        "counters": {name: _spread(value) for name, value in kernel.raw.items()},
        "zero_counters": list(kernel.zero),
        "over_fetch": result.over_fetch,
        "bandwidth": _bandwidth(result.bandwidth),
        "no_bandwidth": result.no_bandwidth,
        "verdicts": [
            {
                "key": verdict.key,
                "is_good": verdict.is_good,
                "text": verdict.text,
                "reason": verdict.reason,
                "source": verdict.source,
            }
            for verdict in result.verdicts
        ],
    }


def _spread(spread: Spread) -> Mapping[str, float]:
    return {
        "median": spread.median,
        "p5": spread.p5,
        "p95": spread.p95,
        "dispatches": spread.count,
    }


def _figure(figure: Figure) -> dict[str, Any]:
    return {
        "title": figure.metric.title,
        "unit": figure.metric.unit,
        **_spread(figure.spread),
        "undefined": figure.undefined,
        "is_lower_bound": bool(figure.bound),
        "why_lower_bound": figure.bound,
        "formula": figure.formula.text,
        "source": figure.formula.source,
    }


def _missing(missing: Missing) -> dict[str, Any]:
    return {
        "key": missing.metric.key,
        "title": missing.metric.title,
        "counters": list(missing.counters),
        "why": missing.why,
    }


def _bandwidth(bandwidth: Bandwidth | None) -> dict[str, Any] | None:
    if bandwidth is None:
        return None
    return {
        "duration_ns": _spread(bandwidth.duration_ns),
        "read_bytes_per_s": bandwidth.read,
        "written_bytes_per_s": bandwidth.written,
        "bytes_per_s": bandwidth.both,
        "is_lower_bound": bandwidth.is_bound,
    }
