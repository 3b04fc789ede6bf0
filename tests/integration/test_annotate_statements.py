"""The statements for Python compilers, assembled by hand, on the software device."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ktrace_cli.timeline.build import build_timeline
from ktrace_cli.trace_file import layout
from ktrace_cli.trace_file.layout import Kind
from ktrace_cli.trace_file.recording import DispatchRecord
from support.annotated_kernel import no_end, parted_lanes, rounds
from support.preloaded import Outcome, run_script

GRID, BLOCK = (3, 2, 2), (64, 2, 2)
WAVES, WORDS = 3 * 2 * 2 * 4, 10  # group, push, 3 times a value and a phase, phase end, pop


def launch(
    code_object: Path,
    folder: Path,
    *,
    traced: bool = True,
    target: str = "gfx942",
    **variables: str,
) -> Outcome:
    """Launch the kernel with a null slot, wherever its trace buffer comes from."""
    return run_script(
        "hip, module, function = open_hip(), *(ctypes.c_void_p() for _ in range(2))\n"
        f"image = Path({str(code_object)!r}).read_bytes()\n"
        "assert hip.hipModuleLoadData(ctypes.byref(module), image) == 0\n"
        "assert hip.hipModuleGetFunction(ctypes.byref(function), module, b'annotated') == 0\n"
        "sink = ctypes.c_void_p()\n"
        "places = (ctypes.c_void_p * 1)(ctypes.addressof(sink))\n"
        f"shape = {(*GRID, *BLOCK)}\n"
        "assert hip.hipModuleLaunchKernel(function, *shape, 0, None, places, None) == 0\n"
        "assert hip.hipDeviceSynchronize() == 0\n",
        folder,
        traced=traced,
        environment={"KTRACE_SOFT_ARCH": target, **variables},
    )


def recorded(outcome: Outcome) -> DispatchRecord:
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "", "")
    (dispatch,) = outcome.recording.dispatches
    return dispatch


def kinds_and_values(dispatch: DispatchRecord) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The kinds of a wave's words, oldest first, and its payload: of each wave that differs."""
    found, begin = set(), 0
    for extent in dispatch.extents:
        count = int(extent["main_words"])
        end = begin + count + int(extent["side_words"])
        words = np.concatenate(
            [dispatch.words[begin : begin + count], dispatch.words[begin + count : end][::-1]]
        )
        kinds = words["tag"] >> layout.TAG_KIND_SHIFT
        values = words["clock"][kinds == Kind.VALUE]
        found.add((tuple(map(int, kinds)), tuple(map(int, values))))
        begin = end
    return found


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950"])
def test_every_wave_records_every_event_in_order(tmp_path: Path, target: str) -> None:
    dispatch = recorded(launch(rounds(target, 3), tmp_path, target=target))

    headers = dispatch.headers
    places = {(*map(int, header["block"]), int(header["wave"])) for header in headers}
    assert places == {(x, y, z, w) for x in range(3) for y in range(2) for z in range(2)
                      for w in range(4)}  # fmt: skip
    assert kinds_and_values(dispatch) == {((9, 2, 10, 6, 10, 6, 10, 6, 7, 3), (3, 2, 1))}
    assert set(headers["state"]) == {layout.WaveState.ENDED}
    assert set(headers["main_cursor"]) == {layout.REGION_HEADER + 8 * WORDS}
    assert (headers["memtime_end"] > headers["memtime_begin"]).all()
    assert set(headers["exec_begin"]) == set(headers["exec_end"]) == {(1 << 64) - 1}
    timeline = build_timeline(Outcome(0, "", "", tmp_path).recording)
    assert timeline.losses.counted() == {}
    assert {(event.name, event.file, event.line) for event in timeline.events} == {
        ("worker", "", 0),
        ("all", "kernel.py", 3),
        ("round", "kernel.py", 5),
    }


def test_waves_that_claim_their_slots_get_one_each(tmp_path: Path) -> None:
    dispatch = recorded(launch(rounds("gfx942", 3), tmp_path, KTRACE_MODE="claim"))

    assert (int(dispatch.record["claimed"]), len(dispatch.headers)) == (WAVES, WAVES)
    assert len({(*map(int, header["block"]), int(header["wave"])) for header in dispatch.headers}
              ) == WAVES  # fmt: skip


def test_filters_choose_blocks_and_waves(tmp_path: Path) -> None:
    dispatch = recorded(
        launch(rounds("gfx942", 3), tmp_path, KTRACE_BLOCKS="0:3:2,1,*", KTRACE_WAVES="0,3")
    )

    assert {(*map(int, header["block"]), int(header["wave"])) for header in dispatch.headers} == {
        (x, 1, z, wave) for x in (0, 2) for z in (0, 1) for wave in (0, 3)
    }


def test_with_hang_every_word_is_a_side_word(tmp_path: Path) -> None:
    dispatch = recorded(launch(rounds("gfx942", 3), tmp_path, KTRACE_HANG_MS="60000"))

    assert set(dispatch.extents["main_words"]) == {0}
    assert kinds_and_values(dispatch) == {((9, 2, 10, 6, 10, 6, 10, 6, 7, 3), (3, 2, 1))}


@pytest.mark.parametrize("hang", ["0", "60000"])
def test_words_without_room_are_counted_and_the_first_ones_kept(tmp_path: Path, hang: str) -> None:
    eager = {"KTRACE_HANG_MS": hang} if hang != "0" else {}

    outcome = launch(rounds("gfx942", 40), tmp_path, KTRACE_WORDS="32", **eager)

    dispatch = recorded(outcome)  # 16 of 32 words are the header's
    assert kinds_and_values(dispatch) == {((9, 2, *[10, 6] * 7), tuple(range(40, 33, -1)))}
    assert outcome.status.dropped_words == WAVES * (2 + 2 * 40 + 2 - 16)


def test_where_lanes_part_an_event_is_that_of_lane_0(tmp_path: Path) -> None:
    dispatch = recorded(launch(parted_lanes("gfx942"), tmp_path))

    assert kinds_and_values(dispatch) == {((8, 8), ())}


def test_a_wave_without_an_end_is_counted(tmp_path: Path) -> None:
    outcome = launch(no_end("gfx942"), tmp_path)

    assert (outcome.returncode, outcome.stderr) == (0, "")
    timeline = build_timeline(outcome.recording)
    assert timeline.losses.counted() == {"unfinished_waves": WAVES}


def test_without_the_interposer_the_kernel_runs_and_records_nothing(tmp_path: Path) -> None:
    outcome = launch(rounds("gfx942", 3), tmp_path, traced=False)

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "", "")
    assert not outcome.path.exists()
