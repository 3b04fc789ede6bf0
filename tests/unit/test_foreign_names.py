"""Names of another tracer's events: JSON, FlyDSL's cache, its IR; nothing in a file is run."""

import json
import os
import pickle
import pickletools
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktrace_cli.errors import KtraceError, UsageError
from ktrace_cli.foreign.names_file import read_side_cars
from ktrace_cli.foreign.pickled import NotPlainError, dicts_in
from ktrace_cli.foreign.shape import Shape, parse_shape
from ktrace_cli.foreign.side_car import SideCar

IR = """module attributes {fly_ktrace.event_names = {k_tile = 2 : i32, "main loop" = 1 : i32},
  fly_ktrace.chip = "gfx942", fly_ktrace.partitions = 64 : i32} {}"""


class Artifact:
    """Stands for the object that FlyDSL caches."""

    def __init__(self, state: dict[str, Any]) -> None:
        self.state = state

    def __reduce__(self) -> Any:
        return object.__new__, (Artifact,), self.state


class Runs:
    """Makes a file when it is unpickled, if anybody lets it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def cached(names: dict[str, int], **state: Any) -> bytes:
    whole = {
        "ir_zlib": zlib.compress(IR.encode()),
        "entry": "gemm",
        "link_libs": [],
        "ktrace_names": names,
        "ktrace_buffer_config": 2_097_151,
        **state,
    }
    return pickle.dumps(Artifact(whole))


def read(tmp_path: Path, content: Any, name: str = "names.json") -> SideCar:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return read_side_cars([path])


@pytest.mark.parametrize("table", [{"load": 1, "mma": 2}, {"1": "load", "2": "mma"}])
def test_a_table_is_read_in_either_direction(tmp_path: Path, table: Any) -> None:
    assert read(tmp_path, table).names == {1: "load", 2: "mma"}


def test_a_phase_may_be_called_as_a_key_is(tmp_path: Path) -> None:
    assert read(tmp_path, {"names": 1, "kernel": 2}).names == {1: "names", 2: "kernel"}


def test_the_name_of_flydsls_file_names_the_kernel(tmp_path: Path) -> None:
    assert read(tmp_path, {"load": 1}, "gemm_ktrace.json").kernel == "gemm"


def test_a_document_tells_lanes_groups_edges_and_shape(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        {
            "kernel": "fa3",
            "id_to_name": {"0": "qk"},
            "lane_id_to_name": {"0": "main"},
            "group_id_to_name": {"0": "producer"},
            "flows": [["qk", "pv"]],
            "max_events": 768,
            "num_groups": 3,
            "blocks": [132, 2],
        },
    )

    assert (found.kernel, found.names, found.lanes) == ("fa3", {0: "qk"}, {0: "main"})
    assert (found.groups, found.edges) == ({0: "producer"}, (("qk", "pv"),))
    assert found.shape == Shape(grid=(132, 2), capacity=768, groups=3)


def test_quacks_summary_tells_names_and_shape(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        {
            "blocks": 132,
            "warps_per_block": 8,
            "per_warp_cap": 4096,
            "regions": [{"region": 0, "name": "load", "count": 3}],
        },
    )

    assert found.names == {0: "load"}
    assert found.shape == Shape(grid=(132,), warps=8, capacity=4096)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_cached_kernel_tells_names_kernel_target_and_size(tmp_path: Path, protocol: int) -> None:
    state = pickle.loads(pickle.dumps({"ktrace_names": {"load": 1, "mma": 2}}))
    assert dicts_in(pickle.dumps(state, protocol))[0] == {"ktrace_names": {"load": 1, "mma": 2}}

    found = read(tmp_path, cached({"load": 1, "mma": 2}), "a.pkl")

    assert found.names == {1: "load", 2: "mma"}
    assert (found.kernel, found.target) == ("gemm", "gfx942")
    assert found.shape.bytes == 64 << 20


def test_a_folder_stands_for_its_cached_kernels(tmp_path: Path) -> None:
    for name, names in (("a", {"load": 1}), ("b", {"store": 1, "mma": 2})):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.pkl").write_bytes(cached(names))

    found = read_side_cars([tmp_path])

    assert found.names == {1: "load", 2: "mma"}
    assert found.contradicting == 1


def test_ir_tells_names(tmp_path: Path) -> None:
    found = read(tmp_path, IR.encode(), "out.mlir")

    assert (found.names, found.target) == ({1: "main loop", 2: "k_tile"}, "gfx942")


def test_no_code_in_a_pickle_runs(tmp_path: Path) -> None:
    made = tmp_path / "made"

    found = read(tmp_path, cached({"load": 1}, link_libs=[Runs(made)]), "evil.pkl")

    assert found.names == {1: "load"}
    assert not made.exists()


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x04",
        b"\x80\x04K\x01.",
        b"\x80\x04cos\nsystem\n(S'touch /nowhere'\ntR.",
        b"\x80\x04r\xff\xff\xff\xff.",  # a memo of four thousand million places
        b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.",  # as many bytes
        b"\x80\x04h\x05.",  # a value that is not there
        b"\x80\x04" + b"(" * 100_000,
        b"\x80\x02\x8b\xff\xff\xff\x7f.",
        b"\x80\x04\x82\x01.",
    ],
)
def test_a_pickle_of_anything_else_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(KtraceError, match="names in"):
        read(tmp_path, content, "x.pkl")


@given(st.binary(max_size=300))
def test_any_bytes_are_a_pickle_or_are_refused(data: bytes) -> None:
    with suppress(NotPlainError):
        dicts_in(data)
    with suppress(NotPlainError):
        dicts_in(b"\x80\x04" + data)


@given(st.data())
def test_a_flipped_pickle_gives_names_or_is_refused(data: st.DataObject) -> None:
    content = bytearray(_CACHED)
    for at in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=8)):
        content[at] = data.draw(st.integers(0, 255))
    try:
        found = dicts_in(bytes(content))
    except NotPlainError:
        return
    assert isinstance(found, list)


_CACHED = cached({"load": 1})
assert pickletools.optimize(_CACHED)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"{", "it is no JSON"),
        ([1], "it is no JSON object"),
        ({"load": "x"}, "it is neither {name: id} nor {id: name}"),
        ({"load": -1}, "'load' has the id -1, not one of 0 to 16777215"),
        ({"names": {"a": 1}, "edges": ["a"]}, "`edges` is no list of pairs of names"),
        ({"names": [1]}, "`names` is no object"),
    ],
)
def test_what_is_no_table_of_names_is_refused(tmp_path: Path, content: Any, why: str) -> None:
    with pytest.raises(KtraceError) as refused:
        read(tmp_path, content)

    assert why in refused.value.why


def test_a_shape_is_read() -> None:
    assert parse_shape("blocks=132x2,warps=8,capacity=4096") == Shape((132, 2), 8, 4096)
    assert parse_shape("groups=2, clock=1.755GHz,bytes=64M") == Shape(
        groups=2, clock=1_755_000_000, bytes=64 << 20
    )


@pytest.mark.parametrize("text", ["x=1", "blocks", "blocks=0", "warps=a", "blocks=1x2x3x4",
                                  "clock=fast", "capacity=99999999999"])  # fmt: skip
def test_a_shape_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_shape(text)
