"""What `ktrace inspect --json` promises beside the listing: occupancy, machine code, changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ktrace_cli.code_object.listing import Listing, list_code_object
from ktrace_cli.code_object.names import display_name
from ktrace_cli.kernel_code.comparison import Change, Comparison, KernelChange, PhaseChange
from ktrace_cli.kernel_code.inspected import InspectedCodeObject, InspectedKernel, Launch
from ktrace_cli.kernel_code.inspection import KernelInspection, Mix, PhaseMix
from ktrace_cli.kernel_code.measured import Measured, find_time
from ktrace_cli.kernel_code.occupancy import Occupancy


def list_inspected(inspected: InspectedCodeObject, measured: Measured) -> Listing:
    """Describe a code object; docs/reference/cli-inspect.md explains the keys."""
    listing = list_code_object(inspected.code_object, inspected.origin)
    failure = inspected.failure
    listing["not_disassembled"] = f"{failure.why}; {failure.fix}" if failure else ""
    for entry, kernel in zip(listing["kernels"], inspected.kernels, strict=True):
        entry["launch"] = _launch(kernel.launch)
        entry["occupancy"] = list_occupancy(kernel.occupancy) if kernel.occupancy else None
        entry["allocated_vgprs"] = kernel.allocated_vgprs
        entry["code"] = _code(kernel, kernel.code, measured) if kernel.code else None
    return listing


def list_occupancy(found: Occupancy) -> Listing:
    """Describe an occupancy."""
    step = found.next_step
    return {
        "processor": found.processor,
        "waves_per_simd": found.waves_per_simd,
        "max_waves_per_simd": found.max_waves_per_simd,
        "waves_per_cu": found.waves_per_cu,
        "workgroups_per_cu": found.workgroups_per_cu,
        "limited_by": found.limited_by,
        "limits": {limit.name: limit.waves for limit in found.limits},
        "next_step": None
        if step is None
        else {
            "waves_per_simd": step.waves_per_simd,
            "needs": [{**asdict(need), "excess": need.excess} for need in step.needs],
        },
    }


def list_comparison(comparison: Comparison) -> Listing:
    """Describe the differences of two builds."""
    return {
        "kernels": [_kernel_change(change) for change in comparison.kernels],
        "only_before": [display_name(one.kernel.name) for one in comparison.only_before],
        "only_after": [display_name(one.kernel.name) for one in comparison.only_after],
    }


def _launch(launch: Launch) -> Listing:
    return {
        "workgroup_size": launch.workgroup_size,
        "dynamic_lds_bytes": launch.dynamic_lds_bytes,
        "known_from": launch.origin,
    }


def _code(kernel: InspectedKernel, code: KernelInspection, measured: Measured) -> Listing:
    return {
        "tool": code.tool,
        "instructions": code.instructions,
        "mix": _mix(code.mix),
        "marker_instructions": code.marker_instructions,
        "slow_instructions": code.slow_instructions,
        "setup_instructions": code.setup_instructions,
        "phases": [_phase(phase, kernel, measured) for phase in code.phases],
        "overlapping": [_phase(phase, kernel, measured) for phase in code.overlapping],
        "markers": [asdict(marker) for marker in code.markers],
        "moved": None if code.moved is None else [asdict(moved) for moved in code.moved],
        "notices": list(code.notices),
    }


def _mix(mix: Mix) -> dict[str, int]:
    return {kind.value: number for kind, number in mix.items()}


def _phase(phase: PhaseMix, kernel: InspectedKernel, measured: Measured) -> Listing:
    time = find_time(measured, kernel.kernel.name, phase)
    return {
        "phase": phase.label,
        "ambiguous": phase.is_ambiguous,
        "instructions": phase.instructions,
        "waits": phase.waits,
        "mix": _mix(phase.mix),
        "measured": asdict(time) if time else None,
    }


def _kernel_change(change: KernelChange) -> Listing:
    before, after = change.before, change.after
    return {
        "name": display_name(before.kernel.name),
        "target": before.target,
        "annotated": {"before": before.kernel.is_annotated, "after": after.kernel.is_annotated},
        "resources": {name: _change(one) for name, one in change.resources.items()},
        "waves_per_simd": _change(change.waves_per_simd) if change.waves_per_simd else None,
        "has_lower_occupancy": change.has_lower_occupancy,
        "occupancy": {
            "before": list_occupancy(before.occupancy) if before.occupancy else None,
            "after": list_occupancy(after.occupancy) if after.occupancy else None,
        },
        "marker_instructions": {
            "before": before.code.marker_instructions if before.code else None,
            "after": after.code.marker_instructions if after.code else None,
        },
        "total": _phase_change(change.total) if change.total else None,
        "phases": [_phase_change(phase) for phase in change.phases],
    }


def _phase_change(phase: PhaseChange) -> Listing:
    return {
        "phase": phase.label,
        "instructions": _change(phase.instructions),
        "waits": _change(phase.waits),
        "mix": {kind.value: _change(one) for kind, one in phase.by_class.items()},
    }


def _change(change: Change) -> Mapping[str, Any]:
    return {**asdict(change), "difference": change.difference}
