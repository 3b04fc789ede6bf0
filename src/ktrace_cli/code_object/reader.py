"""Reads one AMDGPU code object: ELF, metadata and ktrace's notes put together."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from ktrace_cli.code_object.contents import (
    Annotation,
    CodeObject,
    Kernel,
    missing_ends,
)
from ktrace_cli.code_object.elf import (
    EM_AMDGPU,
    ET_REL,
    ElfFile,
    MalformedElfError,
    read_elf,
)
from ktrace_cli.code_object.markers import KernelMarker, Markers, read_markers
from ktrace_cli.code_object.metadata import (
    METADATA_OWNER,
    NT_AMDGPU_METADATA,
    OLD_METADATA_OWNER,
    KernelMetadata,
    MalformedMetadataError,
    Metadata,
    merge_metadata,
    read_metadata,
)
from ktrace_cli.code_object.notes import Note, read_notes
from ktrace_cli.code_object.symbols import Symbol, read_symbols
from ktrace_cli.code_object.target import target_of
from ktrace_cli.code_object.trace_argument import find_trace_argument
from ktrace_cli.errors import CodeObjectError
from ktrace_cli.trace_file import layout


def read_code_object(image: bytes | memoryview, origin: str = "code object") -> CodeObject:
    """Read a code object.

    What is damaged inside it becomes `CodeObject.problems`; the rest is still read.

    Args:
        image: the whole ELF file.
        origin: what to call it in messages: its path, and its place in a bundle.

    Raises:
        CodeObjectError: it is no AMDGPU ELF file.
    """
    elf = _read_amdgpu_elf(memoryview(image), origin)
    is_loadable = elf.type != ET_REL
    notes, note_problems = read_notes(elf)
    metadata, warnings, metadata_problems = _find_metadata(notes)
    if not (metadata.kernels or warnings or note_problems or metadata_problems):
        warnings.append("it lists no kernel that HIP could launch")
    markers = read_markers(notes, has_addresses=is_loadable)
    code_by_name = _code_by_name(read_symbols(elf)) if is_loadable else {}
    kernels, homeless = _assemble(metadata.kernels, code_by_name, markers)
    if not is_loadable:
        warnings.append(
            "it is relocatable, not loadable: only when it is linked can markers be told to be "
            "in a kernel"
        )
    warnings += markers.conflicting_units.values()
    warnings += _ends_without_a_range(markers)
    are_found = all(kernel.code is not None for kernel in kernels)
    left = sum(pc == 0 or elf.is_executable(pc) for pc in homeless) if are_found else 0
    warnings += _homeless(left, len(homeless) - left, len(markers.kernels))
    return CodeObject(
        target=metadata.target or target_of(elf),
        is_loadable=is_loadable,
        kernels=kernels,
        events=tuple(markers.events),
        edges=tuple(markers.edges),
        warnings=tuple(warnings),
        problems=(*elf.problems, *note_problems, *metadata_problems, *markers.problems),
    )


def _homeless(left: int, lost: int, total: int) -> list[str]:
    """Word what KERNEL notes that lie in no kernel's code mean."""
    # Linking units that define one kernel keeps the code of the first, and of the others only what
    # nobody can launch; or their code is gone, and the address is 0.
    warnings = []
    if left:
        warnings.append(f"{left} of {total} KERNEL notes are of copies that linking left behind")
    if lost:
        warnings.append(f"{lost} of {total} KERNEL notes point into no kernel's code")
    return warnings


def _ends_without_a_range(markers: Markers) -> list[str]:
    """Word which ends of edges name nothing that an arrow could join."""
    warnings = []
    for edge in markers.edges:
        missing = missing_ends(edge, markers.events)
        if missing and edge.unit_key not in markers.conflicting_units:
            names = " or ".join(missing)
            warnings.append(f"edge {edge.source} -> {edge.destination}: no range is named {names}")
    return warnings


def _read_amdgpu_elf(image: memoryview, origin: str) -> ElfFile:
    try:
        elf = read_elf(image)
    except MalformedElfError as problem:
        raise CodeObjectError(
            f"cannot read {origin}: it is no code object",
            why=str(problem),
            fix="give a code object (.co, .hsaco), a bundle of them, or a program that holds some",
        ) from problem
    if elf.machine != EM_AMDGPU:
        raise CodeObjectError(
            f"cannot read {origin}: it is no AMDGPU code object",
            why=f"its ELF machine (offset 18) is {elf.machine}, AMDGPU is {EM_AMDGPU}",
            fix="give a code object for an AMD GPU",
        )
    return elf


