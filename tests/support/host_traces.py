"""Small files as other tools write them, and recordings that belong to them.

kernels = kernel_csv([kernel_row("gemm(float*, int)", 1_000, 2_000, correlation=7)])
document = results_json(kernels=[dispatch(7, 1_000, 2_000)], symbols=[symbol(7, "gemm")])
"""

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ktrace_cli.importers.host_trace import HostTrace
from ktrace_cli.timeline.build import build_timeline
from ktrace_cli.trace_file.reader import read_recording
from support.code_object import EventSource, KernelSource, make_code_object
from support.recording import HOST_EPOCH_NS, RecordingBuilder, Wave
from support.timelines import EVENTS, UNIT_KEY

KERNEL_COLUMNS = (
    "Kind", "Agent_Id", "Queue_Id", "Stream_Id", "Thread_Id", "Dispatch_Id", "Kernel_Id",
    "Kernel_Name", "Correlation_Id", "Start_Timestamp", "End_Timestamp", "LDS_Block_Size",
    "Scratch_Size", "VGPR_Count", "Accum_VGPR_Count", "SGPR_Count", "Workgroup_Size_X",
    "Workgroup_Size_Y", "Workgroup_Size_Z", "Grid_Size_X", "Grid_Size_Y", "Grid_Size_Z",
)  # fmt: skip
CALL_COLUMNS = ("Domain", "Function", "Process_Id", "Thread_Id", "Correlation_Id",
                "Start_Timestamp", "End_Timestamp")  # fmt: skip
COPY_COLUMNS = ("Kind", "Direction", "Stream_Id", "Source_Agent_Id", "Destination_Agent_Id",
                "Correlation_Id", "Start_Timestamp", "End_Timestamp")  # fmt: skip
ALLOCATION_COLUMNS = ("Kind", "Operation", "Agent_Id", "Allocation_Size", "Address",
                      "Correlation_Id", "Start_Timestamp", "End_Timestamp")  # fmt: skip
AGENT_COLUMNS = ("Node_Id", "Logical_Node_Id", "Agent_Type", "Gfx_Target_Version", "Name")
GUID = "0197aaaa-bbbb-7ccc-8ddd-eeeeffff0001"


