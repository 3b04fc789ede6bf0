"""rocprofv3's CSV files of one process to a host trace."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.importers.builder import Builder, Source
from ktrace_cli.importers.csv_table import CsvTable, read_header, read_table
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

Ints = NDArray[np.int64]

_NUMBER = re.compile(r"-?[0-9]+")
_LARGEST = (1 << 63) - 1
_TIMES = ("Start_Timestamp", "End_Timestamp")
_OF_KERNELS = (
    "Dispatch_Id", "Kernel_Id", "Stream_Id", "Thread_Id", "LDS_Block_Size", "Scratch_Size",
    "SGPR_Count", "Grid_Size_X", "Grid_Size_Y", "Grid_Size_Z",
    "Workgroup_Size_X", "Workgroup_Size_Y", "Workgroup_Size_Z",
)  # fmt: skip


@dataclass(frozen=True)
class _Agents:
    """Which agents there are, as far as a file tells."""

    by_number: dict[int, Agent] = field(default_factory=dict)
    gpus: tuple[Agent, ...] = ()

    def agent(self, number: int) -> Agent:
        """Return `Agent <number>`."""
        if number not in self.by_number:
            self.by_number[number] = make_agent(number)
        return self.by_number[number]

    def gpu(self, number: int) -> Agent:
        """Return `Agent <number>` that runs kernels; GPUs may be counted alone (--agent-index)."""
        known = self.agent(number)
        if not known.is_gpu and number < len(self.gpus):
            return self.gpus[number]
        return known


@dataclass
class _Reading:
    """One group of files while it is read."""

    run: Run
    process: int
    agents: _Agents = field(default_factory=_Agents)


def is_rocprofv3_csv(path: Path) -> bool:
    """Tell whether a file is one of those that `read_rocprofv3_csv` reads."""
    return _reader_of(read_header(path)) is not None


def read_rocprofv3_csv(paths: Sequence[Path], *, pid: int = 0) -> HostTrace:
    """Read the CSV files of one process.

    Args:
        paths: those of one run; an agent table may be among them.
        pid: its process id, for files that tell none.

    Raises:
        KtraceError: a file cannot be read.
    """
    builder = Builder()
    tables = [read_table(path, builder.repairs) for path in paths]
    told = next((known for table in tables if (known := _process_id(table))), pid)
    reading = _Reading(Run(builder), builder.process(told))
    # Agents come first: registers and the names of tracks depend on them.
    for table in sorted(tables, key=lambda table: "Agent_Type" not in table.header):
        if reader := _reader_of(table.header):
            reader(reading, _with_times(table, builder))
    reading.run.join()
    path = paths[0] if len(paths) == 1 else _common_name(paths)
    return builder.build(Source(path, "rocprofv3 CSV", Clock.BOOTTIME))


def _common_name(paths: Sequence[Path]) -> Path:
    """Name files of one prefix: `out/4242_*.csv`."""
    first, last = min(path.name for path in paths), max(path.name for path in paths)
    pairs = enumerate(zip(first, last, strict=False))
    same = next((i for i, (a, b) in pairs if a != b), len(first))
    return paths[0].parent / f"{first[: first.rfind('_', 0, same) + 1]}*.csv"


def _reader_of(header: Sequence[str]) -> Callable[[_Reading, CsvTable], None] | None:
    has = set(header)
    if {"Node_Id", "Agent_Type"} <= has:
        return _read_agents
    if not set(_TIMES) <= has or "Counter_Name" in has:
        return None
    readers = {
        "Kernel_Name": _read_kernels,
        "Function": _read_calls,
        "Direction": _read_copies,
        "Operation": _read_allocations,
    }
    return next((reader for column, reader in readers.items() if column in has), None)


def _process_id(table: CsvTable) -> int:
    column = table.columns.get("Process_Id", [])
    return next((number for value in column if (number := _number(value))), 0)


def _number(value: str) -> int | None:
    return int(value) if len(value) < 20 and _NUMBER.fullmatch(value) else None


def _with_times(table: CsvTable, builder: Builder) -> CsvTable:
    """Leave out rows whose times are no numbers."""
    times = [table.columns[name] for name in _TIMES if name in table.columns]
    with suppress(ValueError):
        if all(abs(time) <= _LARGEST for column in times for time in map(int, column)):
            return table
    bad = {row for column in times for row, value in enumerate(column) if _number(value) is None}
    builder.repairs["malformed_rows"] += len(bad)
    columns = {
        name: [value for row, value in enumerate(column) if row not in bad]
        for name, column in table.columns.items()
    }
    return CsvTable(table.header, columns)


def _ints(table: CsvTable, name: str, missing: int = 0) -> Ints:
    """Return a column of numbers; what is none, or too large for one, is `missing`."""
    column = table.columns.get(name)
    if column is None:
        return np.full(table.count, missing, np.int64)
    with suppress(ValueError, OverflowError):
        return np.array(list(map(int, column)), np.int64)
    return whole_numbers([_number(value) for value in column], missing)


def _rows(reading: _Reading, table: CsvTable, names: Sequence[str], numbers: Sequence[str]) -> Rows:
    return Rows(
        processes=[reading.process] * table.count,
        names=names,
        begin_ns=_ints(table, _TIMES[0]),
        end_ns=_ints(table, _TIMES[1]),
        correlation=_ints(table, "Correlation_Id"),
        numbers={name: _ints(table, name) for name in numbers if name in table.columns},
    )


def _agent_numbers(table: CsvTable, name: str) -> list[int]:
    """Read `Agent 2`, or `2` as older releases write it."""
    column = table.columns.get(name, ["0"] * table.count)
    return [_number(value.rpartition(" ")[2]) or 0 for value in column]


def _read_agents(reading: _Reading, table: CsvTable) -> None:
    logical = _ints(table, "Logical_Node_Id", -1)
    numbers = np.where(logical >= 0, logical, _ints(table, "Node_Id")).tolist()
    versions = _ints(table, "Gfx_Target_Version").tolist()
    names = table.columns.get("Name", [""] * table.count)
    agents = {}
    for row, kind in enumerate(table.columns["Agent_Type"]):
        is_named = names[row].startswith("gfx")
        target = names[row] if is_named else target_of_version(versions[row])
        agents[numbers[row]] = make_agent(numbers[row], target, is_gpu=kind == "GPU")
    reading.agents = _Agents(agents, tuple(agent for agent in agents.values() if agent.is_gpu))


def _read_kernels(reading: _Reading, table: CsvTable) -> None:
    registers = None
    if "VGPR_Count" in table.columns:
        registers = Registers(_ints(table, "VGPR_Count"), _ints(table, "Accum_VGPR_Count"))
    reading.run.add_kernels(
        _rows(reading, table, table.columns["Kernel_Name"], _OF_KERNELS),
        [reading.agents.gpu(number) for number in _agent_numbers(table, "Agent_Id")],
        [f"queue {queue}" for queue in _ints(table, "Queue_Id").tolist()],
        registers,
    )


def _read_calls(reading: _Reading, table: CsvTable) -> None:
    reading.run.add_calls(
        _rows(reading, table, table.columns["Function"], ()),
        _ints(table, "Thread_Id").tolist(),
        table.columns.get("Domain", [""] * table.count),
    )


def _read_copies(reading: _Reading, table: CsvTable) -> None:
    agents = reading.agents
    directions = table.columns["Direction"]
    destinations = [
        make_agent("host", is_gpu=False) if d.endswith("DEVICE_TO_HOST") else agents.gpu(number)
        for d, number in zip(directions, _agent_numbers(table, "Destination_Agent_Id"), strict=True)
    ]
    reading.run.add_copies(
        _rows(reading, table, directions, ("Stream_Id",)),
        [agents.gpu(number) for number in _agent_numbers(table, "Source_Agent_Id")],
        destinations,
    )


def _read_allocations(reading: _Reading, table: CsvTable) -> None:
    """Read allocations of memory, and of scratch memory."""
    what = "scratch memory" if "Alloc_Flags" in table.columns else "memory allocations"
    reading.run.add_allocations(
        _rows(
            reading,
            table,
            table.columns["Operation"],
            ("Allocation_Size", "Queue_Id", "Thread_Id"),
        ),
        [reading.agents.agent(number) for number in _agent_numbers(table, "Agent_Id")],
        [what] * table.count,
    )
