"""Counters of rocprofv3's rocpd databases to dispatches."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from ktrace_cli.counters.collecting import Collector, Launch
from ktrace_cli.counters.measured import Pass
from ktrace_cli.errors import KtraceError
from ktrace_cli.importers.rocpd_tables import Tables, open_database

Key = tuple[Any, Any]
"""Id and GUID: ids repeat where several processes share a database."""

_NEEDED = ("rocpd_pmc_event", "rocpd_info_pmc", "rocpd_kernel_dispatch")
_SIZES = [f"{name}_size_{axis}" for name in ("grid", "workgroup") for axis in "xyz"]
_DISPATCH = ["guid", "pid", "event_id", "agent_id", "kernel_id", "dispatch_id", *_SIZES]


def read_counter_rocpd(path: Path, collector: Collector) -> None:
    """Read one database.

    Raises:
        KtraceError: it is no database, or none of rocprofv3's.
    """
    collector.is_by_instance = True
    with open_database(path, collector.repairs) as connection:
        tables = Tables(connection)
        missing = [name for name in _NEEDED if not tables.has(name)]
        if missing:
            raise KtraceError(
                f"{path} holds no counters of rocprofv3",
                why=f"it has no table {missing[0]}; its tables are:"
                f" {', '.join(tables.names[:6]) or 'none'}",
                fix="make one with `rocprofv3 --pmc … --output-format rocpd`",
            )
        _read(path, tables, collector)


def database_has_counters(path: Path) -> bool:
    """Tell whether a database has a value of any counter.

    Raises:
        KtraceError: it is no database.
    """
    with open_database(path, Counter()) as connection:
        return bool(Tables(connection).rows("rocpd_pmc_event", ["id"]))


def _read(path: Path, tables: Tables, collector: Collector) -> None:
    names = {
        (number, guid): str(symbol or name or "")
        for number, guid, symbol, name in tables.rows(
            "rocpd_info_pmc", ["id", "guid", "symbol", "name"]
        )
    }
    launches = _launches(path, tables, collector)
    for guid, event, counter, value in tables.rows(
        "rocpd_pmc_event", ["guid", "event_id", "pmc_id", "value"]
    ):
        name, launch = names.get((counter, guid)), launches.get((event, guid))
        if not name or launch is None:
            collector.repairs["nameless"] += 1
            continue
        collector.add(*launch, name, value)


def _launches(
    path: Path, tables: Tables, collector: Collector
) -> dict[Key, tuple[Pass, int, Launch]]:
    """Return dispatches by their events."""
    agents = {
        (number, guid): str(name)
        for number, guid, name in tables.rows("rocpd_info_agent", ["id", "guid", "name"])
    }
    kernels = {
        (row[0], row[1]): str(row[2] or row[3] or "").removesuffix(".kd")
        for row in tables.rows(
            "rocpd_info_kernel_symbol", ["id", "guid", "display_name", "kernel_name"]
        )
    }
    found = {}
    for guid, pid, event, agent, kernel, number, *sizes in tables.rows(
        "rocpd_kernel_dispatch", _DISPATCH
    ):
        if not isinstance(number, int):
            collector.repairs["malformed_rows"] += 1
            continue
        name = kernels.get((kernel, guid), "")
        target = agents.get((agent, guid), "")
        if not name:
            collector.repairs["unknown_kernels"] += 1
        launch = Launch(
            name or f"kernel {kernel}",
            target if target.startswith("gfx") else "",
            _volume(sizes[:3]),
            _volume(sizes[3:]),
        )
        origin = Pass(path, pid if isinstance(pid, int) else 0, str(guid or ""))
        found[event, guid] = (origin, number, launch)
    return found


def _volume(sizes: list[Any]) -> int:
    x, y, z = (size if isinstance(size, int) else 0 for size in sizes)
    return x * max(y, 1) * max(z, 1)
