"""Finds the place for a trace buffer's address among a kernel's arguments, or why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ktrace_cli.code_object.contents import Argument, TraceArgument
from ktrace_cli.code_object.markers import KernelMarker
from ktrace_cli.code_object.metadata import KernelMetadata
from ktrace_cli.trace_file import layout

_POINTER_SIZE: Final = 8
_TRACE_KINDS: Final = ("by_value", "global_buffer")


def find_trace_argument(
    entry: KernelMetadata, marker: KernelMarker
) -> tuple[TraceArgument | None, str]:
    """Return where the trace buffer's address goes, or why it can go nowhere."""
    explicit = [argument for argument in entry.arguments if argument.is_explicit]
    if not entry.lists_arguments:
        return (
            None,
            "its metadata lists no arguments, so the place of the trace argument is unknown",
        )
    if not explicit:
        return None, "its metadata lists no explicit argument; the trace argument is missing"
    index = _argument_index(explicit, marker)
    if index is None or index >= len(explicit):
        return None, (
            f"its note names {_place_in(marker)}; the metadata lists {len(explicit)} explicit "
            "arguments and none there"
        )
    argument = explicit[index]
    place = f"{index + 1} of {len(explicit)}, offset {argument.offset}"
    label = f"trace argument {argument.name!r} ({place})"
    if argument.size != _POINTER_SIZE or argument.value_kind not in _TRACE_KINDS:
        return None, (
            f"its {label} is {argument.value_kind} of {argument.size} bytes; it must be "
            f"{' or '.join(_TRACE_KINDS)} of {_POINTER_SIZE}"
        )
    if misplaced := _misplaced(entry, argument):
        return None, f"its {label} {misplaced}"
    return TraceArgument(index, argument.offset), ""


def _misplaced(entry: KernelMetadata, argument: Argument) -> str:
    """Word why nothing may be written to the place of an argument; "" if it may."""
    if argument.offset % _POINTER_SIZE:
        return f"lies at an offset that is no multiple of {_POINTER_SIZE}"
    if argument.offset + _POINTER_SIZE > entry.resources.kernarg_bytes:
        return f"lies outside the kernarg segment of {entry.resources.kernarg_bytes} bytes"
    if any(other is not argument and _overlap(argument, other) for other in entry.arguments):
        return "shares its place with another argument"
    return ""


def _overlap(one: Argument, other: Argument) -> bool:
    return one.offset < other.offset + other.size and other.offset < one.offset + one.size


def _place_in(marker: KernelMarker) -> str:
    parts = []
    if marker.arg_index != layout.LAST_ARGUMENT:
        parts.append(f"argument {marker.arg_index + 1}")
    if marker.kernarg_offset != layout.LAST_ARGUMENT:
        parts.append(f"offset {marker.kernarg_offset}")
    return " at ".join(parts)


def _argument_index(explicit: Sequence[Argument], marker: KernelMarker) -> int | None:
    has_index = marker.arg_index != layout.LAST_ARGUMENT
    if marker.kernarg_offset == layout.LAST_ARGUMENT:
        return marker.arg_index if has_index else len(explicit) - 1
    for index, argument in enumerate(explicit):
        if argument.offset == marker.kernarg_offset and marker.arg_index in (
            index,
            layout.LAST_ARGUMENT,
        ):
            return index
    return None