def csv_text(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A file as rocprofv3 writes it: quotes around texts, none inside them escaped."""

    def field(value: object) -> str:
        return f'"{value}"' if isinstance(value, str) else str(value)

    return "".join(",".join(map(field, row)) + "\n" for row in [columns, *rows])


def kernel_row(
    name: str,
    begin: object,
    end: object,
    *,
    agent: object = "Agent 2",
    queue: int = 1,
    correlation: int = 1,
    vgpr: int = 124,
    accum: int = 0,
) -> tuple[object, ...]:
    """A row of KERNEL_COLUMNS."""
    place = ("KERNEL_DISPATCH", agent, queue, 0, 77, correlation, 9)
    sizes = (512, 0, vgpr, accum, 48, 256, 1, 1, 512, 2, 1)
    return (*place, name, correlation, begin, end, *sizes)


def kernel_csv(rows: Sequence[Sequence[object]]) -> str:
    return csv_text(KERNEL_COLUMNS, rows)


def call_csv(rows: Sequence[Sequence[object]]) -> str:
    return csv_text(CALL_COLUMNS, rows)


def agent_csv(target: str = "gfx950") -> str:
    rows = [(0, 0, "CPU", 0, "EPYC"), (2, 2, "GPU", 90500, target)]
    return csv_text(AGENT_COLUMNS, rows)


def named_slices(trace: HostTrace) -> list[tuple[str, str, int, int]]:
    """Name, track, begin and end of each slice."""
    return [
        (
            trace.strings[row["name"]],
            trace.tracks[row["track"]].name,
            int(row["begin_ns"]),
            int(row["end_ns"]),
        )
        for row in trace.slices
    ]


def told(trace: HostTrace, name: str) -> dict[int, Any]:
    """The values of an argument by row of its slice."""
    found: dict[int, Any] = {}
    for argument in trace.arguments:
        if argument.name == name:
            values = argument.values.tolist()
            texts = [trace.strings[v] for v in values] if argument.is_text else values
            found |= dict(zip(argument.rows.tolist(), texts, strict=True))
    return found


def arrows(trace: HostTrace) -> list[tuple[str, str]]:
    """The names at both ends of each arrow."""
    return [
        (trace.name_of(row["source"]), trace.name_of(row["destination"])) for row in trace.flows
    ]


def dispatch(
    kernel: int, begin: int, end: int, *, correlation: int = 1, queue: int = 4
) -> dict[str, Any]:
    """A record of buffer_records.kernel_dispatch."""
    return {
        "kind": 2,
        "operation": 1,
        "thread_id": 77,
        "correlation_id": {"internal": correlation, "external": 0},
        "start_timestamp": begin,
        "end_timestamp": end,
        "dispatch_info": {
            "agent_id": {"handle": 5002},
            "queue_id": {"handle": queue},
            "kernel_id": kernel,
            "dispatch_id": correlation,
            "private_segment_size": 0,
            "group_segment_size": 512,
            "workgroup_size": {"x": 256, "y": 1, "z": 1},
            "grid_size": {"x": 512, "y": 2, "z": 1},
        },
        "stream_id": {"handle": 0},
    }


def call(
    operation: int, begin: int, end: int, *, correlation: int = 1, kind: int = 1
) -> dict[str, Any]:
    """A record of buffer_records.hip_api, or of marker_api."""
    return {
        "kind": kind,
        "operation": operation,
        "thread_id": 77,
        "correlation_id": {"internal": correlation, "external": 0},
        "start_timestamp": begin,
        "end_timestamp": end,
    }


def symbol(kernel: int, name: str, *, vgpr: int = 124, accum: int = 0) -> dict[str, Any]:
    return {
        "kernel_id": kernel,
        "kernel_name": f"{name}.kd",
        "formatted_kernel_name": name,
        "arch_vgpr_count": vgpr,
        "accum_vgpr_count": accum,
        "sgpr_count": 48,
    }


def results_json(
    *,
    symbols: Sequence[dict[str, Any]] = (),
    host: str = "node",
    pid: int = 4242,
    messages: Sequence[dict[str, Any]] = (),
    **records: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    """A results.json; `records` are those of buffer_records."""
    process = {
        "metadata": {
            "node": {"hostname": host},
            "pid": pid,
            "command": ["/usr/bin/python", "train.py", "--token", "hunter2"],
            "config": {"output_path": "/home/user/secret"},
        },
        "agents": [
            {"id": {"handle": 5000}, "type": 1, "node_id": 0, "logical_node_id": 0, "name": "EPYC"},
            {"id": {"handle": 5002}, "type": 2, "node_id": 2, "logical_node_id": 2,
             "name": "gfx950", "gfx_target_version": 90500},
        ],
        "strings": {
            "buffer_records": [
                {"kind": "NONE", "operations": []},
                {"kind": "HIP_RUNTIME_API_EXT", "operations": ["hipLaunchKernel", "hipMemcpy"]},
                {"kind": "KERNEL_DISPATCH", "operations": ["NONE", "DISPATCH"]},
                {"kind": "MARKER_CORE_API", "operations": ["roctxMarkA", "roctxRangePushA"]},
                {"kind": "MEMORY_COPY", "operations": ["NONE", "MEMORY_COPY_HOST_TO_DEVICE"]},
            ],
            "marker_api": list(messages),
        },
        "kernel_symbols": list(symbols),
        "buffer_records": {name: list(rows) for name, rows in records.items()},
    }  # fmt: skip
    return {"rocprofiler-sdk-tool": [process]}


_TABLES = {
    "rocpd_string": "id, guid, string",
    "rocpd_metadata": "id, tag, value",
    "rocpd_info_node": "id, guid, hostname",
    "rocpd_info_process": "id, guid, nid, pid, command, environment",
    "rocpd_info_thread": "id, guid, tid",
    "rocpd_info_agent": "id, guid, type, logical_index, name",
    "rocpd_info_queue": "id, guid, name",
    "rocpd_info_kernel_symbol": "id, guid, kernel_name, display_name, arch_vgpr_count,"
    " accum_vgpr_count",
    "rocpd_event": "id, guid, category_id, stack_id, extdata",
    "rocpd_region": "id, guid, pid, tid, start, end, name_id, event_id",
    "rocpd_kernel_dispatch": "id, guid, pid, tid, agent_id, kernel_id, dispatch_id, queue_id,"
    " stream_id, start, end, private_segment_size, group_segment_size, workgroup_size_x,"
    " workgroup_size_y, workgroup_size_z, grid_size_x, grid_size_y, grid_size_z, event_id",
    "rocpd_memory_copy": "id, guid, pid, start, end, name_id, dst_agent_id, src_agent_id, size,"
    " stream_id, event_id",
    "rocpd_memory_allocate": "id, guid, pid, agent_id, type, level, start, end, size, event_id",
    "rocpd_sample": "id, guid",
    "rocpd_pmc_event": "id, guid",
}


def make_rocpd(
    path: Path, rows: dict[str, Sequence[Sequence[object]]], *, version: str = "3"
) -> Path:
    """A database: tables with the GUID in their names, and a view of each. GUIDs are left out."""
    suffix = "_" + GUID.replace("-", "_")
    with sqlite3.connect(path) as connection:
        for base, columns in _TABLES.items():
            connection.execute(f'create table "{base}{suffix}" ({_quoted(columns)})')
            connection.execute(f'create view "{base}" as select * from "{base}{suffix}"')
            for number, row in enumerate(rows.get(base, ())):
                own = list(row)
                if "guid" in columns:
                    own.insert(1, GUID)
                marks = ", ".join("?" * len(own))
                assert len(own) == len(columns.split(", ")), (base, number, own)
                connection.execute(f'insert into "{base}{suffix}" values ({marks})', own)
        insert = f'insert into "rocpd_metadata{suffix}" values (?, ?, ?)'
        connection.execute(insert, [99, "schema_version", version])
    connection.close()
    return path


def _quoted(columns: str) -> str:
    return ", ".join(f'"{column}"' for column in columns.split(", "))


SMALL_ROCPD: dict[str, Sequence[Sequence[object]]] = {
    "rocpd_string": [
        (1, "hipLaunchKernel"), (2, "MEMORY_COPY_HOST_TO_DEVICE"), (3, "HIP_RUNTIME_API_EXT"),
        (4, "MARKER_CORE_API"), (5, "roctxMarkA"),
    ],
    "rocpd_info_node": [(1, "node")],
    "rocpd_info_process": [(4242, 1, 4242, "/usr/bin/python train.py", '{"API_TOKEN": "hunter2"}')],
    "rocpd_info_thread": [(77, 77)],
    "rocpd_info_agent": [(0, "CPU", 0, "EPYC"), (2, "GPU", 2, "gfx950")],
    "rocpd_info_queue": [(1, "Queue 1")],
    "rocpd_info_kernel_symbol": [(9, "_Z4gemmPfi.kd", "gemm(float*, int)", 124, 0)],
    "rocpd_event": [(1, 3, 11, "{}"), (2, 3, 11, "{}"), (3, 4, 0, '{"message": "step 1"}')],
    "rocpd_region": [(1, 4242, 77, 1_000, 1_400, 1, 1), (2, 4242, 77, 1_500, 1_500, 5, 3)],
    "rocpd_kernel_dispatch": [
        (1, 4242, 77, 2, 9, 1, 1, 0, 2_000, 5_000, 0, 512, 256, 1, 1, 512, 2, 1, 2)
    ],
    "rocpd_memory_copy": [(1, 4242, 500, 900, 2, 2, 0, 4096, 0, None)],
    "rocpd_memory_allocate": [(1, 4242, 2, "ALLOC", "REAL", 100, 200, 65_536, None)],
}  # fmt: skip


def kineto(events: Sequence[dict[str, Any]], **header: Any) -> dict[str, Any]:
    """A trace of PyTorch's profiler."""
    return {"schemaVersion": 1, "deviceProperties": [], **header, "traceEvents": list(events)}


def complete(name: str, category: str, ts: object, dur: object, **more: Any) -> dict[str, Any]:
    """An event with a begin and a length, in microseconds."""
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": 4242,
        "tid": 77,
        "ts": ts,
        "dur": dur,
        **more,
    }


