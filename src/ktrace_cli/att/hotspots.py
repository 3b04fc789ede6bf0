"""Where a kernel's cycles go, by a thread trace that rocprofv3 unpacked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import orjson

from ktrace_cli.att.code_objects import KernelObject, find_kernel_object, phases_of
from ktrace_cli.att.code_table import CodeTable, Ints, read_code
from ktrace_cli.att.dependencies import find_padding, split_waits
from ktrace_cli.att.faults import Faults, sentences
from ktrace_cli.att.kernels import KernelPart, choose_kernel, split_kernels
from ktrace_cli.att.launches import Beside, read_beside
from ktrace_cli.att.matrix import busy_units, matrix_cycles
from ktrace_cli.att.residency import (
    choose_launch,
    find_needs,
    read_observed,
    theoretical,
)
from ktrace_cli.att.results import (
    AwaitedRow,
    Coverage,
    Hotspots,
    OtherKernel,
    PhaseRow,
    WaitRow,
)
from ktrace_cli.att.source_lines import read_sources
from ktrace_cli.att.tables import (
    Code,
    by_class,
    by_instruction,
    by_source,
    chains_of,
    group,
    source_coverage,
    sums_of,
)
from ktrace_cli.att.target import Target, infer
from ktrace_cli.att.wave_files import Wave, read_waves
from ktrace_cli.att.wave_tables import check, coverage_by_phase, simd_rows, wave_spread
from ktrace_cli.errors import KtraceError, UsageError
from ktrace_cli.kernel_code.instructions import InstructionClass, classify
from ktrace_cli.kernel_code.occupancy import processor_of
from ktrace_cli.units import counted

MARKERS: Final = "(markers)"
_BUNDLE: Final = "ui_output_agent_*_dispatch_*"
_MOST_LISTED: Final = 8
_NATURAL: Final = re.compile(r"(\d+)")


@dataclass(frozen=True)
class Request:
    """What to look at."""

    folder: Path
    kernel: str | None = None
    code_object: Path | None = None
    context: int = 3


@dataclass(frozen=True)
class _Bundle:
    folder: Path
    table: CodeTable
    waves: Sequence[Wave]
    beside: Beside
    faults: Faults


def analyse(request: Request) -> Hotspots:
    """Read a bundle and find what stalls.

    Raises:
        KtraceError: the folder is no bundle, or nothing in it was decoded or executed.
    """
    folder = find_bundle(request.folder)
    faults: Faults = Faults()
    table = read_code(folder / "code.json", faults)
    waves = read_waves(folder, len(table.text), faults)
    bundle = _Bundle(folder, table, waves, read_beside(folder, faults), faults)
    _check_hits(bundle)
    parts = split_kernels(table, waves, faults)
    return _hotspots(request, bundle, choose_kernel(parts, request.kernel), parts)


def find_bundle(folder: Path) -> Path:
    """Return the bundle that a folder is, or the only one in it.

    Raises:
        KtraceError: there is none, or there are several.
    """
    if (folder / "code.json").exists():
        return folder
    if not folder.is_dir():
        why = "it is a file" if folder.exists() else "no such folder"
        raise KtraceError(f"cannot read {folder}", why=why, fix="give a folder of rocprofv3 --att")
    found = sorted((p for p in folder.rglob(_BUNDLE) if p.is_dir()), key=_natural)
    if len(found) == 1:
        return found[0]
    if not found:
        raise KtraceError(
            f"{folder} holds no thread trace",
            why=f"it has neither code.json nor a folder {_BUNDLE}",
            fix="record one with `rocprofv3 --att -d FOLDER -- PROGRAM`; if rocprofv3 wrote only"
            " .att files, its decoder library was not found",
        )
    names = ", ".join(str(path) for path in found[:_MOST_LISTED])
    more = f" and {len(found) - _MOST_LISTED} more" if len(found) > _MOST_LISTED else ""
    raise UsageError(f"{folder} holds {len(found)} thread traces", why=names + more, fix="name one")


def _natural(path: Path) -> list[tuple[int, str]]:
    return [(int(p[:18]), "") if p.isdecimal() else (0, p) for p in _NATURAL.split(str(path))]


def _check_hits(bundle: _Bundle) -> None:
    table = bundle.table
    if table.is_instruction.any() and table.hit.any():
        return
    number = int(table.is_instruction.sum())
    raise KtraceError(
        f"{bundle.folder} holds no executed instruction",
        why=f"all {number:,} instructions of code.json have Hit 0: no wave of the kernel ran on the"
        " traced CU, or none was decoded",
        fix="trace a CU that the launch fills (`--att-target-cu`, `--att-shader-engine-mask 0xf`),"
        " or launch more workgroups",
    )


def _hotspots(
    request: Request, bundle: _Bundle, part: KernelPart, parts: Sequence[KernelPart]
) -> Hotspots:
    table, faults = bundle.table, bundle.faults
    found = _kernel_object(request, bundle, part)
    texts = [table.text[row] for row in part.rows.tolist()]
    target = _target(bundle, found, texts)
    numbers, names, no_phases, notes = _phases(found, table, part)
    code = Code(table, [classify(text) for text in table.text], chains_of(table),
                [names[number] for number in numbers.tolist()])  # fmt: skip
    cycles = _matrix_cycles(code, target, faults)
    busy = busy_units(bundle.waves, cycles) if cycles.any() else {}
    sources = by_source(code, part.rows, read_sources(bundle.folder, faults), request.context)
    waits, awaited = split_waits(part.waves, code.kinds, faults)
    launch = choose_launch(bundle.beside, (part.mangled, part.name), faults)
    needs = find_needs(texts, found, launch, target)
    problems, checks = check(table, bundle.waves)
    coverage = coverage_by_phase(part.waves, busy, numbers, cycles)
    executed = by_instruction(code, part.rows.tolist())
    observed = read_observed(bundle.folder, faults)
    return Hotspots(
        folder=bundle.folder,
        kernel=part.name,
        mangled=part.mangled,
        target=target,
        totals=sums_of(table, part.rows),
        executed=int((table.hit[part.rows] > 0).sum()),
        instructions=len(part.rows),
        by_class=by_class(code, part.rows),
        by_source=sources,
        by_instruction=executed,
        listing=tuple(code.instruction(row) for row in part.rows.tolist()),
        by_phase=() if no_phases else _phase_rows(code, part.rows, coverage, names),
        no_phases=no_phases,
        waits=tuple(WaitRow(one.kind, one.on, one.count, one.stall) for one in waits),
        awaited=tuple(AwaitedRow(code.instruction(o.row), o.count, o.stall) for o in awaited),
        padding=tuple(find_padding(table, part.waves, code.kinds, target.processor)),
        needs=needs,
        occupancy=theoretical(needs, target),
        observed=observed,
        waves=wave_spread(part.waves),
        simds=simd_rows(part.waves, busy, cycles),
        source_coverage=source_coverage(code, part.rows, sources),
        quality=problems,
        checks=checks,
        others=tuple(OtherKernel(o.name, o.latency) for o in parts if o is not part),
        notes=(*notes, *(f"{path} is too large to look into" for path in bundle.beside.large)),
        faults={key: count for key, count in faults.items() if count},
        fault_sentences=tuple(sentences(faults)),
    )


def _kernel_object(request: Request, bundle: _Bundle, part: KernelPart) -> KernelObject | None:
    table = bundle.table
    place = (int(table.code_object[part.entry]), int(table.address[part.entry]), part.mangled)
    return find_kernel_object(bundle.folder, request.code_object, place, bundle.faults)


def _target(bundle: _Bundle, found: KernelObject | None, texts: Sequence[str]) -> Target:
    if found is not None:
        processor = processor_of(found.code_object.target)
        return Target(processor, f"by the ELF header of {found.name}")
    processors = bundle.beside.processors
    if len(processors) == 1:
        ((processor, file),) = processors.items()
        return Target(processor, f"by {file}")
    family = ""
    try:
        family = str(orjson.loads((bundle.folder / "filenames.json").read_bytes()).get("gfxv", ""))
    except (OSError, orjson.JSONDecodeError, AttributeError):
        family = ""
    target = infer(texts, family)
    tables = (
        f"the agent tables name {', '.join(sorted(processors))}"
        if processors
        else "there is no agent table and no code object"
    )
    return Target(target.processor, f"{tables}; {target.why}", is_certain=False)


def _phases(
    found: KernelObject | None, table: CodeTable, part: KernelPart
) -> tuple[Ints, list[str], str, list[str]]:
    """Return the number of each row's phase, their names, why there are none, and notes."""
    numbers = np.zeros(len(table.text), np.int64)
    if found is None:
        why = (
            "no code object: give it with `ktrace hotspots --code-object`, or put"
            " *_code_object_id_N.out beside"
        )
        return numbers, [""], why, []
    same = table.code_object[part.rows] == table.code_object[part.entry]
    rows = part.rows[same]
    rows = rows[np.argsort(table.address[rows], kind="stable")]
    phases = phases_of(found, table, rows.tolist())
    if phases is None:
        return numbers, [""], f"by {found.name} the kernel is not annotated", []
    number_by_name = {"": 0}
    for row in rows.tolist():
        address = int(table.address[row])
        name = MARKERS if address in phases.marker_by_address else phases.phase_at(address)
        numbers[row] = number_by_name.setdefault(name, len(number_by_name))
    notes = []
    if phases.unrecognized:
        notes.append(
            f"markers whose code is not recognized: {', '.join(phases.unrecognized)}: these begin"
            " at the address of their note and have no end"
        )
    if phases.unknown_jumps:
        notes.append(
            f"{counted(len(phases.unknown_jumps), 'jump')} to where nothing tells: code that is"
            " only reached so counts as outside of phases"
        )
    return numbers, list(number_by_name), "", notes


def _matrix_cycles(code: Code, target: Target, faults: Faults) -> Ints:
    """Return of each row of the table how long it keeps the matrix unit; 0 for all others."""
    cycles = np.zeros(len(code.table.text), np.int64)
    for row in np.flatnonzero(code.table.hit).tolist():
        if code.kinds[row] is InstructionClass.MFMA:
            found = matrix_cycles(code.table.text[row], target.processor)
            cycles[row] = found or 0
            faults["unknown_matrix"] += found is None
    return cycles


def _phase_rows(
    code: Code, rows: Ints, coverage: dict[int, Coverage], names: Sequence[str]
) -> tuple[PhaseRow, ...]:
    made = []
    for name, members in group(rows, lambda row: code.phases[row]).items():
        sums = sums_of(code.table, members)
        if sums.hit or sums.latency:
            matrix = coverage.get(names.index(name))
            classes = by_class(code, members)
            made.append(PhaseRow(name, name == MARKERS, sums, classes, matrix))
    return tuple(sorted(made, key=lambda one: (-one.sums.stall, -one.sums.latency, one.name)))
