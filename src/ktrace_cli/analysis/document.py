"""A summary as the JSON document that `ktrace summary --json` prints; its keys are a promise.

summary.schema.json, beside this file, describes it.
"""

from __future__ import annotations

from dataclasses import asdict
from importlib.resources import files
from typing import Any

import orjson

from ktrace_cli.analysis.buckets import Bucket
from ktrace_cli.analysis.coverage import Gaps
from ktrace_cli.analysis.durations import PERCENTS, Times
from ktrace_cli.analysis.longest import LongestWave
from ktrace_cli.analysis.phase_times import Phase
from ktrace_cli.analysis.quality import Quality
from ktrace_cli.analysis.results import NANOSECONDS, KernelSummary, Summary
from ktrace_cli.analysis.tracing_cost import cost_document
from ktrace_cli.model import ClockFit, Device

SCHEMA_VERSION = 1
_ALWAYS_NANOSECONDS = {"process", "device", "quality"}
"""Definitions of the schema that tell of the host."""


def to_document(summary: Summary) -> dict[str, Any]:
    """Return what `--json` prints."""
    devices = [_device(device, summary.clocks) for device in summary.devices]
    kernels = [_kernel(kernel, summary) for kernel in summary.kernels]
    unfinished = [asdict(dispatch) for dispatch in summary.unfinished]
    return {
        "schema": SCHEMA_VERSION,
        "unit": summary.unit,
        "kernels": _in_unit(kernels, summary.unit),
        "launches": summary.launches,
        "process": asdict(summary.process) if summary.process else {},
        "losses": summary.losses,
        "device": devices[0] if devices else {},
        "devices": devices,
        "unfinished": _in_unit(unfinished, summary.unit),
        "by": summary.request.by.value if summary.request.by else None,
        "waits": list(summary.request.waits),
        "is_window": summary.is_window,
        "quality": _quality(summary.quality),
    }


def read_schema(unit: str = NANOSECONDS) -> dict[str, Any]:
    """Return the JSON Schema of the document in which times have a unit."""
    text = files(__package__).joinpath("summary.schema.json").read_text()
    schema: dict[str, Any] = orjson.loads(text)
    for name, part in schema["$defs"].items():
        if unit != NANOSECONDS and name not in _ALWAYS_NANOSECONDS:
            renamed = orjson.dumps(part).replace(b'_ns"', f'_{unit}"'.encode())
            schema["$defs"][name] = orjson.loads(renamed)
    return schema


def _in_unit(value: Any, unit: str) -> Any:
    """Name times after their unit: `total_ns` is `total_cycles` where cycles are counted."""
    if unit == NANOSECONDS:
        return value
    if isinstance(value, dict):
        return {_key_in_unit(key, unit): _in_unit(item, unit) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_in_unit(item, unit) for item in value]
    return value


def _key_in_unit(key: str, unit: str) -> str:
    return f"{key.removesuffix('_ns')}_{unit}" if key.endswith("_ns") else key


def _kernel(kernel: KernelSummary, summary: Summary) -> dict[str, Any]:
    return {
        "name": kernel.name,
        "signature": kernel.signature,
        "mangled": kernel.mangled,
        "target": kernel.target,
        "dispatches": kernel.dispatches,
        "waves": kernel.waves,
        "wave_ns": kernel.wave_ns,
        "unfinished_waves": kernel.unfinished_waves,
        "filtered_dispatches": kernel.filtered_dispatches,
        "words": kernel.words,
        "side_words": kernel.side_words,
        "phases": [_phase(phase, summary) for phase in kernel.phases],
        "marks": [vars(mark) for mark in kernel.marks],
        "launch_times": _optional(kernel.launch_times),
        "imbalance": [asdict(level) for level in kernel.imbalance],
        "wave_starts": _optional(kernel.wave_starts),
        "tail": _optional(kernel.tail),
        "longest_wave": _longest(kernel.longest_wave),
        "gaps": _gaps(kernel.gaps),
        "lanes": [vars(lane) for lane in kernel.lanes],
        "units": [
            {
                "unit": dict(zip(summary.unit_columns, row.unit, strict=True)),
                **_phase(row.phase, summary),
            }
            for row in kernel.units
        ],
    }


