"""rocprofv3's rocpd databases to a host trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from ktrace_cli.errors import KtraceError
from ktrace_cli.importers.builder import Builder, Source
from ktrace_cli.importers.host_trace import Clock, HostTrace
from ktrace_cli.importers.rocpd_tables import Row, Tables, open_database
from ktrace_cli.importers.rocprofv3 import (
    Agent,
    Registers,
    Rows,
    Run,
    make_agent,
    whole_numbers,
)

Key = tuple[Any, Any]
"""Id and GUID: ids repeat where several processes share a database."""

_NEEDED = ("rocpd_kernel_dispatch", "rocpd_region", "rocpd_string", "rocpd_info_process")
_VERSION = "3"
# Correlation ids are each process's own; above them stands which process it is.
_CORRELATION_BITS = 40


@dataclass
class _Reading:
    """One database while it is read."""

    builder: Builder
    tables: Tables
    run: Run
    strings: Mapping[Key, str] = field(default_factory=dict)
    agents: Mapping[Key, Agent] = field(default_factory=dict)
    queues: Mapping[Key, str] = field(default_factory=dict)
    processes: Mapping[Key, int] = field(default_factory=dict)
    events: Mapping[Key, tuple[Any, ...]] = field(default_factory=dict)
    """Correlation id, category and data of each event."""
    _guids: dict[Any, int] = field(default_factory=dict)

    def process(self, pid: Any, guid: Any) -> int:
        """Return the row of a process; one that no table tells of gets one."""
        row = self.processes.get((pid, guid))
        return self.builder.process(_int(pid)) if row is None else row

    def name(self, key: Key, otherwise: str) -> str:
        """Return a string of the database."""
        text = self.strings.get(key)
        if text:
            return text
        self.builder.repairs["unknown_names"] += 1
        return otherwise

    def agent(self, number: Any, guid: Any) -> Agent:
        """Return an agent."""
        return self.agents.get((number, guid)) or make_agent(number)

    def correlation(self, event: Any, guid: Any) -> int:
        """Return a correlation id that no other process of the database has; 0 for none."""
        number = _int(self.events.get((event, guid), (0,))[0])
        if not 0 < number < 1 << _CORRELATION_BITS:
            return 0
        return (self._guids.setdefault(guid, len(self._guids)) << _CORRELATION_BITS) | number

    def domain(self, event: Any, guid: Any) -> str:
        """Return what kind of thing an event is."""
        category = self.events.get((event, guid), (0, None))[1]
        return self.strings.get((category, guid), "")

    def message(self, event: Any, guid: Any) -> str:
        """Return what a marker says: it stands in the data of its event."""
        data = self.events.get((event, guid), (0, None, None))[2]
        try:
            message = orjson.loads(data).get("message", "") if data else ""
        except (orjson.JSONDecodeError, AttributeError, TypeError):
            return ""
        return message if isinstance(message, str) else ""

    def rows(self, table: _Table, names: Sequence[str], numbers: Mapping[str, str]) -> Rows:
        """Return what all kinds of records have."""
        return Rows(
            processes=[self.process(pid, guid) for pid, guid in table.pairs("pid")],
            names=names,
            begin_ns=whole_numbers(table.column("start")),
            end_ns=whole_numbers(table.column("end")),
            correlation=whole_numbers(
                [self.correlation(event, guid) for event, guid in table.pairs("event_id")]
            ),
            numbers={
                argument: whole_numbers(table.column(column))
                for argument, column in numbers.items()
            },
        )


class _Table:
    """Some columns of all rows of a table."""

    def __init__(self, tables: Tables, base: str, columns: Sequence[str]) -> None:
        self._at = {name: at for at, name in enumerate(columns)}
        self._rows = tables.rows(base, columns)

    def __len__(self) -> int:
        return len(self._rows)

    def column(self, name: str) -> list[Any]:
        """Return a column."""
        at = self._at[name]
        return [row[at] for row in self._rows]

    def pairs(self, name: str) -> list[Key]:
        """Return a column of ids, each with the GUID of its row."""
        return list(zip(self.column(name), self.column("guid"), strict=True))


def read_rocpd(path: Path) -> HostTrace:
    """Read a database of rocprofv3.

    Raises:
        KtraceError: it is no database, or none of rocprofv3's.
    """
    builder = Builder()
    with open_database(path, builder.repairs) as connection:
        tables = Tables(connection)
        _check(path, tables)
        reading = _Reading(builder, tables, Run(builder))
        _read_names(reading)
        _read_kernels(reading)
        _read_regions(reading)
        _read_copies(reading)
        _read_allocations(reading)
        for base in ("rocpd_sample", "rocpd_pmc_event"):
            builder.repairs["not_shown"] += len(tables.rows(base, ["id"]))
    reading.run.join()
    return builder.build(Source(path, "rocpd database", Clock.BOOTTIME))


def _check(path: Path, tables: Tables) -> None:
    missing = [name for name in _NEEDED if not tables.has(name)]
    if not missing:
        return
    if "rocpd_api" in tables.names:
        why = "it was made by rocmProfileData (schema 2); wanted is rocprofv3's (schema 3)"
    elif "compute_dispatch" in tables.names:
        why = "it was made by rocprof-compute and holds no times of calls; wanted is rocprofv3's"
    else:
        known = ", ".join(tables.names[:6]) or "none"
        why = f"it has no table {missing[0]}; its tables are: {known}"
    raise KtraceError(
        f"{path} is no rocpd database",
        why=why,
        fix="make one with `rocprofv3 --output-format rocpd`",
    )


def _int(value: Any) -> int:
    return int(whole_numbers([value])[0])


def _read_names(reading: _Reading) -> None:
    tables, builder = reading.tables, reading.builder
    reading.strings = _by_key(tables.rows("rocpd_string", ["id", "guid", "string"]))
    hosts = _by_key(tables.rows("rocpd_info_node", ["id", "guid", "hostname"]))
    processes = tables.rows("rocpd_info_process", ["id", "guid", "nid", "pid", "command"])
    reading.processes = {
        (number, guid): builder.process(_int(pid), _program(command), hosts.get((node, guid), ""))
        for number, guid, node, pid, command in processes
    }
    columns = ["id", "guid", "type", "logical_index", "name"]
    reading.agents = {
        (row[0], row[1]): make_agent(
            row[0] if row[3] is None else row[3],
            str(row[4]) if str(row[4]).startswith("gfx") else "",
            is_gpu=str(row[2]).upper() == "GPU",
        )
        for row in tables.rows("rocpd_info_agent", columns)
    }
    reading.queues = _by_key(tables.rows("rocpd_info_queue", ["id", "guid", "name"]))
    events = tables.rows("rocpd_event", ["id", "guid", "stack_id", "category_id", "extdata"])
    reading.events = {(row[0], row[1]): row[2:] for row in events}
    metadata = tables.rows("rocpd_metadata", ["tag", "value"])
    versions = {str(value) for tag, value in metadata if tag == "schema_version"}
    if versions - {_VERSION}:
        found = ", ".join(sorted(versions))
        builder.notes.append(f"its schema is version {found}; it is read as version {_VERSION}")


def _by_key(rows: Sequence[Row]) -> dict[Key, str]:
    return {(number, guid): str(text) for number, guid, text in rows if text is not None}


def _program(command: Any) -> str:
    words = str(command or "").split()
    return Path(words[0]).name if words else ""


_DISPATCH_NUMBERS = {
    "Dispatch_Id": "dispatch_id",
    "Kernel_Id": "kernel_id",
    "Stream_Id": "stream_id",
    "Thread_Id": "tid",
    "LDS_Block_Size": "group_segment_size",
    "Scratch_Size": "private_segment_size",
    **{
        f"{name}_Size_{axis.upper()}": f"{name.lower()}_size_{axis}"
        for name in ("Grid", "Workgroup")
        for axis in "xyz"
    },
}


def _read_kernels(reading: _Reading) -> None:
    common = ["guid", "pid", "start", "end", "event_id", "agent_id", "queue_id"]
    columns = [*common, *_DISPATCH_NUMBERS.values()]
    table = _Table(reading.tables, "rocpd_kernel_dispatch", columns)
    names = ["id", "guid", "display_name", "kernel_name", "arch_vgpr_count", "accum_vgpr_count"]
    symbols = {
        (row[0], row[1]): row for row in reading.tables.rows("rocpd_info_kernel_symbol", names)
    }
    nameless = (None,) * len(names)
    kernels = [symbols.get(key, nameless) for key in table.pairs("kernel_id")]
    queues = [reading.queues.get(key, f"queue {key[0]}").lower() for key in table.pairs("queue_id")]
    numbers = table.column("kernel_id")
    reading.run.add_kernels(
        reading.rows(
            table,
            [_kernel_name(reading, k, n) for k, n in zip(kernels, numbers, strict=True)],
            _DISPATCH_NUMBERS,
        ),
        [reading.agent(*key) for key in table.pairs("agent_id")],
        queues,
        Registers(
            whole_numbers([kernel[4] for kernel in kernels]),
            whole_numbers([kernel[5] for kernel in kernels]),
        ),
    )


def _kernel_name(reading: _Reading, symbol: Row, number: Any) -> str:
    name = str(symbol[2] or symbol[3] or "")
    if not name:
        reading.builder.repairs["unknown_names"] += 1
    return name or f"kernel {number}"


def _read_regions(reading: _Reading) -> None:
    columns = ["guid", "pid", "start", "end", "event_id", "tid", "name_id"]
    table = _Table(reading.tables, "rocpd_region", columns)
    threads = reading.tables.rows("rocpd_info_thread", ["id", "guid", "tid"])
    known = {(number, guid): _int(tid) for number, guid, tid in threads}
    messages = [reading.message(*key) for key in table.pairs("event_id")]
    names = [
        message or reading.name(key, f"call {key[0]}")
        for message, key in zip(messages, table.pairs("name_id"), strict=True)
    ]
    reading.run.add_calls(
        reading.rows(table, names, {}),
        [known.get(key, _int(key[0])) for key in table.pairs("tid")],
        [reading.domain(*key) for key in table.pairs("event_id")],
    )


def _read_copies(reading: _Reading) -> None:
    columns = ["guid", "pid", "start", "end", "event_id", "name_id", "src_agent_id",
               "dst_agent_id", "size", "stream_id"]  # fmt: skip
    table = _Table(reading.tables, "rocpd_memory_copy", columns)
    names = [reading.name(key, "copy") for key in table.pairs("name_id")]
    reading.run.add_copies(
        reading.rows(table, names, {"bytes": "size", "Stream_Id": "stream_id"}),
        [reading.agent(*key) for key in table.pairs("src_agent_id")],
        [reading.agent(*key) for key in table.pairs("dst_agent_id")],
    )


def _read_allocations(reading: _Reading) -> None:
    columns = ["guid", "pid", "start", "end", "event_id", "agent_id", "type", "level", "size"]
    table = _Table(reading.tables, "rocpd_memory_allocate", columns)
    what = [
        "scratch memory" if level == "SCRATCH" else "memory allocations"
        for level in table.column("level")
    ]
    reading.run.add_allocations(
        reading.rows(
            table,
            [str(kind or "ALLOC") for kind in table.column("type")],
            {"Allocation_Size": "size"},
        ),
        [reading.agent(*key) for key in table.pairs("agent_id")],
        what,
    )
