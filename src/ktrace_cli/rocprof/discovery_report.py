"""The kernels of a program as a report, and as the JSON of docs/reference/cli-discover.md."""

from __future__ import annotations

from typing import Any

from ktrace_cli.analysis.report import Block, Column, Line, Table
from ktrace_cli.importers.kernel_names import shown_name
from ktrace_cli.rocprof.discovered import Discovery, Kernel
from ktrace_cli.units import counted, format_bytes, format_duration

SCHEMA_VERSION = 1
_COLUMNS = (
    Column("kernel", is_number=False, is_name=True),
    Column("calls"),
    Column("mean"),
    Column("total", drop=1),
    Column("share"),
    Column("VGPRs", drop=2),
    Column("AGPRs", drop=4),
    Column("SGPRs", drop=5),
    Column("LDS", drop=3, note="LDS: static, as the launch tells it; in CSV files without dynamic"),
    Column("scratch", drop=6),
    Column("annotated", is_number=False, drop=2),
)


def write_report(discovery: Discovery, top: int) -> list[Block]:
    """Return the report.

    Args:
        discovery: the kernels.
        top: most of them; 0: all.
    """
    kernels = discovery.kernels[:top] if top else discovery.kernels
    launches = sum(kernel.calls for kernel in discovery.kernels)
    head = (
        f"{counted(len(discovery.kernels), 'kernel')},"
        f" {counted(launches, 'launch', 'launches')}, {format_duration(discovery.total_ns)} in all"
    )
    rows = tuple(_row(kernel, discovery.total_ns) for kernel in kernels)
    blocks: list[Block] = [Line((head,)), Table(_COLUMNS, rows)]
    if rest := len(discovery.kernels) - len(kernels):
        blocks.append(Line((f"{counted(rest, 'kernel')} more: `--top 0` shows all",)))
    return blocks


def _row(kernel: Kernel, total_ns: float) -> tuple[str, ...]:
    used = kernel.used
    annotated = {True: "yes", False: "no", None: "-"}[kernel.is_annotated]
    return (
        shown_name(kernel.name),
        f"{kernel.calls:,}",
        format_duration(round(kernel.mean_ns)),
        format_duration(kernel.total_ns),
        f"{100 * kernel.total_ns / total_ns:.1f} %" if total_ns else "-",
        *((_number(n) for n in (used.vgprs, used.agprs, used.sgprs)) if used else "---"),
        *((_size(n) for n in (used.lds_bytes, used.scratch_bytes)) if used else "--"),
        annotated,
    )


def _number(value: int) -> str:
    return str(value) if value >= 0 else "-"


def _size(value: int) -> str:
    return format_bytes(value) if value >= 0 else "-"


def to_document(discovery: Discovery) -> dict[str, Any]:
    """Return what is written as JSON."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "discover",
        "total_ns": discovery.total_ns,
        "kernels": [_kernel(kernel, discovery.total_ns) for kernel in discovery.kernels],
        "notes": list(discovery.notes),
        "faults": list(discovery.faults),
    }


def _kernel(kernel: Kernel, total_ns: float) -> dict[str, Any]:
    used = kernel.used
    resources = {
        "vgprs": used.vgprs,
        "agprs": used.agprs,
        "sgprs": used.sgprs,
        "lds_bytes": used.lds_bytes,
        "scratch_bytes": used.scratch_bytes,
    }  if used else {}  # fmt: skip
    return {
        "name": shown_name(kernel.name),
        "full_name": kernel.name,
        "target": kernel.target,
        "calls": kernel.calls,
        "total_ns": kernel.total_ns,
        "mean_ns": kernel.mean_ns,
        "median_ns": kernel.median_ns,
        "min_ns": kernel.least_ns,
        "max_ns": kernel.most_ns,
        "share": kernel.total_ns / total_ns if total_ns else None,
        "shapes": kernel.shapes,
        "resources": {name: value for name, value in resources.items() if value >= 0} or None,
        "vgprs_were_halved": used.is_doubled if used else None,
        "is_annotated": kernel.is_annotated,
    }