def _optional(found: Any) -> dict[str, Any] | None:
    return asdict(found) if found is not None else None


def _longest(wave: LongestWave | None) -> dict[str, Any] | None:
    # asdict() copies every number, which takes seconds where there are very many phases.
    if wave is None:
        return None
    return {**vars(wave), "place": asdict(wave.place), "phases": [*map(vars, wave.phases)]}


def _phase(phase: Phase, summary: Summary) -> dict[str, Any]:
    times = phase.times
    return {
        "name": phase.name,
        "kind": phase.kind,
        "lane": phase.lane,
        "count": times.count,
        "total_ns": times.total_ns,
        "share": phase.share,
        "self_ns": None if summary.is_window else times.self_ns,
        "mean_ns": times.mean_ns,
        "min_ns": times.min_ns,
        **_percentiles(times),
        "max_ns": times.max_ns,
        "zero_length": times.zero_length,
        "unclosed": phase.unclosed,
        "open": phase.open,
        "cv": times.cv,
        "variance_population": times.variance_population,
        "variance_sample": times.variance_sample,
        "histogram": _histogram(times.histogram),
    }


def _percentiles(times: Times) -> dict[str, int | None]:
    found = times.percentiles or (None,) * len(PERCENTS)
    return {f"p{percent}_ns": ns for percent, ns in zip(PERCENTS, found, strict=True)}


def _histogram(histogram: tuple[Bucket, ...] | None) -> list[dict[str, Any]] | None:
    return None if histogram is None else [vars(bucket) for bucket in histogram]


def _gaps(gaps: Gaps | None) -> dict[str, Any] | None:
    if gaps is None:
        return None
    times = gaps.times
    return {
        "count": times.count,
        "total_ns": times.total_ns,
        "mean_ns": times.mean_ns,
        **_percentiles(times),
        "max_ns": times.max_ns,
        "before_first_ns": gaps.before_first_ns,
        "after_last_ns": gaps.after_last_ns,
    }


def _quality(quality: Quality) -> dict[str, Any]:
    return {
        "is_complete": quality.is_complete,
        "dropped_words": quality.dropped_words,
        "truncated_waves": quality.truncated_waves,
        "unpaired": quality.unpaired,
        "overwritten_words": quality.overwritten_words,
        "other_losses": quality.other_losses,
        "modelled_time": quality.is_modelled,
        "clocks": [
            {
                "device": clock.device,
                "method": clock.method,
                "residual_ns": clock.residual_ns,
                "skew_ns_by_xcc": {str(xcc): round(ns, 3) for xcc, ns in clock.skew_ns_by_xcc},
            }
            for clock in quality.clocks
        ],
        "percentile_error": quality.percentile_error,
        "tracing_cost": cost_document(quality.tracing_cost),
    }


def _device(device: Device, clocks: tuple[ClockFit, ...]) -> dict[str, Any]:
    fit = next((fit for fit in clocks if fit.device == device.device), None)
    return {
        "device": device.device,
        "target": device.target,
        "name": device.name,
        "modelled_time": device.is_software,
        "compute_units": device.compute_units,
        "xcc_count": device.xcc_count,
        "realtime_hz": device.realtime_hz,
        "core_hz": round(fit.core_hz) if fit else 0,
        "clock_method": fit.method if fit else "",
        "clock_residual_ns": round(fit.residual_ns, 3) if fit else 0.0,
        "clock_residual_ns_by_xcc": {
            str(xcc): round(ns, 3) for xcc, ns in (fit.residual_by_xcc if fit else ())
        },
    }
