"""Counters of rocprofv3's results.json to dispatches."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ktrace_cli.counters.collecting import Collector, Launch
from ktrace_cli.counters.measured import Pass
from ktrace_cli.errors import KtraceError
from ktrace_cli.importers.json_file import parse_json, read_bytes
from ktrace_cli.importers.registers import target_of_version
from ktrace_cli.importers.rocprofv3_json import ROOT

Record = Mapping[str, Any]
_NAMES = ("formatted_kernel_name", "demangled_kernel_name", "kernel_name")
_WRONG = (KeyError, TypeError, ValueError, AttributeError, OverflowError)


def read_counter_json(path: Path, collector: Collector) -> None:
    """Read one file.

    Raises:
        KtraceError: it cannot be read, or is not made as rocprofv3 makes them.
    """
    collector.is_by_instance = True
    document = parse_json(read_bytes(path), path, collector.repairs)
    try:
        for process in document[ROOT]:
            _read_process(process, path, collector)
    except _WRONG as problem:
        raise KtraceError(
            f"cannot read {path}",
            why=f"it is not made as rocprofv3 makes a results.json: {problem!r}",
            fix="write it again with `rocprofv3 --output-format json`",
        ) from problem


def _read_process(document: Record, path: Path, collector: Collector) -> None:
    origin = Pass(path, int(document.get("metadata", {}).get("pid", 0)))
    names = {
        (_handle(counter.get("agent_id")), _handle(counter["id"])): str(counter["name"])
        for counter in document.get("counters", [])
    }
    by_id = {handle: name for (_, handle), name in names.items()}
    agents = {_handle(agent["id"]): _target(agent) for agent in document.get("agents", [])}
    symbols = {int(s["kernel_id"]): s for s in document.get("kernel_symbols", [])}
    for record in document.get("callback_records", {}).get("counter_collection", []):
        info = record["dispatch_data"]["dispatch_info"]
        agent = _handle(info.get("agent_id"))
        launch = Launch(
            _kernel(symbols, info, collector),
            agents.get(agent, ""),
            _volume(info.get("grid_size", {})),
            _volume(info.get("workgroup_size", {})),
        )
        for value in record["records"]:
            handle = _handle(value["counter_id"])
            name = names.get((agent, handle)) or by_id.get(handle)
            if name is None:
                collector.repairs["nameless"] += 1
                continue
            collector.add(origin, int(info["dispatch_id"]), launch, name, value.get("value"))


def _handle(value: Any) -> int:
    return int(value["handle"]) if value is not None else 0


def _target(agent: Record) -> str:
    name = str(agent.get("name", ""))
    version = int(agent.get("gfx_target_version", 0))
    return name if name.startswith("gfx") else target_of_version(version)


def _kernel(symbols: Mapping[int, Record], info: Record, collector: Collector) -> str:
    symbol = symbols.get(int(info["kernel_id"]), {})
    name = next((str(symbol[key]) for key in _NAMES if symbol.get(key)), "")
    if not name:
        collector.repairs["unknown_kernels"] += 1
    return name.removesuffix(".kd") or f"kernel {info['kernel_id']}"


def _volume(size: Record) -> int:
    return int(size.get("x", 0)) * int(size.get("y", 1)) * int(size.get("z", 1))
