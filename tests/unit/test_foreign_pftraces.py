"""Perfetto traces of other in-kernel tracers: tracks to waves, and times of 32 bits."""

from pathlib import Path

import pytest

from ktrace_cli.errors import UsageError
from ktrace_cli.foreign.shape import Shape
from ktrace_cli.foreign.source import Foreign, Source, Tool, find_tool, read_foreign
from support.foreign.reading import marks, slices, values
from support.foreign.trace_files import PerfettoFile


def read(path: Path, shape: Shape | None = None) -> Foreign:
    source = Source(shape=shape or Shape())
    tool = find_tool(path, source)
    assert tool is Tool.PFTRACE
    return read_foreign(path, tool, source)


def test_flashinfer_tracks_are_groups_of_blocks_on_sms(tmp_path: Path) -> None:
    file = PerfettoFile()
    for sm in (5, 12):
        group = file.process(f"SM_{sm:03d}")
        for number in (0, 1):
            track = file.track(f"blk{sm * 2}_g{number}", group)
            file.range(track, 1000 + number, 1100, "load")
            file.mark(track, 1150, "done")

    found = read(file.write(tmp_path / "f.perfetto-trace"))

    assert slices(found.timeline) == [
        (wave, "load", wave % 2, 100 - wave % 2, 0, "", 0) for wave in range(4)
    ]
    assert len(marks(found.timeline)) == 4
    assert found.timeline.waves["block"][:, 0].tolist() == [10, 10, 24, 24]
    assert found.timeline.waves["wave"].tolist() == [0, 1, 0, 1]
    assert found.timeline.waves["se"].tolist() == [5, 5, 12, 12]
    assert found.notes[0] == "read as FlashInfer's Perfetto trace: 4 waves"


def test_times_of_32_bits_that_begin_anew_go_on(tmp_path: Path) -> None:
    file = PerfettoFile()
    track = file.track("blk0_g0", file.process("SM_000"))
    file.range(track, (1 << 32) - 40, 60, "over")
    file.range(track, 100, 160, "behind")

    found = read(file.write(tmp_path / "f.pftrace"))

    assert [row[1:4] for row in slices(found.timeline)] == [("over", 0, 100), ("behind", 140, 60)]
    assert "3 of them count as later" in found.notes[1]


def test_warpscope_ranges_of_a_group_are_of_one_wave(tmp_path: Path) -> None:
    file = PerfettoFile()
    block = file.process("block_3")
    for name in ("producer", "consumer"):
        group = file.track(name, block)
        for event in ("load", "wait"):
            file.range(file.track(name, group), 10, 20 + len(event), event)

    found = read(file.write(tmp_path / "w.pftrace")).timeline

    assert len(found.waves) == 2
    assert found.waves["block"][:, 0].tolist() == [3, 3]
    assert [found.events[row].name for row in found.waves["group"]] == ["producer", "consumer"]
    assert sorted(row[:2] for row in slices(found)) == [
        (0, "load"), (0, "wait"), (1, "load"), (1, "wait")]  # fmt: skip


def iket(tmp_path: Path) -> Path:
    file = PerfettoFile()
    for grid in (4, 5):
        kernel = file.process(f"kernel: gemm<128, 64>, gridId: {grid}")
        sm = file.track("VSM 17", file.track("TPC 3", file.track("GPC 1", kernel)))
        for cta in range(2):
            block = file.track(f"CTA({cta}, 0, 2)", sm)
            warp = file.track("warp 6", block)
            start = grid * 1000 + cta * 320
            file.range(file.track("Warp Life Time", warp), start, start + 960, "Warp Life Time")
            file.range(file.track("StackedRanges", warp), start + 32, start + 64,
                       "load(start_payload=7)")  # fmt: skip
            file.range(file.track("Range 0", warp), start + 32, start + 640, "tile")
            file.mark(file.track("Marker", warp), start + 96, "sync(payload=3)")
    return file.write(tmp_path / "iket.pftrace")


