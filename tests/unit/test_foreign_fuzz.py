"""Whatever bytes a buffer holds, they are shown or counted, or refused with one clear error."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ktrace_cli.errors import KtraceError
from ktrace_cli.foreign.shape import Shape
from ktrace_cli.foreign.source import Source, Tool, find_tool, read_foreign
from ktrace_cli.model import NONE, Timeline
from support.foreign.flydsl_buffer import MARK, POP, PUSH, START, STOP, FlyWave, bare_buffer
from support.foreign.quack_buffer import QuackWarp, quack_buffer
from support.foreign.tileops_buffer import tileops_buffer
from support.foreign.trace_files import PerfettoFile, ProtonBlock, proton_json

T = 10**12


def fly_wave(number: int) -> FlyWave:
    wave = FlyWave((number, 0, 0)).event(T, PUSH, 1).event(T + 1, START, 2, (0, 9))
    wave.event(T + 2, MARK, 3, (3, 5)).event(T + 5, STOP, start=1)
    return wave.event(T + 7, POP).event(T + 9, MARK, 3)


def warp() -> QuackWarp:
    events = [(5_000_000 + 9 * at, at % 3, at % 2) for at in range(12)]
    return QuackWarp(events=events)


def tracks() -> bytes:
    file = PerfettoFile()
    for number in range(2):
        track = file.track(f"blk{number}_g1", file.process(f"SM_00{number}"))
        file.range(track, T, T + 9, "a", payload=3)
        file.mark(track, T + 12, "m")
    return file.trace.SerializeToString()


def proton() -> bytes:
    warps = {0: [("loop", 100, 900), ("mma", 150, 300)], 1: [("loop", 90, 950)]}
    blocks = [ProtonBlock(core, core, 5000 + core, warps) for core in range(2)]
    return json.dumps(proton_json([("gemm", blocks)])).encode()


CONTENTS = {
    Tool.FLYDSL: bare_buffer([fly_wave(number) for number in range(2)]),
    Tool.QUACK: quack_buffer(2, 2, 8, {(b, w): warp() for b in range(2) for w in range(2)}),
    Tool.TILEOPS: tileops_buffer(
        [[[(T, 0, 0, 0, 1), (T + 5, 0, 1, 0, 0), (T + 6, 1, 2, 1, 0)]] * 2] * 2, 8
    ),
    Tool.CHROME: proton(),
    Tool.PFTRACE: tracks(),
}
SHAPES = {
    Tool.FLYDSL: Shape(),
    Tool.QUACK: Shape(warps=2, capacity=8),
    Tool.TILEOPS: Shape(groups=2, capacity=8),
    Tool.CHROME: Shape(clock=2 * 10**9),
    Tool.PFTRACE: Shape(),
}
# Where the bytes are that say most: headers and the first events.
PLACES = {Tool.FLYDSL: 240, Tool.QUACK: 400, Tool.TILEOPS: 400}
PLACES |= {Tool.CHROME: len(proton()), Tool.PFTRACE: len(tracks())}
TOOLS = pytest.mark.parametrize("tool", list(CONTENTS))


def check(content: bytes, tool: Tool) -> Timeline | None:
    """Read a buffer; the rows must fit each other and nothing may be of no time."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "b.bin"
        path.write_bytes(content)
        source = Source(tool, (), SHAPES[tool])
        try:
            found = read_foreign(path, tool, source).timeline
            find_tool(path, Source())
        except KtraceError:
            return None
        slices, waves = found.slices, found.waves
        assert len(slices) == waves["slices"].sum()
        assert len(found.instants) == waves["instants"].sum()
        assert (slices["ns"] >= 0).all()
        assert (slices["ticks"] >= 0).all()
        begin = waves["begin_ticks"][slices["wave"]]
        assert (slices["begin_ticks"] >= begin).all()
        has_parent = slices["parent"] != NONE
        parents = slices[slices["parent"][has_parent]]
        assert (parents["wave"] == slices["wave"][has_parent]).all()
        assert (found.dispatches["waves"].sum()) == len(waves)
        assert all(count > 0 for count in found.losses.counted().values())
        assert found.losses.sentences() is not None
        return found


