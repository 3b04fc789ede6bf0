"""Damaged bundles: what can be read is read, and what cannot is counted and said."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ktrace_cli.att.code_table import read_code
from ktrace_cli.att.document import to_document
from ktrace_cli.att.faults import _WORDS, Faults, sentences
from ktrace_cli.att.hotspots import Request, analyse
from ktrace_cli.att.report import Style, write_report
from ktrace_cli.att.results import Hotspots
from ktrace_cli.errors import KtraceError
from support.att import KERNEL_TRACE, AttBundle, Step

many = settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A bundle of two waves of two instructions: 4 and 100 cycles of stall."""
    bundle = AttBundle()
    load = bundle.add("global_load_dword v1, v[2:3], off", "/a/k.py:7")
    wait = bundle.add("s_waitcnt vmcnt(0)", "/a/k.py:8")
    bundle.add("s_endpgm", "/a/k.py:9")
    for simd in (0, 1):
        bundle.run([Step(load, 4), Step(wait, 100, on=[load])], simd=simd)
    return bundle.write(tmp_path / "ui_output_agent_1_dispatch_2")


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def read(folder: Path) -> Hotspots:
    return analyse(Request(folder))


def error(folder: Path) -> tuple[str, str]:
    with pytest.raises(KtraceError) as caught:
        read(folder)
    return caught.value.what, caught.value.why


def test_quotes_that_are_not_escaped_are_repaired(folder: Path) -> None:
    change(folder / "code.json", "/a/k.py:8", '/a "b", \\c/k.py:8')

    found = read(folder)

    assert found.faults == {"unescaped_rows": 1}
    assert [(row.frame.path, row.sums.stall) for row in found.by_source] == [
        ('/a "b", \\c/k.py', 200),
        ("/a/k.py", 8),
    ]
    assert found.fault_sentences == ("code.json: 1 row with a quote that is not escaped, repaired",)


def test_a_code_json_that_is_cut_off_is_read_up_to_there(folder: Path) -> None:
    path = folder / "code.json"
    text = path.read_text()
    path.write_text(text[: text.index("s_endpgm") + 3])

    found = read(folder)

    assert (found.totals.stall, found.faults) == (208, {"torn_code": 1})


def test_a_row_that_cannot_be_read_keeps_its_place(folder: Path) -> None:
    change(folder / "code.json", '["global_load_dword v1, v[2:3], off"', '["global", {{')

    found = read(folder)

    assert found.faults == {"lost_rows": 1}
    assert [(row.row, row.sums.stall) for row in found.by_instruction] == [(2, 200)]
    assert "stall: 208 in wave files, 200 in code.json" in found.quality


def test_a_wave_file_that_is_cut_off_is_read_up_to_there(folder: Path) -> None:
    path = folder / "se0_sm1_sl0_wv1.json"
    text = path.read_text()
    path.write_text(text[: text.index("],", text.index('"instructions":[[')) + 4])

    found = read(folder)

    assert found.faults == {"torn_waves": 1}
    assert [row.instructions for row in found.simds] == [2, 1]
    assert found.quality


def test_missing_unlisted_and_empty_wave_files_are_counted(folder: Path) -> None:
    (folder / "se0_sm1_sl0_wv1.json").rename(folder / "se0_sm1_sl0_wv9.json")
    (folder / "se0_sm0_sl0_wv0.json").write_text("")

    found = read(folder)

    assert found.faults == {"missing_waves": 1, "unlisted_waves": 1, "unreadable_waves": 1}
    assert [row.place for row in found.simds] == [(0, 1, 1)]


def test_without_wave_files_the_code_still_tells(folder: Path) -> None:
    for path in folder.glob("se*.json"):
        path.unlink()

    found = read(folder)

    assert (found.totals.stall, found.waves, found.simds, found.waits) == (208, None, (), ())
    assert found.quality == ("no wave file: nothing to compare code.json with",)


def test_malformed_instructions_and_waits_are_left_out(folder: Path) -> None:
    path = folder / "se0_sm0_sl0_wv0.json"
    document = json.loads(path.read_text())
    document["wave"]["instructions"] += [[1], ["x", 0, 0, 0, 1], [2_000, 0, 0, 4, 99], None]
    document["wave"]["waitcnt"] += [[1], [2, [[99, 0]]]]
    path.write_text(json.dumps(document))

    found = read(folder)

    assert found.faults == {"bad_instructions": 4, "bad_waits": 2}
    assert found.simds[0].instructions == 2


def test_a_newer_code_json_is_read_by_its_header(tmp_path: Path) -> None:
    row = ["VMEM", "s_waitcnt vmcnt(0)", 0, 1, "/k.py:1", 4, 4096, 8, 100, 90, 3, 8, 5, [1, 2]]
    header = ("ServiceType, ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle,"
              " Issued, Stalled, NotIssuedReasons")  # fmt: skip
    path = tmp_path / "code.json"
    path.write_text(json.dumps({"code": [row], "header": header, "version": "3.1.0"}))

    table = read_code(path, Faults())

    assert (table.text, table.source) == (["s_waitcnt vmcnt(0)"], ["/k.py:1"])
    assert [int(c[0]) for c in (table.hit, table.latency, table.stall, table.idle)] == [
        8,
        100,
        90,
        3,
    ]


def test_numbers_that_are_none_count_as_nothing(folder: Path) -> None:
    document = json.loads((folder / "code.json").read_text())
    document["code"][3][6:] = [-1, None, "7", 1 << 70]
    (folder / "code.json").write_text(json.dumps(document))

    assert read(folder).faults == {"bad_numbers": 4}


