"""rocprofv3's results.json to host traces: one for each process in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ktrace_cli.errors import KtraceError
from ktrace_cli.importers.builder import Builder, Source
from ktrace_cli.importers.host_trace import Clock, HostTrace
from ktrace_cli.importers.registers import target_of_version
from ktrace_cli.importers.rocprofv3 import (
    Agent,
    Registers,
    Rows,
    Run,
    make_agent,
    whole_numbers,
)

Record = Mapping[str, Any]

ROOT = "rocprofiler-sdk-tool"
_API = ("hip_api", "hsa_api", "marker_api", "rccl_api", "rocdecode_api", "rocjpeg_api")
_ALLOCATIONS = ("memory_allocation", "scratch_memory")
_GPU = 2
_NAMES = ("formatted_kernel_name", "demangled_kernel_name", "kernel_name")


@dataclass
class _Reading:
    """One process while it is read."""

    run: Run
    process: int
    agents: Mapping[int, Agent]
    """By handle."""
    operations: Sequence[tuple[str, Sequence[str]]]
    """Name and operations of each kind."""
    messages: Mapping[int, str]
    """Of markers, by correlation id."""

    def kind(self, record: Record) -> str:
        """Return the name of a record's kind; "" if the file does not tell."""
        kind = int(record["kind"])
        return self.operations[kind][0] if 0 <= kind < len(self.operations) else ""

    def operation(self, record: Record) -> str:
        """Return what a record is called."""
        kind, operation = int(record["kind"]), int(record["operation"])
        names = self.operations[kind][1] if 0 <= kind < len(self.operations) else ()
        if 0 <= operation < len(names):
            return str(names[operation])
        self.run.builder.repairs["unknown_names"] += 1
        return f"operation {kind}.{operation}"

    def agent(self, record: Record, name: str) -> Agent:
        """Return the agent that a record names."""
        handle = _handle(record, name)
        return self.agents.get(handle) or make_agent(f"with handle {handle}")


def read_rocprofv3_json(document: Any, path: Path) -> list[HostTrace]:
    """Read a parsed results.json.

    Raises:
        KtraceError: it is not made as rocprofv3 makes them.
    """
    try:
        return [_read_process(process, path) for process in document[ROOT]]
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as problem:
        raise KtraceError(
            f"cannot read {path}",
            why=f"it is not made as rocprofv3 makes a results.json: {problem!r}",
        ) from problem


def _read_process(document: Record, path: Path) -> HostTrace:
    builder = Builder()
    metadata = document.get("metadata", {})
    command = metadata.get("command") or [""]
    host = str(metadata.get("node", {}).get("hostname", ""))
    strings = document.get("strings", {})
    reading = _Reading(
        Run(builder),
        builder.process(int(metadata.get("pid", 0)), Path(str(command[0])).name, host),
        {int(agent["id"]["handle"]): _agent(agent) for agent in document.get("agents", [])},
        [(str(kind["kind"]), kind["operations"]) for kind in strings.get("buffer_records", [])],
        {int(m["key"]): str(m["value"]) for m in strings.get("marker_api", [])},
    )
    records = document.get("buffer_records", {})
    symbols = {int(s["kernel_id"]): s for s in document.get("kernel_symbols", [])}
    _read_kernels(reading, records.get("kernel_dispatch", []), symbols)
    for name in _API:
        _read_calls(reading, records.get(name, []))
    _read_copies(reading, records.get("memory_copy", []))
    for name in _ALLOCATIONS:
        _read_allocations(reading, records.get(name, []), name)
    known = {"kernel_dispatch", *_API, "memory_copy", *_ALLOCATIONS}
    builder.repairs["not_shown"] += sum(len(records[n]) for n in records if n not in known)
    reading.run.join()
    return builder.build(Source(path, "rocprofv3 JSON", Clock.BOOTTIME))


def _agent(record: Record) -> Agent:
    name = str(record.get("name", ""))
    version = int(record.get("gfx_target_version", 0))
    return make_agent(
        record.get("logical_node_id", record.get("node_id", 0)),
        name if name.startswith("gfx") else target_of_version(version),
        is_gpu=int(record.get("type", 0)) == _GPU,
    )


