"""Reads the AMDGPU metadata note: MessagePack written by compilers, assemblers and people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import msgpack  # type: ignore[import-untyped,unused-ignore]  # it has no type hints

from ktrace_cli.code_object.contents import Argument, Resources

NT_AMDGPU_METADATA: Final = 32
METADATA_OWNER: Final = b"AMDGPU"
# Version 2 code objects have notes of this owner, with YAML in them.
OLD_METADATA_OWNER: Final = b"AMD"

_LONGEST = 1 << 20
_KEY_BY_RESOURCE: Final = {
    "sgprs": ".sgpr_count",
    "vgprs": ".vgpr_count",
    "agprs": ".agpr_count",
    "sgpr_spills": ".sgpr_spill_count",
    "vgpr_spills": ".vgpr_spill_count",
    "lds_bytes": ".group_segment_fixed_size",
    "scratch_bytes": ".private_segment_fixed_size",
    "max_workgroup_size": ".max_flat_workgroup_size",
    "kernarg_bytes": ".kernarg_segment_size",
    "wavefront_size": ".wavefront_size",
}


class MalformedMetadataError(Exception):
    """The metadata cannot be read; the message says why."""


@dataclass(frozen=True)
class KernelMetadata:
    """One entry of `amdhsa.kernels`."""

    name: str
    symbol: str
    arguments: tuple[Argument, ...]
    lists_arguments: bool
    """Whether there is an `.args` at all."""
    resources: Resources
    is_contradicted: bool = False
    """Another note describes other arguments."""


@dataclass(frozen=True)
class Metadata:
    """What ktrace uses of the metadata."""

    target: str
    """"" if it does not say."""
    kernels: tuple[KernelMetadata, ...]
    problems: tuple[str, ...]


def read_metadata(descriptor: memoryview) -> Metadata:
    """Read the content of a metadata note.

    Raises:
        MalformedMetadataError: it is no MessagePack map.
    """
    try:
        # Limits: lengths in damaged MessagePack must not become allocations.
        content = msgpack.unpackb(
            descriptor,
            strict_map_key=False,
            unicode_errors="backslashreplace",
            max_array_len=_LONGEST,
            max_map_len=_LONGEST,
        )
    except (ValueError, TypeError, OverflowError, msgpack.UnpackException) as problem:
        # The library words an early end as "Unpack failed: incomplete input".
        raise MalformedMetadataError(f"it is no whole MessagePack ({problem})") from problem
    if not isinstance(content, dict):
        raise MalformedMetadataError(f"it is a MessagePack {type(content).__name__}, not a map")
    problems: list[str] = []
    entries = content.get("amdhsa.kernels", [])
    if not isinstance(entries, list):
        raise MalformedMetadataError("its amdhsa.kernels is no list")
    kernels = []
    for number, entry in enumerate(entries):
        if isinstance(entry, dict) and isinstance(entry.get(".name"), str):
            kernels.append(_kernel(entry, problems))
        else:
            problems.append(f"kernel {number} of the metadata has no .name")
    return Metadata(_target(_text(content, "amdhsa.target")), tuple(kernels), tuple(problems))


def _target(triple: str) -> str:
    """Return the target id behind a triple: amdgcn-amd-amdhsa--gfx942:xnack-, or its like.

    Compilers that embed LLVM write amdgcn-amd-amdhsa-unknown-gfx942, Triton 3.9 begins with
    amdgpu9.42.
    """
    begin = triple.rfind("-gfx")
    return triple[begin + 1 :]


def merge_metadata(notes: Sequence[Metadata]) -> Metadata:
    """Return what several notes say together: each unit of a linked code object may bring its own.

    A kernel that two notes describe is one, as the first describes it.
    """
    problems = [problem for note in notes for problem in note.problems]
    targets = list(dict.fromkeys(note.target for note in notes if note.target))
    if len(targets) > 1:
        problems.append(f"its metadata notes name {len(targets)} targets: {', '.join(targets)}")
    kernels: list[KernelMetadata] = []
    for note in notes:
        row_by_symbol = {kernel.symbol: row for row, kernel in enumerate(kernels)}
        for kernel in note.kernels:
            row = row_by_symbol.get(kernel.symbol)
            if row is None:
                kernels.append(kernel)
            elif replace(kernels[row], is_contradicted=False) != kernel:
                problems.append(f"two metadata notes describe {kernel.name} differently")
                if _passed(kernels[row]) != _passed(kernel):
                    kernels[row] = replace(kernels[row], is_contradicted=True)
    return Metadata(targets[0] if targets else "", tuple(kernels), tuple(problems))


def _passed(kernel: KernelMetadata) -> tuple[int, list[tuple[int, int, str]]]:
    """Return what a launcher must know of the arguments."""
    explicit = [(a.offset, a.size, a.value_kind) for a in kernel.arguments if a.is_explicit]
    return kernel.resources.kernarg_bytes, explicit


def _kernel(entry: dict[object, object], problems: list[str]) -> KernelMetadata:
    name = _text(entry, ".name")
    listed = entry.get(".args")
    arguments = []
    for argument in listed if isinstance(listed, list) else ():
        if isinstance(argument, dict):
            arguments.append(_argument(argument))
        else:
            problems.append(f"an argument of {name} is no map")
    resources = {key: _number(entry, label) for key, label in _KEY_BY_RESOURCE.items()}
    return KernelMetadata(
        name=name,
        symbol=_text(entry, ".symbol") or f"{name}.kd",
        arguments=tuple(arguments),
        lists_arguments=isinstance(listed, list),
        resources=Resources(**resources),
    )


def _argument(entry: dict[object, object]) -> Argument:
    return Argument(
        name=_text(entry, ".name"),
        type_name=_text(entry, ".type_name"),
        offset=_number(entry, ".offset"),
        size=_number(entry, ".size"),
        value_kind=_text(entry, ".value_kind"),
    )


def _text(entry: dict[object, object], key: str) -> str:
    value = entry.get(key)
    return value if isinstance(value, str) else ""


def _number(entry: dict[object, object], key: str) -> int:
    value = entry.get(key)
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if isinstance(value, int) and is_count else 0