def test_iket_trees_are_launches_blocks_and_warps(tmp_path: Path) -> None:
    found = read(iket(tmp_path)).timeline

    assert [kernel.name for kernel in found.kernels] == ["gemm<128, 64>"]
    assert found.dispatches["waves"].tolist() == [2, 2]
    assert found.waves["block"].tolist() == [[0, 0, 2], [1, 0, 2]] * 2
    assert set(found.waves["wave"].tolist()) == {6}
    assert set(found.waves["se"].tolist()) == {17}
    assert slices(found)[:2] == [
        (0, "tile", 32, 608, 0, "", 0),
        (0, "load", 32, 32, 1, "", 0),
    ]
    assert marks(found)[0] == (0, "sync", 96)
    assert values(found, found.slices[1]) == [(5, 7)]


def test_iket_lifetimes_are_those_of_waves_and_no_phase(tmp_path: Path) -> None:
    found = read(iket(tmp_path)).timeline

    waves = found.waves
    assert (waves["end_ns"] - waves["begin_ns"]).tolist() == [960] * 4
    assert {event.name for event in found.events} == {"tile", "load", "sync"}


def test_proton_cycles_count_from_where_each_block_began(tmp_path: Path) -> None:
    file = PerfettoFile()
    process = file.process("Trace")
    for core, began in ((0, 500), (1, 700)):
        track = file.track(f"gemm Core{core} CTA{core} / warp 2 (line 0)", process)
        for launch in (0, 10_000):
            init = began + launch
            file.range(track, init - 500 + 100, init - 500 + 1100, "loop", Init_Time_ns=init)

    found = read(file.write(tmp_path / "p.pftrace"), Shape(clock=2 * 10**9)).timeline

    assert found.dispatches["waves"].tolist() == [2, 2]
    assert [row[1:4] for row in slices(found)] == [
        ("loop", begin, 500) for begin in (0, 200, 10_000, 10_200)
    ]


def test_flydsls_own_trace_is_read_as_its_buffer_is(tmp_path: Path) -> None:
    file = PerfettoFile()
    cu = file.track("XCD1/SE0/SH0/CU3", file.track("launch 1", file.track("gemm")))
    wave = file.track("Wave2", file.track("WG(4, 5, 6)", cu))
    file.begin(wave, 1000, "Wave Span")
    file.range(wave, 1010, 1050, "k", payload=9)
    file.range(file.track("ranges 0", wave), 1020, 1100, "load (unclosed)")
    file.mark(wave, 1100, "last")
    file.end(wave, 1100)

    found = read(file.write(tmp_path / "f.pftrace")).timeline

    assert [kernel.name for kernel in found.kernels] == ["gemm"]
    assert found.waves["block"].tolist() == [[4, 5, 6]]
    assert found.waves["wave"].tolist() == [2]
    assert [row[1:4] for row in slices(found)] == [("k", 10, 40), ("load", 20, 80)]
    assert values(found, found.slices[0]) == [(5, 9)]
    assert found.losses.counted() == {"unclosed_slices": 1}


def test_any_perfetto_trace_is_read_if_the_user_says_so(tmp_path: Path) -> None:
    file = PerfettoFile()
    process = file.process("p")
    for name in "xy":
        file.range(file.track(name, process), 5, 9, "a")
    path = file.write(tmp_path / "t.pftrace")

    assert find_tool(path, Source()) is None
    found = read_foreign(path, Tool.PFTRACE, Source(Tool.PFTRACE))

    assert [row[0] for row in slices(found.timeline)] == [0, 1]
    assert "no tool is known that writes such a file" in found.notes[1]


def test_a_trace_of_a_host_has_no_wave(tmp_path: Path) -> None:
    file = PerfettoFile()
    file.track("blk0_g0", file.process("SM_000"))
    file.range(file.track("main thread", file.process("python")), 5, 9, "a")
    path = file.write(tmp_path / "t.pftrace")

    with pytest.raises(UsageError) as caught:
        read(path)

    assert "none of its 4 tracks is called like a block or a warp" in str(caught.value.why)