def _handle(record: Record, name: str) -> int:
    return int(record[name]["handle"]) if name in record else 0


def _rows(
    reading: _Reading, records: Sequence[Record], names: Sequence[str], numbers: Record
) -> Rows:
    return Rows(
        processes=[reading.process] * len(records),
        names=names,
        begin_ns=whole_numbers([record["start_timestamp"] for record in records]),
        end_ns=whole_numbers([record["end_timestamp"] for record in records]),
        correlation=whole_numbers([_correlation(record) for record in records]),
        numbers={name: whole_numbers(values) for name, values in numbers.items()},
    )


def _correlation(record: Record) -> int:
    return int(record.get("correlation_id", {}).get("internal", 0))


def _read_kernels(
    reading: _Reading, records: Sequence[Record], symbols: Mapping[int, Record]
) -> None:
    info = [record["dispatch_info"] for record in records]
    kernels = [symbols.get(int(i["kernel_id"]), {}) for i in info]
    names = [_kernel_name(reading, k, i) for k, i in zip(kernels, info, strict=True)]
    numbers = {
        "Dispatch_Id": [i.get("dispatch_id") for i in info],
        "Kernel_Id": [i["kernel_id"] for i in info],
        "Stream_Id": [_handle(record, "stream_id") for record in records],
        "Thread_Id": [record.get("thread_id") for record in records],
        "LDS_Block_Size": [i.get("group_segment_size") for i in info],
        "Scratch_Size": [i.get("private_segment_size") for i in info],
        "SGPR_Count": [k.get("sgpr_count") for k in kernels],
    }
    for key, name in (("grid_size", "Grid_Size"), ("workgroup_size", "Workgroup_Size")):
        for axis in "xyz":
            sizes = [i.get(key, {}).get(axis) for i in info]
            numbers[f"{name}_{axis.upper()}"] = sizes
    reading.run.add_kernels(
        _rows(reading, records, names, numbers),
        [reading.agent(i, "agent_id") for i in info],
        [f"queue {_handle(i, 'queue_id')}" for i in info],
        Registers(
            whole_numbers([k.get("arch_vgpr_count") for k in kernels]),
            whole_numbers([k.get("accum_vgpr_count") for k in kernels]),
        ),
    )


def _kernel_name(reading: _Reading, symbol: Record, info: Record) -> str:
    for key in _NAMES:
        if name := str(symbol.get(key, "")):
            return name
    reading.run.builder.repairs["unknown_names"] += 1
    return f"kernel {info['kernel_id']}"


def _read_calls(reading: _Reading, records: Sequence[Record]) -> None:
    domains = [reading.kind(record) for record in records]
    names = [
        _message(reading, record, domain) for record, domain in zip(records, domains, strict=True)
    ]
    threads = whole_numbers([record.get("thread_id") for record in records]).tolist()
    reading.run.add_calls(_rows(reading, records, names, {}), threads, domains)


def _message(reading: _Reading, record: Record, domain: str) -> str:
    message = reading.messages.get(_correlation(record)) if domain.startswith("MARKER") else None
    return message or reading.operation(record)


def _read_copies(reading: _Reading, records: Sequence[Record]) -> None:
    numbers = {
        "bytes": [record.get("bytes") for record in records],
        "Stream_Id": [_handle(record, "stream_id") for record in records],
    }
    names = [reading.operation(record) for record in records]
    reading.run.add_copies(
        _rows(reading, records, names, numbers),
        [reading.agent(record, "src_agent_id") for record in records],
        [reading.agent(record, "dst_agent_id") for record in records],
    )


def _read_allocations(reading: _Reading, records: Sequence[Record], name: str) -> None:
    what = "scratch memory" if name == "scratch_memory" else "memory allocations"
    numbers = {"Allocation_Size": [record.get("allocation_size") for record in records]}
    names = [reading.operation(record) for record in records]
    reading.run.add_allocations(
        _rows(reading, records, names, numbers),
        [reading.agent(record, "agent_id") for record in records],
        [what] * len(records),
    )
