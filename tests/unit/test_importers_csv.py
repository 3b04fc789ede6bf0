"""rocprofv3's CSV files, with what is wrong in them."""

from collections import Counter
from pathlib import Path

from ktrace_cli.importers.csv_table import read_table
from ktrace_cli.importers.host_trace import Clock, HostProcess, HostTrace, HostTrack
from ktrace_cli.importers.rocprofv3_csv import read_rocprofv3_csv
from support.host_traces import (
    ALLOCATION_COLUMNS,
    COPY_COLUMNS,
    agent_csv,
    arrows,
    call_csv,
    csv_text,
    kernel_csv,
    kernel_row,
    named_slices,
    told,
)


def read(folder: Path, **texts: str) -> HostTrace:
    paths = []
    for name, text in texts.items():
        paths.append(folder / f"4242_{name}.csv")
        paths[-1].write_text(text)
    return read_rocprofv3_csv(paths)


def test_kernels_are_on_the_track_of_their_queue(tmp_path: Path) -> None:
    rows = [
        kernel_row("gemm(float*, int)", 1_000, 2_000, queue=1),
        kernel_row("saxpy.kd", 3_000, 4_000, queue=2),
    ]

    trace = read(tmp_path, kernel_trace=kernel_csv(rows))

    assert trace.clock is Clock.BOOTTIME
    assert named_slices(trace) == [
        ("gemm(float*, int)", "queue 1", 1_000, 2_000),
        ("saxpy", "queue 2", 3_000, 4_000),
    ]
    assert [track.device for track in trace.tracks] == ["agent 2", "agent 2"]
    assert told(trace, "Grid_Size_X") == {0: 512, 1: 512}


def test_calls_point_at_the_kernels_and_copies_that_they_launched(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        kernel_trace=kernel_csv([kernel_row("gemm", 2_000, 3_000, correlation=8)]),
        memory_copy_trace=csv_text(
            COPY_COLUMNS,
            [
                ("MEMORY_COPY", "MEMORY_COPY_HOST_TO_DEVICE", 0, "Agent 0", "Agent 2", 7, 600, 900),
                ("MEMORY_COPY", "MEMORY_COPY_DEVICE_TO_HOST", 0, "Agent 2", "Agent 0", 9, 4_000, 5),
            ],
        ),
        hip_api_trace=call_csv(
            [
                ("HIP_RUNTIME_API_EXT", "hipMemcpy", 4242, 77, 7, 500, 1_000),
                ("HIP_RUNTIME_API_EXT", "hipLaunchKernel", 4242, 77, 8, 1_200, 1_300),
                ("MARKER_CORE_API", "step, 1", 4242, 77, 9, 1_400, 1_500),
            ]
        ),
    )

    assert arrows(trace) == [("hipMemcpy", "HOST_TO_DEVICE"), ("hipLaunchKernel", "gemm")]
    assert trace.processes == (HostProcess(4242, ""),)
    assert HostTrack(0, "thread 77", thread=77) in trace.tracks
    assert [track.device for track in trace.tracks if track.name == "copies"] == ["agent 2"]
    assert trace.repairs.counted() == {"swapped_times": 1, "unknown_devices": 1}


def test_quotes_in_a_kernels_name_are_kept_and_counted(tmp_path: Path) -> None:
    rows = [
        kernel_row('jit<"a", 1>(int)', 1_000, 2_000),
        kernel_row("plain, with a comma", 3_000, 4_000),
    ]

    trace = read(tmp_path, kernel_trace=kernel_csv(rows))

    assert [trace.name_of(0), trace.name_of(1)] == ['jit<"a", 1>(int)', "plain, with a comma"]
    assert told(trace, "Dispatch_Id") == {0: 1, 1: 1}
    assert trace.repairs.unescaped_quotes == 1


def test_quotes_that_are_escaped_are_no_fault(tmp_path: Path) -> None:
    trace = read(tmp_path, kernel_trace=kernel_csv([kernel_row('jit<""a"">', 1, 2)]))

    assert trace.name_of(0) == 'jit<"a">'
    assert trace.repairs.unescaped_quotes == 0


def test_bytes_that_are_no_utf8_are_shown_as_such_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "kernel_trace.csv"
    text = kernel_csv([kernel_row("bad?name?", 1, 2), kernel_row("good", 3, 4)])
    path.write_bytes(text.encode().replace(b"?", b"\xff"))

    trace = read_rocprofv3_csv([path])

    assert trace.name_of(0) == "bad�name�"
    assert trace.repairs.invalid_utf8 == 2


def test_a_message_of_several_lines_is_one_name(tmp_path: Path) -> None:
    calls = [
        ("MARKER_CORE_API", "epoch 1\nloss, 0.5\nend", 4242, 77, 1, 100, 200),
        ("MARKER_CORE_API", "epoch 2", 4242, 77, 2, 300, 400),
    ]

    trace = read(tmp_path, marker_api_trace=call_csv(calls))

    assert [name for name, *_ in named_slices(trace)] == ["epoch 1\nloss, 0.5\nend", "epoch 2"]
    assert trace.repairs.counted() == {}


