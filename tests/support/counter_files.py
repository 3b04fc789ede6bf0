"""Files with counters as rocprofv3 writes them, of dispatches that are given as numbers."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from support.host_traces import GUID, agent_csv, csv_text, results_json, symbol, write_json

COLUMNS = (
    "Correlation_Id", "Dispatch_Id", "Agent_Id", "Queue_Id", "Process_Id", "Thread_Id",
    "Grid_Size", "Kernel_Id", "Kernel_Name", "Workgroup_Size", "LDS_Block_Size", "Scratch_Size",
    "VGPR_Count", "Accum_VGPR_Count", "SGPR_Count", "Counter_Name", "Counter_Value",
    "Start_Timestamp", "End_Timestamp",
)  # fmt: skip
Counters = Mapping[str, object]
GEMM = "void gemm<64>(float*, int)"
GEMM_SAMPLE = "void gemm<64, 32>(_Float16 const*, _Float16 const*, float*, int, int)"


def counter_rows(
    dispatches: Sequence[Counters], *, kernel: str = GEMM, pid: int = 4242, grid: int = 512
) -> list[tuple[object, ...]]:
    """Rows of COLUMNS: dispatches are numbered from 1."""
    return [
        (n, n, "Agent 2", 1, pid, 77, grid, 9, kernel, 256, 512, 0, 124, 0, 48, name, value, 5, 9)
        for n, counters in enumerate(dispatches, 1)
        for name, value in counters.items()
    ]


def write_counters(path: Path, rows: Sequence[Sequence[object]], *, target: str = "gfx942") -> Path:
    """A counter_collection.csv, and the agent table beside it unless there is no target."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(csv_text(COLUMNS, rows))
    if target:
        agents = path.name.replace("counter_collection", "agent_info")
        path.with_name(agents).write_text(agent_csv(target))
    return path


def counters_json(
    path: Path, dispatches: Sequence[Mapping[str, Sequence[float]]], *, kernel: str = GEMM
) -> Path:
    """A results.json; each counter has the values of its instances."""
    names = sorted({name for counters in dispatches for name in counters})
    document: dict[str, Any] = results_json(symbols=[symbol(9, kernel)])
    (process,) = document["rocprofiler-sdk-tool"]
    process["counters"] = [
        {"agent_id": {"handle": 5002}, "id": {"handle": 70 + n}, "name": name}
        for n, name in enumerate(names)
    ]
    process["callback_records"] = {
        "counter_collection": [
            {
                "dispatch_data": {
                    "dispatch_info": {
                        "agent_id": {"handle": 5002},
                        "kernel_id": 9,
                        "dispatch_id": number,
                        "grid_size": {"x": 512, "y": 1, "z": 1},
                        "workgroup_size": {"x": 256, "y": 1, "z": 1},
                    }
                },
                "records": [
                    {"counter_id": {"handle": 70 + names.index(name)}, "value": value}
                    for name, values in counters.items()
                    for value in values
                ],
            }
            for number, counters in enumerate(dispatches, 1)
        ]
    }
    return write_json(path, document)


def counters_rocpd(
    path: Path, dispatches: Sequence[Mapping[str, Sequence[float]]], *, kernel: str = GEMM
) -> Path:
    """A database with what is needed of it."""
    names = sorted({name for counters in dispatches for name in counters})
    with sqlite3.connect(path) as connection:
        for table, columns in (
            ("rocpd_info_agent", "id, guid, name"),
            ("rocpd_info_kernel_symbol", "id, guid, display_name, kernel_name"),
            ("rocpd_info_pmc", "id, guid, symbol, name"),
            ("rocpd_kernel_dispatch", "guid, pid, event_id, agent_id, kernel_id, dispatch_id,"
             " grid_size_x, grid_size_y, grid_size_z, workgroup_size_x, workgroup_size_y,"
             " workgroup_size_z"),
            ("rocpd_pmc_event", "id, guid, event_id, pmc_id, value"),
        ):  # fmt: skip
            connection.execute(f"create table {table} ({columns})")
        insert = connection.execute
        insert("insert into rocpd_info_agent values (2, ?, 'gfx942')", [GUID])
        insert("insert into rocpd_info_kernel_symbol values (9, ?, ?, '')", [GUID, kernel])
        for number, name in enumerate(names):
            insert("insert into rocpd_info_pmc values (?, ?, ?, '')", [number, GUID, name])
        for number, counters in enumerate(dispatches, 1):
            row = [GUID, 4242, number, 2, 9, number, 512, 1, 1, 256, 1, 1]
            insert(f"insert into rocpd_kernel_dispatch values ({','.join('?' * 12)})", row)
            for name, values in counters.items():
                for value in values:
                    event = [GUID, number, names.index(name), value]
                    insert("insert into rocpd_pmc_event values (1, ?, ?, ?, ?)", event)
    connection.close()
    return path


def counters_of_gemm(folder: Path) -> None:
    """Write what `ktrace pmc` might have counted of the gemm sample's kernel, in two passes."""
    reads = {
        "TCC_HIT_sum": 41_000, "TCC_MISS_sum": 22_000, "TCC_REQ_sum": 63_000, "TCC_ATOMIC_sum": 0,
    }  # fmt: skip
    memory = {
        "TCC_EA0_RDREQ_sum": 16_000, "TCC_EA0_RDREQ_32B_sum": 6_400,
        "TCC_EA0_RDREQ_64B_sum": 1_600, "TCC_EA0_RDREQ_128B_sum": 8_000,
    }  # fmt: skip
    for number, counters in enumerate((reads, memory), 1):
        launches = [
            {name: value + 10 * launch * bool(value) for name, value in counters.items()}
            for launch in (9, 0, 2, 1)
        ]
        rows = counter_rows(launches, kernel=GEMM_SAMPLE, grid=1024)
        path = folder / f"pass_{number}" / "4242_counter_collection.csv"
        write_counters(path, rows, target="gfx950")
