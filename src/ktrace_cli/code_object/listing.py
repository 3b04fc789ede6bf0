"""What `ktrace inspect --json` promises: code objects as plain lists and dictionaries."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ktrace_cli.code_object.contents import CodeObject, Event, Kernel
from ktrace_cli.code_object.names import demangle, display_name
from ktrace_cli.trace_file.layout import Kind

Listing = dict[str, Any]


def list_code_object(code_object: CodeObject, origin: str) -> Listing:
    """Describe a code object; docs/reference/cli-inspect.md explains the keys."""
    return {
        "origin": origin,
        "target": code_object.target,
        "loadable": code_object.is_loadable,
        "kernels": [_list_kernel(code_object, kernel) for kernel in code_object.kernels],
        "function_events": [_list_event(event) for event in code_object.events_in_functions],
        "edges": [
            {"source": edge.source, "destination": edge.destination} for edge in code_object.edges
        ],
        "warnings": list(code_object.warnings),
        "problems": list(code_object.problems),
    }


def kind_name(event: Event) -> str:
    """Return range, push, start, phase, mark or group."""
    return Kind(event.kind).name.lower()


def _list_kernel(code_object: CodeObject, kernel: Kernel) -> Listing:
    annotation = kernel.annotation
    argument = annotation.trace_argument if annotation else None
    return {
        "name": demangle(kernel.name),
        "display_name": display_name(kernel.name),
        "mangled_name": kernel.name,
        "symbol": kernel.symbol,
        "annotated": kernel.is_annotated,
        "refusal": annotation.refusal if annotation else "",
        "unit_key": f"{annotation.unit_key:016x}" if annotation else "",
        "trace_argument": asdict(argument) if argument else None,
        "arguments": [asdict(argument) for argument in kernel.arguments],
        "code_bytes": len(kernel.code) if kernel.code else 0,
        **asdict(kernel.resources),
        "events": [_list_event(event) for event in code_object.events_in(kernel)],
    }


def _list_event(event: Event) -> Listing:
    return {
        "name": event.name,
        "kind": kind_name(event),
        "lane": event.lane,
        "file": event.file,
        "line": event.line,
        "id": event.id,
        "unit_key": f"{event.unit_key:016x}",
        "pcs": list(event.pcs),
    }