@TOOLS
def test_a_sound_buffer_lacks_nothing_but_names(tool: Tool) -> None:
    found = check(CONTENTS[tool], tool)

    assert found is not None
    lacks = set(found.losses.counted()) - {"overwritten_words", "overwritten_begins"}
    assert lacks <= {"unnamed_events", "unclosed_slices", "stray_ends"}


@TOOLS
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_flipped_bits_give_a_part_with_counts_or_one_error(tool: Tool, data: st.DataObject) -> None:
    content = bytearray(CONTENTS[tool])
    for at in data.draw(st.lists(st.integers(0, PLACES[tool] * 8 - 1), min_size=1, max_size=6)):
        content[at // 8] ^= 1 << at % 8
    check(bytes(content), tool)


@TOOLS
@settings(max_examples=25)
@given(size=st.integers(0, 700))
def test_a_cut_buffer_gives_a_part_with_counts_or_one_error(tool: Tool, size: int) -> None:
    check(CONTENTS[tool][:size], tool)


@TOOLS
@settings(max_examples=40)
@given(data=st.binary(max_size=2000), repeat=st.integers(1, 9))
def test_any_bytes_give_a_part_with_counts_or_one_error(
    tool: Tool, data: bytes, repeat: int
) -> None:
    check(data * repeat, tool)


ANYTHING = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4))
EVENTS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "ph": st.sampled_from(["X", "B", "E", "i", "M", "s", "f", "C"]) | ANYTHING,
            "ts": st.integers(-9, 99) | ANYTHING,
            "dur": st.integers(-9, 99) | ANYTHING,
            "name": st.sampled_from(["a", "b", "process_name", "thread_name"]) | ANYTHING,
            "pid": st.sampled_from(["gemm Core1 CTA2", "gemm Core0 CTA2", 0, 1]) | ANYTHING,
            "tid": st.sampled_from(["warp 1 (line 0)", 0, 32]) | ANYTHING,
            "cat": st.sampled_from(["gpu_kernel", "flow"]) | ANYTHING,
            "args": st.dictionaries(
                st.sampled_from(["sm", "block", "warp", "name", "Init Time (ns)",
                                 "Frequency (MHz)"]),
                st.integers(0, 9) | ANYTHING,
            ),
        },
    ),
    max_size=12,
)  # fmt: skip
# An event by which a file is known for one tool's.
SIGNS = {
    "Proton": {"ph": "M", "pid": "gemm Core0 CTA0"},
    "MORI-VIZ": {"name": "", "cat": "gpu_kernel", "ph": "i"},
    "QuACK": {"ph": "M", "args": {"sm": 0, "block": 0, "warp": 0}},
    "warpscope": {"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "block_0"}},
    "none": {"ph": "M"},
}


@pytest.mark.parametrize("sign", list(SIGNS))
@settings(max_examples=60)
@given(events=EVENTS)
def test_any_events_give_a_part_with_counts_or_one_error(sign: str, events: list[object]) -> None:
    check(json.dumps([SIGNS[sign], *events]).encode(), Tool.CHROME)


@pytest.mark.parametrize(
    "content",
    [
        b"\x93NUMPY",
        b"\x93NUMPY\x01\x00\x00\x00",
        b"\x93NUMPY\x01\x00\x40\x00{'descr': '|O', 'fortran_order': False, 'shape': (3,)}",
        b"\x93NUMPY\x09\x00" + bytes(100),
    ],
)
def test_a_header_of_numpy_that_means_nothing_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(content)

    with pytest.raises(KtraceError, match="cannot read"):
        read_foreign(path, Tool.TILEOPS, Source(Tool.TILEOPS))
