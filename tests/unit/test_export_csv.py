"""CSV: a line for each slice and mark."""

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from ktrace_cli.export.csv import write_csv
from ktrace_cli.export.records import Written
from ktrace_cli.model import Timeline
from ktrace_cli.timeline.cycles import in_cycles
from support.tables import NAMES, VALUES, Taken, renamed, small, with_payload
from support.words import Value, boolean, f32, f64, i64, u64

HEAD = (
    "dispatch,device,stream,kernel,block_x,block_y,block_z,wave,role,xcc,se,cu,simd,slot,"
    "wave_begin_ns,wave_dur_ns,kind,name,lane,depth,begin_ns,dur_ns,begin_ticks,ticks,flags,values"
)
WAVE_0 = '1,0,0,"gemm(float*, int)",0,0,0,0,,0,0,0,0,0,1700000000000009800,1000000'
WAVE_1 = '1,0,0,"gemm(float*, int)",0,0,0,1,,0,0,0,0,0,1700000000000009800,1000000'


def csv_of(timeline: Timeline) -> str:
    out = Taken()
    write_csv(timeline, out)
    return out.text()


def rows(timeline: Timeline) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(csv_of(timeline), newline=""), strict=True))


def test_a_line_has_all_that_is_known_of_a_slice_or_mark(tmp_path: Path) -> None:
    assert csv_of(small(tmp_path)).split("\n") == [
        HEAD,
        f"{WAVE_0},push,outer,,0,1700000000000010800,7000,2100,14700,,-7;true",
        f"{WAVE_0},range,tile,,1,1700000000000011800,1000,4200,2100,,",
        f"{WAVE_0},start,load,vmem,0,1700000000000012800,3000,6300,6300,,",
        f"{WAVE_0},start,load,vmem 2,0,1700000000000013800,3000,8400,6300,,",
        f"{WAVE_0},mark,published,,,1700000000000014800,0,10500,0,,0.1",
        f"{WAVE_1},range,fetch,vmem,0,1700000000000010800,1,2100,2,,",
        f"{WAVE_1},start,store,store,0,1700000000000011800,0,4200,0,unclosed,",
        "",
    ]


def test_what_was_written_is_counted(tmp_path: Path) -> None:
    assert write_csv(small(tmp_path), Taken()) == Written(slices=6, instants=1)


def test_columns_in_cycles_are_named_so(tmp_path: Path) -> None:
    (outer, *_) = rows(in_cycles(small(tmp_path)))

    assert {name: value for name, value in outer.items() if name.endswith("_cycles")} == {
        "wave_begin_cycles": "0",
        "wave_dur_cycles": "2100000",
        "begin_cycles": "2100",
        "dur_cycles": "14700",
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (f64(float("nan")), "nan"),
        (f64(float("-inf")), "-inf"),
        (f64(-0.0), "-0.0"),
        (f64(1e300), "1e+300"),
        (f32(0.1), "0.1"),
        (u64(1 << 63), "9223372036854775808"),
        (i64(-(1 << 63)), "-9223372036854775808"),
        (boolean(False), "false"),
    ],
)
def test_a_payload_is_written_exactly(value: Value, text: str, tmp_path: Path) -> None:
    (row,) = rows(with_payload([value], tmp_path))

    assert row["values"] == text


@pytest.mark.parametrize(
    ("name", "field"),
    [("a,b", '"a,b"'), ('say "hi"', '"say ""hi"""'), ("a\nb", '"a\nb"'), ("a\rb", '"a\rb"')],
)
def test_names_are_quoted_where_they_must_be(name: str, field: str, tmp_path: Path) -> None:
    timeline = with_payload([], tmp_path)
    timeline = replace(timeline, events=tuple(replace(e, name=name) for e in timeline.events))

    assert f",push,{field},,0," in csv_of(timeline)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(name=NAMES, value=VALUES)
def test_any_name_and_payload_reads_back(name: str, value: Value, tmp_path: Path) -> None:
    (row,) = rows(renamed(with_payload([value], tmp_path), name))

    assert (row["name"], row["kernel"], row["depth"]) == (name, f"{name}0", "0")
    assert len(row) == 26
    assert row["values"]