def test_rows_that_are_none_are_counted_and_left_out(tmp_path: Path) -> None:
    text = kernel_csv(
        [
            kernel_row("early", 1_000, 2_000),
            kernel_row("timeless", "yesterday", 2_000),
            kernel_row("zero", 0, 0),
            kernel_row("backwards", 9_000, 8_000),
        ]
    )
    lines = text.splitlines()

    trace = read(tmp_path, kernel_trace="\n".join([*lines[:2], lines[2][:40], *lines[2:]]))

    assert named_slices(trace) == [
        ("early", "queue 1", 1_000, 2_000),
        ("backwards", "queue 1", 8_000, 9_000),
    ]
    assert trace.repairs.malformed_rows == 2
    assert trace.repairs.no_times == 1
    assert trace.repairs.swapped_times == 1


def test_columns_are_found_by_their_names(tmp_path: Path) -> None:
    """Databases that were converted have a GUID in front, older releases no stream."""
    columns = ("Guid", "Kernel_Name", "Agent_Id", "Queue_Id", "Start_Timestamp", "End_Timestamp")

    trace = read(tmp_path, kernels=csv_text(columns, [("0197", "gemm", 4, 3, 10, 20)]))

    assert named_slices(trace) == [("gemm", "queue 3", 10, 20)]
    assert trace.tracks[0].device == "agent 4"


def test_half_of_the_registers_of_gfx950_is_doubled(tmp_path: Path) -> None:
    rows = [kernel_row("gemm", 1, 2, vgpr=124)]

    trace = read(tmp_path, kernel_trace=kernel_csv(rows), agent_info=agent_csv("gfx950"))

    assert told(trace, "VGPR_Count") == {0: 248}
    assert told(trace, "VGPR_Count_in_file") == {0: 124}
    assert trace.tracks[0].device == "agent 2 · gfx950"
    assert trace.repairs.doubled_registers == 1


def test_registers_are_kept_where_accumulation_registers_are_counted(tmp_path: Path) -> None:
    """That is the release which counts them right."""
    rows = [kernel_row("gemm", 1, 2, vgpr=128, accum=128), kernel_row("saxpy", 3, 4, vgpr=16)]

    trace = read(tmp_path, kernel_trace=kernel_csv(rows), agent_info=agent_csv("gfx950"))

    assert told(trace, "VGPR_Count") == {0: 128, 1: 16}
    assert trace.repairs.doubled_registers == 0


def test_registers_of_other_targets_are_kept(tmp_path: Path) -> None:
    rows = [kernel_row("gemm", 1, 2, vgpr=124)]

    trace = read(tmp_path, kernel_trace=kernel_csv(rows), agent_info=agent_csv("gfx942"))

    assert told(trace, "VGPR_Count") == {0: 124}
    assert trace.repairs.counted() == {}


def test_a_missing_agent_table_is_said(tmp_path: Path) -> None:
    trace = read(tmp_path, kernel_trace=kernel_csv([kernel_row("gemm", 1, 2)]))

    assert trace.repairs.sentences() == [
        "1 row names a device that no agent table tells of: its registers are shown as they are"
    ]


def test_agents_may_be_counted_by_their_kind(tmp_path: Path) -> None:
    """With `--agent-index type-relative` agent 0 is the first GPU, and a CPU in the table."""
    rows = [kernel_row("gemm", 1, 2, agent="Agent 0")]

    trace = read(tmp_path, kernel_trace=kernel_csv(rows), agent_info=agent_csv("gfx942"))

    assert trace.tracks[0].device == "agent 2 · gfx942"


def test_a_field_of_any_size_is_read(tmp_path: Path) -> None:
    name = "gemm<" + "a, " * 60_000 + ">"

    trace = read(tmp_path, kernel_trace=kernel_csv([kernel_row(name, 1, 2)]))

    assert trace.name_of(0) == name


def test_copies_with_a_field_that_csv_cannot_hold_are_counted(tmp_path: Path) -> None:
    rows = [("x" * 140_000, "MEMORY_COPY_HOST_TO_DEVICE", 0, "Agent 0", "Agent 2", 7, 600, 900)]

    trace = read(tmp_path, memory_copy_trace=csv_text(COPY_COLUMNS, rows))

    assert trace.repairs.counted() == {"malformed_rows": 1}


def test_allocations_are_on_a_track_of_their_device(tmp_path: Path) -> None:
    rows = [("MEMORY_ALLOCATION", "ALLOCATE", "Agent 2", 4096, "0x7f00", 3, 10, 20)]

    trace = read(tmp_path, memory_allocation_trace=csv_text(ALLOCATION_COLUMNS, rows))

    assert named_slices(trace) == [("ALLOCATE", "memory allocations", 10, 20)]
    assert told(trace, "Allocation_Size") == {0: 4096}


def test_a_file_of_windows_is_read_as_any_other(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    text = kernel_csv([kernel_row("gemm", 1, 2)]).replace("\n", "\r\n")
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())

    table = read_table(path, Counter())

    assert table.columns["Kernel_Name"] == ["gemm"]
    assert table.columns["Grid_Size_Z"] == ["1"]
