"""Parquet: the CSV's columns, typed."""

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from ktrace_cli.errors import KtraceError
from ktrace_cli.export.parquet import write_parquet
from ktrace_cli.export.records import Written
from ktrace_cli.model import Timeline
from support.recording import Wave
from support.tables import NAMES, VALUES, Taken, renamed, small, with_payload
from support.timelines import build, builder, decode
from support.words import Value, f64, u64


def table(timeline: Timeline) -> Any:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    out = Taken()
    write_parquet(timeline, out)
    return parquet.read_table(pyarrow.BufferReader(out.content))


def test_a_row_has_all_that_is_known_of_a_slice_or_mark(tmp_path: Path) -> None:
    found = table(small(tmp_path))

    columns = ("wave", "kind", "name", "lane", "depth", "begin_ns", "dur_ns", "begin_ticks")
    columns += ("ticks", "flags", "value", "values")
    rows = [tuple(row[name] for name in columns) for row in found.to_pylist()]
    zero = 1_700_000_000_000_009_800
    assert rows == [
        (0, "push", "outer", "", 0, zero + 1000, 7000, 2100, 14700, "", -7.0, ["-7", "true"]),
        (0, "range", "tile", "", 1, zero + 2000, 1000, 4200, 2100, "", None, []),
        (0, "start", "load", "vmem", 0, zero + 3000, 3000, 6300, 6300, "", None, []),
        (0, "start", "load", "vmem 2", 0, zero + 4000, 3000, 8400, 6300, "", None, []),
        (0, "mark", "published", None, None, zero + 5000, 0, 10500, 0, "", 0.1, ["0.1"]),
        (1, "range", "fetch", "vmem", 0, zero + 1000, 1, 2100, 2, "", None, []),
        (1, "start", "store", "store", 0, zero + 2000, 0, 4200, 0, "unclosed", None, []),
    ]
    assert {row["kernel"] for row in found.to_pylist()} == {"gemm(float*, int)"}
    assert {row["role"] for row in found.to_pylist()} == {None}


def test_columns_are_those_of_the_csv_with_their_types(tmp_path: Path) -> None:
    schema = table(small(tmp_path)).schema

    text = "dictionary<values=string, indices=int32, ordered=0>"
    assert {name: str(schema.field(name).type) for name in schema.names} == {
        "dispatch": "uint64", "device": "int32", "stream": "uint64", "kernel": text,
        "block_x": "uint32", "block_y": "uint32", "block_z": "uint32", "wave": "uint32",
        "role": text, "xcc": "uint16", "se": "uint16", "cu": "uint16", "simd": "uint16",
        "slot": "uint16", "wave_begin_ns": "int64", "wave_dur_ns": "int64", "kind": text,
        "name": text, "lane": text, "depth": "uint16", "begin_ns": "int64", "dur_ns": "int64",
        "begin_ticks": "int64", "ticks": "int64", "flags": text, "value": "double",
        "values": "list<element: string>",
    }  # fmt: skip


def test_payloads_that_no_double_holds_are_exact_as_text(tmp_path: Path) -> None:
    (row,) = table(with_payload([u64((1 << 64) - 1), f64(float("inf"))], tmp_path)).to_pylist()

    assert row["values"] == ["18446744073709551615", "inf"]
    assert row["value"] == 18446744073709551616.0


def test_a_recording_without_slices_is_an_empty_table(tmp_path: Path) -> None:
    recording, _ = builder()

    assert table(build(recording, tmp_path)).num_rows == 0
    assert table(decode([Wave()], tmp_path)).num_rows == 0


def test_without_pyarrow_the_error_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(KtraceError) as problem:
        write_parquet(small(tmp_path), Taken())

    assert problem.value.what == "cannot write Parquet"
    assert problem.value.why.startswith("it needs pyarrow (")
    assert problem.value.fix == "pip install 'ktrace[parquet]'"


def test_what_was_written_is_counted(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")

    assert write_parquet(small(tmp_path), Taken()) == Written(slices=6, instants=1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(name=NAMES, value=VALUES)
def test_any_name_and_payload_reads_back(name: str, value: Value, tmp_path: Path) -> None:
    (row,) = table(renamed(with_payload([value], tmp_path), name)).to_pylist()

    assert (row["name"], row["kernel"]) == (name, f"{name}0")
    assert len(row["values"]) == 1