def write_json(path: Path, document: object) -> Path:
    path.write_text(json.dumps(document))
    return path


def recording(
    path: Path,
    *,
    launches: Sequence[tuple[int, int]],
    host: str = "node",
    pid: int = 4242,
    boot_ns: int = 0,
    mangled: str = "_Z4gemmPfiN6ktrace4sinkE",
    hardware: bool = True,
    main: Sequence[Any] = (),
) -> Path:
    """A recording of launches that begin and end at these nanoseconds after HOST_EPOCH_NS.

    Args:
        path: the file.
        launches: multiples of 10: the reference clock has 100 MHz.
        host: name of the host.
        pid: process id.
        boot_ns: how much later than HOST_EPOCH_NS after 1970 the host booted.
        mangled: the kernel's name.
        hardware: else on the software device, which has no calendar.
        main: words of each wave.
    """
    builder = RecordingBuilder(empty=True)
    builder.add_process(
        pid=pid if hardware else 0,
        strings=(host, "/home/user", "/usr/bin/app", "app"),
        boottime_ns=HOST_EPOCH_NS,
        monotonic_ns=HOST_EPOCH_NS if hardware else 0,
        realtime_ns=2 * HOST_EPOCH_NS + boot_ns if hardware else 0,
    )
    builder.add_device(flags=0 if hardware else 1)
    events = [
        EventSource(id_, name, kind, lane=lane, unit_key=UNIT_KEY)
        for id_, name, kind, lane in EVENTS
    ]
    image = make_code_object([KernelSource(mangled, unit_key=UNIT_KEY)], events, [])
    kernel = builder.add_kernel(
        mangled, code_object=builder.add_code_object(image), unit_key=UNIT_KEY
    )
    for tick in (0, 10_000_000):
        builder.add_clock(realtime=tick)
    for begin, end in launches:
        wave = Wave(begin=begin * 21 // 10, end=end * 21 // 10, main=main)
        builder.add_dispatch(kernel, [wave])
    return builder.write(path)


def rocprofv3_beside(path: Path, folder: Path) -> None:
    """Write what rocprofv3 might have written of a recording's run: its kernels and another one."""
    timeline = build_timeline(read_recording(path))
    kernels, calls = [], []
    for row, one in enumerate(timeline.dispatches):
        begin, end, launched = (int(one[name]) for name in ("begin_ns", "end_ns", "launched_ns"))
        signature = timeline.kernels[int(one["kernel"])].name.replace(")", ", ktrace::sink)")
        fill = ('fill<"zero">(float*)', begin - 3_000, begin - 400)
        for number, (name, first, last) in enumerate([fill, (signature, begin - 100, end + 120)]):
            correlation = 2 * row + number + 1
            kernels.append(kernel_row(name, first, last, correlation=correlation))
            call_at = launched - 2_000 + 1_500 * number
            calls.append(("HIP_RUNTIME_API_EXT", "hipModuleLaunchKernel", 0, 77, correlation,
                          call_at, call_at + 900))  # fmt: skip
    folder.mkdir()
    (folder / "4242_kernel_trace.csv").write_text(kernel_csv(kernels))
    (folder / "4242_hip_api_trace.csv").write_text(call_csv(calls))
    (folder / "4242_agent_info.csv").write_text(agent_csv())
