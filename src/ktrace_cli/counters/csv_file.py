"""rocprofv3's counter_collection.csv, with the agent table beside it, to dispatches."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from ktrace_cli.counters.collecting import Collector, Launch, number_of
from ktrace_cli.counters.measured import Pass
from ktrace_cli.importers.csv_table import CsvTable, read_header, read_table
from ktrace_cli.importers.registers import target_of_version

_NEEDED = ("Dispatch_Id", "Kernel_Name", "Counter_Name", "Counter_Value")
_ENDING = "counter_collection.csv"
_LONGEST_NUMBER = 19


def is_counter_csv(path: Path) -> bool:
    """Tell whether a CSV file holds counters of dispatches."""
    return set(_NEEDED) <= set(read_header(path))


def read_counter_csv(path: Path, collector: Collector) -> list[str]:
    """Read one file; returns what else the user should know.

    Raises:
        KtraceError: it cannot be read.
    """
    table = read_table(path, collector.repairs)
    agents = path.with_name(path.name.removesuffix(_ENDING) + "agent_info.csv")
    has_agents = path.name.endswith(_ENDING) and agents.is_file()
    targets = _targets(agents) if has_agents else {}
    columns = {
        name: table.columns.get(name, [""] * table.count)
        for name in (*_NEEDED, "Process_Id", "Agent_Id", "Grid_Size", "Workgroup_Size")
    }
    for number, kernel, counter, value, pid, agent, grid, workgroup in zip(
        *columns.values(), strict=True
    ):
        dispatch = _whole(number)
        if dispatch is None or not counter:
            collector.repairs["malformed_rows"] += 1
            continue
        launch = Launch(
            kernel.removesuffix(".kd"),
            _target(targets, agent),
            _whole(grid) or 0,
            _whole(workgroup) or 0,
        )
        collector.add(Pass(path, _whole(pid) or 0), dispatch, launch, counter, value)
    return [f"{agents} is read, too: it tells which devices there are"] if has_agents else []


def _whole(text: str) -> int | None:
    """Read a whole number; what is none, or too large for one, is None."""
    is_number = text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER
    return int(text) if is_number else None


def _targets(path: Path) -> dict[int, str]:
    """Return the targets of GPUs by their numbers; -1 stands for any, where all are alike."""
    table = read_table(path, Counter())
    if not {"Agent_Type", "Node_Id"} <= set(table.header):
        return {}
    kinds, found = table.columns["Agent_Type"], {}
    for row in range(table.count):
        if kinds[row] == "GPU":
            found[_number(table, row)] = _name(table, row)
    if len(set(found.values())) == 1:
        found[-1] = next(iter(found.values()))
    return found


def _number(table: CsvTable, row: int) -> int:
    column = table.columns.get("Logical_Node_Id") or table.columns["Node_Id"]
    return _whole(column[row]) or 0


def _name(table: CsvTable, row: int) -> str:
    name = table.columns["Name"][row] if "Name" in table.columns else ""
    versions = table.columns.get("Gfx_Target_Version")
    version = number_of(versions[row]) if versions else None
    return name if name.startswith("gfx") else target_of_version(int(version or 0))


def _target(targets: dict[int, str], agent: str) -> str:
    """Find the target of `Agent 2`, or `2`. How agents are numbered depends on `--agent-index`."""
    if -1 in targets:
        return targets[-1]
    return targets.get(_whole(agent.rpartition(" ")[2]) or 0, "")
