"""rocprofv3's databases."""

import sqlite3
from pathlib import Path

import pytest

from ktrace_cli.errors import KtraceError
from ktrace_cli.importers.host_trace import HostProcess
from ktrace_cli.importers.rocpd import read_rocpd
from support.host_traces import SMALL_ROCPD, arrows, make_rocpd, named_slices, told


def test_everything_of_a_database_is_shown(tmp_path: Path) -> None:
    trace = read_rocpd(make_rocpd(tmp_path / "x.db", SMALL_ROCPD))

    assert named_slices(trace) == [
        ("ALLOC", "memory allocations", 100, 200),
        ("HOST_TO_DEVICE", "copies", 500, 900),
        ("hipLaunchKernel", "thread 77", 1_000, 1_400),
        ("step 1", "thread 77", 1_500, 1_500),
        ("gemm(float*, int)", "queue 1", 2_000, 5_000),
    ]
    assert arrows(trace) == [("hipLaunchKernel", "gemm(float*, int)")]
    assert trace.processes == (HostProcess(4242, "python", "node"),)
    assert told(trace, "bytes") == {1: 4096}
    assert told(trace, "VGPR_Count") == {4: 248}
    assert trace.repairs.counted() == {"doubled_registers": 1}


def test_the_environment_is_not_copied(tmp_path: Path) -> None:
    path = make_rocpd(tmp_path / "x.db", SMALL_ROCPD)
    assert b"hunter2" in path.read_bytes()

    assert "hunter2" not in repr(read_rocpd(path))


def test_a_kernel_without_event_symbol_and_agent_is_kept(tmp_path: Path) -> None:
    """The views of rocpd leave such rows out."""
    rows = {
        **SMALL_ROCPD,
        "rocpd_event": [],
        "rocpd_info_kernel_symbol": [],
        "rocpd_info_agent": [],
    }

    trace = read_rocpd(make_rocpd(tmp_path / "x.db", rows))

    assert ("kernel 9", "queue 1", 2_000, 5_000) in named_slices(trace)
    assert trace.repairs.counted() == {"unknown_devices": 1, "unknown_names": 1}


def test_tables_are_found_without_their_views(tmp_path: Path) -> None:
    path = make_rocpd(tmp_path / "x.db", SMALL_ROCPD)
    with sqlite3.connect(path) as connection:
        for (view,) in connection.execute(
            "select name from sqlite_master where type = 'view'"
        ).fetchall():
            connection.execute(f'drop view "{view}"')
    connection.close()

    trace = read_rocpd(path)

    assert len(trace.slices) == 5
    assert arrows(trace) == [("hipLaunchKernel", "gemm(float*, int)")]


def test_equal_ids_of_two_processes_are_kept_apart(tmp_path: Path) -> None:
    path = make_rocpd(tmp_path / "x.db", SMALL_ROCPD)
    with sqlite3.connect(path) as connection:
        names = connection.execute("select name from sqlite_master where type = 'table'").fetchall()
        for (table,) in names:
            columns = [row[1] for row in connection.execute(f'pragma table_info("{table}")')]
            if "guid" not in columns:
                continue
            chosen = ", ".join("'other'" if c == "guid" else f'"{c}"' for c in columns)
            connection.execute(f'insert into "{table}" select {chosen} from "{table}"')
        connection.execute(
            'update "rocpd_info_process_0197aaaa_bbbb_7ccc_8ddd_eeeeffff0001" set pid = 4243'
            " where guid = 'other'"
        )
    connection.close()

    trace = read_rocpd(path)

    assert [process.pid for process in trace.processes] == [4242, 4243]
    assert arrows(trace) == [("hipLaunchKernel", "gemm(float*, int)")] * 2
    own = [trace.tracks[trace.slices["track"][row]].process for pair in trace.flows for row in pair]
    assert own in ([0, 0, 1, 1], [1, 1, 0, 0])


def test_another_version_of_the_schema_is_said(tmp_path: Path) -> None:
    trace = read_rocpd(make_rocpd(tmp_path / "x.db", SMALL_ROCPD, version="4"))

    assert trace.notes == ("its schema is version 4; it is read as version 3",)


@pytest.mark.parametrize(
    ("tables", "why"),
    [
        (["rocpd_api", "rocpd_op", "rocpd_string"], "made by rocmProfileData (schema 2)"),
        (["compute_dispatch"], "made by rocprof-compute"),
        (
            ["people", "places"],
            "it has no table rocpd_kernel_dispatch; its tables are: people, places",
        ),
        ([], "its tables are: none"),
    ],
)
def test_another_database_is_an_error_that_says_what_it_is(
    tmp_path: Path, tables: list[str], why: str
) -> None:
    path = tmp_path / "x.db"
    with sqlite3.connect(path) as connection:
        connection.execute("pragma user_version = 1")
        for table in tables:
            connection.execute(f"create table {table} (id)")
    connection.close()

    with pytest.raises(KtraceError, match="is no rocpd database") as problem:
        read_rocpd(path)

    assert why in problem.value.why


def test_a_damaged_database_is_an_error(tmp_path: Path) -> None:
    path = make_rocpd(tmp_path / "x.db", SMALL_ROCPD)
    data = bytearray(path.read_bytes())
    data[100:4096] = b"\xa5" * 3996
    path.write_bytes(data)

    with pytest.raises(KtraceError, match="cannot read"):
        read_rocpd(path)


def test_rows_in_the_log_of_a_database_that_was_not_closed_are_read(tmp_path: Path) -> None:
    path = make_rocpd(tmp_path / "x.db", SMALL_ROCPD)
    writer = sqlite3.connect(path)
    writer.execute("pragma journal_mode = wal")
    writer.execute(
        'update "rocpd_region_0197aaaa_bbbb_7ccc_8ddd_eeeeffff0001" set "start" = 1200'
        ' where "start" = 1000'
    )
    writer.commit()

    trace = read_rocpd(path)
    writer.close()

    assert ("hipLaunchKernel", "thread 77", 1_200, 1_400) in named_slices(trace)


def test_bytes_that_are_no_utf8_are_counted(tmp_path: Path) -> None:
    path = make_rocpd(tmp_path / "x.db", SMALL_ROCPD)
    with sqlite3.connect(path) as connection:
        connection.execute(
            'update "rocpd_info_kernel_symbol_0197aaaa_bbbb_7ccc_8ddd_eeeeffff0001"'
            " set display_name = cast(x'67ff' as text)"
        )
    connection.close()

    trace = read_rocpd(path)

    assert "g\N{REPLACEMENT CHARACTER}" in trace.strings
    assert trace.repairs.invalid_utf8 == 1


def test_nothing_is_written_beside_a_database(tmp_path: Path) -> None:
    path = make_rocpd(tmp_path / "x y?.db", SMALL_ROCPD)
    before = path.read_bytes()

    read_rocpd(path)

    assert [other.name for other in tmp_path.iterdir()] == ["x y?.db"]
    assert path.read_bytes() == before
