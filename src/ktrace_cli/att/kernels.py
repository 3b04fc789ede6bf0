"""Which rows and waves of a bundle belong to which kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ktrace_cli.att.code_table import CodeTable, Ints
from ktrace_cli.att.faults import Faults
from ktrace_cli.att.wave_files import Wave
from ktrace_cli.code_object.patterns import check_patterns, matches, spellings
from ktrace_cli.errors import UsageError
from ktrace_cli.importers.kernel_names import shown_name

_UNNAMED = "(unnamed)"


@dataclass(frozen=True)
class KernelPart:
    """One kernel of a bundle, with the functions that it calls."""

    name: str
    """For people."""
    mangled: str
    """As its label says."""
    rows: Ints
    """Its instructions, in the order of code.json."""
    entry: int
    """The row it begins with."""
    waves: tuple[Wave, ...]
    latency: int


def split_kernels(table: CodeTable, waves: Sequence[Wave], faults: Faults) -> list[KernelPart]:
    """Split a bundle by kernels, the one with the most cycles first.

    A function under a label of its own belongs to the kernel whose waves execute it most; without
    waves each label is a kernel.
    """
    instruction_rows = np.flatnonzero(table.is_instruction)
    functions = table.function[instruction_rows]
    owners, waves_by_kernel = _owners(table, waves, faults)
    parts = []
    for kernel in dict.fromkeys(owners.get(int(f), int(f)) for f in np.unique(functions)):
        mine = [f for f in np.unique(functions) if owners.get(int(f), int(f)) == kernel]
        rows = instruction_rows[np.isin(functions, mine)]
        own = rows[table.function[rows] == kernel]
        parts.append(
            KernelPart(
                name=_name(table, kernel),
                mangled=table.labels[kernel] if kernel >= 0 else "",
                rows=rows,
                entry=int((own if own.size else rows)[0]),
                waves=tuple(waves_by_kernel.get(kernel, ())),
                latency=int(table.latency[rows].sum()),
            )
        )
    return sorted(parts, key=lambda part: (-part.latency, part.name))


def _owners(
    table: CodeTable, waves: Sequence[Wave], faults: Faults
) -> tuple[dict[int, int], dict[int, list[Wave]]]:
    """Return the kernel of each function that waves executed, and the waves of each kernel."""
    executed: dict[int, dict[int, int]] = {}
    waves_by_kernel: dict[int, list[Wave]] = {}
    for wave in waves:
        if not wave.line.size:
            continue
        functions, counts = np.unique(table.function[wave.line], return_counts=True)
        entry = int(table.function[wave.line[0]])
        waves_by_kernel.setdefault(entry, []).append(wave)
        for function, count in zip(functions.tolist(), counts.tolist(), strict=True):
            by_kernel = executed.setdefault(function, {})
            by_kernel[entry] = by_kernel.get(entry, 0) + count
    owners = {}
    for function, by_kernel in executed.items():
        is_kernel = function in waves_by_kernel
        owners[function] = (
            function if is_kernel else max(by_kernel, key=lambda k: (by_kernel[k], -k))
        )
        faults["shared_functions"] += not is_kernel and len(by_kernel) > 1
    return owners, waves_by_kernel


def _name(table: CodeTable, kernel: int) -> str:
    if kernel < 0:
        return _UNNAMED
    return shown_name(table.labels[kernel]) or shown_name(table.names[kernel]) or _UNNAMED


def choose_kernel(parts: Sequence[KernelPart], pattern: str | None) -> KernelPart:
    """Return the kernel that was asked for; the one with the most cycles, if several fit.

    Raises:
        UsageError: none fits.
    """
    if pattern is None:
        return parts[0]
    check_patterns([pattern])
    for part in parts:
        if matches(pattern, (*spellings(part.mangled), part.name)):
            return part
    raise UsageError(
        f"no kernel of the bundle is like `{pattern}`",
        why=f"it holds {', '.join(f'`{part.name}`' for part in parts[:5])}",
        fix="give one of these, or a shell pattern such as `*gemm*`",
    )