def _find_metadata(notes: Iterable[Note]) -> tuple[Metadata, list[str], list[str]]:
    """Return the metadata, warnings and problems."""
    warnings: list[str] = []
    problems: list[str] = []
    found: list[Metadata] = []
    has_old = False
    for note in notes:
        has_old |= note.owner == OLD_METADATA_OWNER
        if note.owner != METADATA_OWNER or note.type != NT_AMDGPU_METADATA:
            continue
        try:
            found.append(read_metadata(note.descriptor))
        except MalformedMetadataError as problem:
            problems.append(f"the metadata note at offset {note.offset} cannot be read: {problem}")
    if found:
        merged = merge_metadata(found)
        return merged, warnings, [*problems, *merged.problems]
    if has_old:
        warnings.append(
            "it is of code object version 2, whose metadata is YAML: its kernels are not listed"
        )
    return Metadata("", (), ()), warnings, problems


def _assemble(
    entries: Sequence[KernelMetadata], code_by_name: dict[str, range], markers: Markers
) -> tuple[tuple[Kernel, ...], list[int]]:
    """Return the kernels, and where KERNEL notes that point into none of them do point."""
    codes = [_code_of(entry, code_by_name) for entry in entries]
    markers_by_kernel, homeless = _markers_by_kernel(codes, markers.kernels)
    kernels = []
    for index, (entry, code) in enumerate(zip(entries, codes, strict=True)):
        annotation = _annotation(entry, markers_by_kernel.get(index, []), markers)
        kernels.append(
            Kernel(entry.name, entry.symbol, code, entry.arguments, entry.resources, annotation)
        )
    return tuple(kernels), homeless


def _code_by_name(symbols: Sequence[Symbol]) -> dict[str, range]:
    """Return the address range of each function; one without a size ends where the next begins."""
    functions = [symbol for symbol in symbols if symbol.is_function]
    starts = sorted({symbol.value for symbol in functions})
    code_by_name = {}
    for symbol in functions:
        following = bisect_right(starts, symbol.value)
        next_start = starts[following] if following < len(starts) else symbol.limit
        end = symbol.value + symbol.size if symbol.size else next_start
        code_by_name[symbol.name] = range(symbol.value, min(end, symbol.limit))
    return code_by_name


def _code_of(entry: KernelMetadata, code_by_name: dict[str, range]) -> range | None:
    # `.symbol` names the descriptor, which lies beside a function of that name without `.kd`.
    code = code_by_name.get(entry.symbol.removesuffix(".kd"))
    return code if code is not None else code_by_name.get(entry.name)


def _markers_by_kernel(
    codes: Sequence[range | None], markers: Sequence[KernelMarker]
) -> tuple[dict[int, list[KernelMarker]], list[int]]:
    # Kernels with identical code may share one address, and then its annotation too.
    kernels_by_start: dict[int, list[int]] = {}
    for index, code in enumerate(codes):
        if code is not None:
            kernels_by_start.setdefault(code.start, []).append(index)
    starts = sorted(kernels_by_start)
    markers_by_kernel: dict[int, list[KernelMarker]] = {}
    homeless = []
    for marker in markers:
        position = bisect_right(starts, marker.pc) - 1
        near = kernels_by_start[starts[position]] if position >= 0 else []
        holders = [index for index in near if marker.pc in (codes[index] or ())]
        for index in holders:
            markers_by_kernel.setdefault(index, []).append(marker)
        if not holders:
            homeless.append(marker.pc)
    return markers_by_kernel, homeless


def _annotation(
    entry: KernelMetadata, found: Sequence[KernelMarker], markers: Markers
) -> Annotation | None:
    if not found:
        return None
    marker = found[0]
    argument, refusal = find_trace_argument(entry, marker)
    contradiction = _contradiction(entry, found) or markers.conflicting_units.get(
        marker.unit_key, ""
    )
    refusal = _unknown_version(marker) or contradiction or refusal
    return Annotation(
        unit_key=marker.unit_key,
        abi_version=marker.abi_version,
        record_format=marker.record_format,
        flags=marker.flags,
        trace_argument=None if refusal else argument,
        refusal=refusal,
    )


def _unknown_version(marker: KernelMarker) -> str:
    if marker.abi_version != layout.ABI_VERSION:
        return (
            f"it was compiled with ktrace ABI {marker.abi_version}; "
            f"this ktrace knows {layout.ABI_VERSION}"
        )
    if marker.record_format not in list(layout.RecordFormat):
        return f"it writes record format {marker.record_format}, which this ktrace does not know"
    return ""


def _contradiction(entry: KernelMetadata, found: Sequence[KernelMarker]) -> str:
    if entry.is_contradicted:
        return "two notes of metadata describe its arguments differently"
    first = found[0]
    for marker in found[1:]:
        if marker.unit_key != first.unit_key:
            return (
                f"its code has notes of two translation units, {first.unit_key:016x} and "
                f"{marker.unit_key:016x}"
            )
        places = (marker.arg_index, marker.kernarg_offset)
        if places != (first.arg_index, first.kernarg_offset):
            return "its notes name two trace arguments"
    return ""