def test_nothing_decoded_is_said(folder: Path) -> None:
    (folder / "code.json").write_text('{"code":null,"version":"3.0.0"}')

    assert error(folder) == (
        f"{folder}/code.json holds no instructions",
        "`code` is null: rocprofv3 decoded no instruction of any wave",
    )


def test_nothing_executed_is_said(tmp_path: Path) -> None:
    bundle = AttBundle()
    bundle.add("s_endpgm")
    folder = bundle.write(tmp_path / "ui_output_agent_1_dispatch_2")

    what, why = error(folder)

    assert what == f"{folder} holds no executed instruction"
    assert why.startswith("all 1 instructions of code.json have Hit 0:")


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"code":7}', '{"code":"x"}', "nonsense"])
def test_what_is_no_code_json_is_said(folder: Path, text: str) -> None:
    (folder / "code.json").write_text(text)

    what, why = error(folder)

    assert what == f"cannot read {folder}/code.json"
    assert why


def test_every_fault_has_words_in_both_numbers() -> None:
    faults = Faults(dict.fromkeys(_WORDS, 1))

    assert len(set(sentences(faults))) == len(_WORDS)
    assert not [text for text in sentences(Faults(dict.fromkeys(_WORDS, 2))) if "{}" in text]


def try_to_read(folder: Path) -> None:
    """Read: all that is wrong is counted, or it is an error in words."""
    with suppress(KtraceError):
        found = read(folder)
        assert len(found.fault_sentences) == len(found.faults)
        assert orjson.dumps(to_document(found))
        assert write_report(found, Style(has_details=True))


FILES = ("code.json", "filenames.json", "occupancy.json", "snapshots.json", "se0_sm0_sl0_wv0.json")


@many
@given(data=st.data(), name=st.sampled_from(FILES))
def test_any_cut_or_flipped_byte_is_no_traceback(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, name: str
) -> None:
    folder = _fresh(tmp_path_factory)
    content = bytearray((folder / name).read_bytes())
    for _ in range(data.draw(st.integers(0, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    (folder / name).write_bytes(content[: data.draw(st.integers(0, len(content)))])

    try_to_read(folder)


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


@many
@given(data=st.data(), name=st.sampled_from(FILES), value=values)
def test_any_value_anywhere_is_no_traceback(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, name: str, value: Any
) -> None:
    folder = _fresh(tmp_path_factory)
    document = json.loads((folder / name).read_text())
    put(document, value, data)
    (folder / name).write_text(json.dumps(document))

    try_to_read(folder)


TOOL = {
    "agents": [{"type": 2, "name": "gfx942", "id": {"handle": 1}}],
    "kernel_symbols": [{"kernel_id": 5, "kernel_name": "kernel.kd", "arch_vgpr_count": 8}],
    "buffer_records": {
        "kernel_dispatch": [
            {
                "dispatch_info": {
                    "dispatch_id": 2,
                    "kernel_id": 5,
                    "group_segment_size": 64,
                    "workgroup_size": {"x": 64, "y": 1, "z": 1},
                }
            }
        ]
    },
}


@many
@given(data=st.data(), value=values)
def test_any_value_in_files_beside_is_no_traceback(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, value: Any
) -> None:
    folder = _fresh(tmp_path_factory)
    document = json.loads(json.dumps({"rocprofiler-sdk-tool": [TOOL]}))
    put(document, value, data)
    (folder.parent / "1_results.json").write_text(json.dumps(document))
    text = data.draw(st.text(max_size=60))
    (folder.parent / "1_agent_info.csv").write_text(f"Agent_Type,Name\nGPU,{text}\n")
    table = KERNEL_TRACE + data.draw(st.text(max_size=40)) + ",2,8,kernel,1" + text
    (folder.parent / "1_kernel_trace.csv").write_text(table)

    try_to_read(folder)


def put(document: Any, value: Any, data: st.DataObject) -> None:
    """Put a value anywhere into a document."""
    place, key = document, data.draw(st.sampled_from(sorted(document)))
    while isinstance(place[key], (dict, list)) and place[key] and data.draw(st.booleans()):
        place = place[key]
        keys = sorted(place) if isinstance(place, dict) else range(len(place))
        key = data.draw(st.sampled_from(list(keys)))
    place[key] = value


def _fresh(factory: pytest.TempPathFactory) -> Path:
    bundle = AttBundle()
    rows = [
        bundle.add("v_mfma_f32_32x32x8_f16 v[0:15], v[16:17], v[18:19], v[0:15]", "/k.py:1"),
        bundle.add("s_nop 3"),
        bundle.add("s_waitcnt lgkmcnt(0)", "/h.py:3 -> /k.py:2"),
    ]
    bundle.sources = {"/k.py": "@jit\nx\n"}
    bundle.run([Step(rows[0], 1), Step(rows[1], 2, gap=3), Step(rows[2], 4, on=[rows[0]])])
    return bundle.write(factory.mktemp("fuzz") / "ui_output_agent_1_dispatch_2")


def test_a_large_wave_file_is_read_as_numbers(folder: Path) -> None:
    path = folder / "se0_sm0_sl0_wv0.json"
    document = json.loads(path.read_text())
    rows = np.array(document["wave"]["instructions"])
    document["wave"]["instructions"] = np.tile(rows, (50_000, 1)).tolist()
    path.write_text(json.dumps(document))  # with blanks after commas

    assert read(folder).simds[0].instructions == 100_000
