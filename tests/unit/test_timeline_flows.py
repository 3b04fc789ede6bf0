"""Which occurrences an arrow joins, and in which kernels."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ktrace_cli.app import app
from ktrace_cli.model import Timeline, WaveFlag
from ktrace_cli.trace_file.layout import DispatchFlag, Kind, WaveState
from support.code_object import EdgeSource, EventSource, KernelSource, make_code_object
from support.recording import RecordingBuilder, Wave
from support.timelines import (
    CONSUMER,
    LOAD,
    MMA,
    OTHER_UNIT_KEY,
    UNIT_KEY,
    build,
    builder,
    decode,
    losses,
)
from support.words import Words, group, phase, phase_end, raw, start, stop, unit

EDGE = ("load", "mma")


def arrows(timeline: Timeline) -> list[tuple[int, int, int, int]]:
    """Dispatch, workgroup, and the ticks at which both ends begin, of each arrow."""
    found = []
    for flow in timeline.flows:
        ends = [timeline.slices[flow[end]] for end in ("source", "destination")]
        waves = [timeline.waves[end["wave"]] for end in ends]
        assert waves[0]["block"].tolist() == waves[1]["block"].tolist()
        assert waves[0]["dispatch"] == waves[1]["dispatch"]
        number = int(timeline.dispatches["number"][waves[0]["dispatch"]])
        begins = (int(end["begin_ticks"]) for end in ends)
        found.append((number, int(waves[0]["block"][0]), *begins))
    return found


def load(at: int, values: list[tuple[int, int]] | None = None) -> list[Words]:
    return [start(LOAD, at, token=f"at{at}", values=values or []), stop(f"at{at}", at + 10)]


def mma(at: int, values: list[tuple[int, int]] | None = None) -> list[Words]:
    return [phase(MMA, at, values=values or []), phase_end(at + 10)]


def markers(kernel: str, *names: str, unit_key: int = UNIT_KEY) -> list[EventSource]:
    """The markers of these names in a kernel's code; "" is a function's."""
    of_name = {"load": (LOAD, Kind.START), "mma": (MMA, Kind.PHASE)}
    return [
        EventSource(of_name[n][0], n, of_name[n][1], unit_key=unit_key, kernel=kernel)
        for n in names
    ]


def kernels(*names: str, unit_key: int = UNIT_KEY) -> list[KernelSource]:
    return [KernelSource(name, unit_key=unit_key) for name in names]


def test_arrows_join_the_kth_occurrences_of_a_workgroup(tmp_path: Path) -> None:
    loads = [
        start(LOAD, 1100, token="a"),
        start(LOAD, 1200, token="b"),
        stop("a", 1300),
        stop("b", 1400),
    ]
    waves = [Wave(wave=0, block=(b, 0, 0), main=loads) for b in (0, 1)] + [
        Wave(wave=1, block=(b, 0, 0), main=[phase(MMA, 1500), phase(MMA, 1600), phase_end(1700)])
        for b in (0, 1)
    ]
    waves.append(Wave(wave=2, main=[group(CONSUMER, 1010), phase(MMA, 1500), phase_end(1600)]))

    timeline = decode(waves, tmp_path, edges=[("load", "mma")], grid=(2, 1, 1), block=(192, 1, 1))

    found = [(*begins, block) for _, block, *begins in arrows(timeline)]
    assert sorted(found) == [(1100, 1500, 0), (1100, 1500, 1), (1200, 1600, 0), (1200, 1600, 1)]
    assert losses(timeline) == {"unmatched_edges": 1}


def test_an_edge_of_one_code_object_draws_nothing_in_another(tmp_path: Path) -> None:
    recording = RecordingBuilder()
    numbers = []
    for name, edges in (("gemm", [EdgeSource(*EDGE, UNIT_KEY)]), ("copy", [])):
        image = make_code_object(kernels(name), markers(name, "load", "mma"), edges)
        code_object = recording.add_code_object(image)
        numbers.append(recording.add_kernel(name, code_object=code_object, unit_key=UNIT_KEY))
    for kernel in numbers:
        recording.add_dispatch(kernel, [Wave(main=[*load(1100), *load(1150), *mma(1200)])])

    timeline = build(recording, tmp_path)

    assert arrows(timeline) == [(1, 0, 1100, 1200)]
    assert losses(timeline) == {"unmatched_edges": 1}


def test_an_edge_of_one_unit_draws_nothing_in_another(tmp_path: Path) -> None:
    names = {"gemm": UNIT_KEY, "copy": OTHER_UNIT_KEY}
    image = make_code_object(
        [KernelSource(name, unit_key=key) for name, key in names.items()],
        [e for name, key in names.items() for e in markers(name, "load", "mma", unit_key=key)],
        [EdgeSource(*EDGE, UNIT_KEY)],
    )
    recording = RecordingBuilder()
    code_object = recording.add_code_object(image)
    for name, key in names.items():
        kernel = recording.add_kernel(name, code_object=code_object, unit_key=key)
        # In a function of the other unit; no end of the edge, either.
        called = [unit(UNIT_KEY ^ OTHER_UNIT_KEY ^ key)]
        words = [*load(1100), *mma(1200)]
        if key == UNIT_KEY:
            words += [*load(1300, values=called), *mma(1400, values=called)]
        recording.add_dispatch(kernel, [Wave(main=words)])

    timeline = build(recording, tmp_path)

    assert arrows(timeline) == [(1, 0, 1100, 1200)]
    assert losses(timeline) == {}


def test_a_kernel_that_lacks_one_end_is_not_meant(tmp_path: Path) -> None:
    image = make_code_object(
        kernels("gemm", "copy"),
        [*markers("gemm", "load", "mma"), *markers("copy", "load")],
        [EdgeSource(*EDGE, UNIT_KEY)],
    )
    recording = RecordingBuilder()
    code_object = recording.add_code_object(image)
    for name, words in (("gemm", [*load(1100), *mma(1200)]), ("copy", load(1100))):
        kernel = recording.add_kernel(name, code_object=code_object, unit_key=UNIT_KEY)
        recording.add_dispatch(kernel, [Wave(main=words)])

    timeline = build(recording, tmp_path)

    assert arrows(timeline) == [(1, 0, 1100, 1200)]
    assert losses(timeline) == {}


def test_an_edge_to_an_event_that_no_kernel_has_is_told(tmp_path: Path) -> None:
    timeline = decode([Wave(main=load(1100))], tmp_path, edges=[("load", "mna")])

    assert losses(timeline) == {"unmatched_edges": 1}


def test_an_edge_of_which_no_event_has_either_name_is_told(tmp_path: Path) -> None:
    edges = [EDGE, ("typo", "rgg"), ("published", "published")]

    timeline = decode([Wave(main=[*load(1100), *mma(1200)])], tmp_path, edges=edges)

    assert losses(timeline) == {"unknown_edges": 2}
    assert timeline.losses.sentences() == [
        "2 edges join nothing: no range has their names; `ktrace inspect` shows which"
    ]


def test_the_ends_of_an_edge_may_be_in_a_function(tmp_path: Path) -> None:
    image = make_code_object(
        kernels("gemm"),
        [*markers("gemm", "load"), *markers("", "mma")],
        [EdgeSource(*EDGE, UNIT_KEY)],
    )
    recording = RecordingBuilder()
    code_object = recording.add_code_object(image)
    kernel = recording.add_kernel("gemm", code_object=code_object, unit_key=UNIT_KEY)
    recording.add_dispatch(kernel, [Wave(main=[*load(1100), *mma(1200)])])

    assert arrows(build(recording, tmp_path)) == [(1, 0, 1100, 1200)]


def test_workgroups_recorded_in_part_as_asked_for_have_no_arrows(tmp_path: Path) -> None:
    # Wave 0 was not wanted in workgroup 0: its loads, if any, would come first.
    waves = [
        Wave(block=(0, 0, 0), wave=1, main=[*load(1100), *mma(1200)]),
        Wave(block=(1, 0, 0), wave=0, main=[*load(1300), *load(1350)]),
        Wave(block=(1, 0, 0), wave=1, main=mma(1400)),
    ]
    options = {"grid": (2, 1, 1), "block": (128, 1, 1), "expected": 0}

    timeline = decode(waves, tmp_path, edges=[EDGE], flags=DispatchFlag.FILTERED, **options)

    assert arrows(timeline) == [(1, 1, 1300, 1400)]
    assert losses(timeline) == {"unmatched_edges": 1}


def test_an_arrow_that_would_go_back_is_left_out_and_counted(tmp_path: Path) -> None:
    waves = [
        Wave(block=(0, 0, 0), main=[*mma(1100), *load(2000)]),
        # Ends while the load is in flight.
        Wave(block=(1, 0, 0), main=[phase(MMA, 1100), *load(2000), phase_end(3000)]),
    ]

    timeline = decode(waves, tmp_path, edges=[EDGE], grid=(2, 1, 1))

    assert arrows(timeline) == [(1, 1, 2000, 1100)]
    assert losses(timeline) == {"backward_arrows": 1}
    assert timeline.losses.sentences() == ["1 arrow would go back in time and is left out"]


def sequence(loads: int, mmas: int) -> list[Words]:
    words = [word for i in range(loads) for word in load(1100 + 20 * i)]
    return words + [word for i in range(mmas) for word in mma(2100 + 20 * i)]


@pytest.mark.parametrize(
    "lost",
    [
        {"dropped_main": 4},
        {"state": WaveState.BEGUN},
        {"header": {"memtime_begin": 0}},
    ],
)
def test_a_workgroup_that_has_lost_anything_has_no_arrows(
    lost: dict[str, Any], tmp_path: Path
) -> None:
    waves = [
        Wave(block=(0, 0, 0), wave=0, main=sequence(6, 2), **lost),
        Wave(block=(0, 0, 0), wave=1, main=sequence(2, 2)),
        Wave(block=(1, 0, 0), wave=0, main=sequence(1, 1)),
        Wave(block=(1, 0, 0), wave=1),
    ]

    timeline = decode(
        waves, tmp_path, edges=[EDGE], grid=(2, 1, 1), block=(128, 1, 1), region_log2=8
    )

    assert arrows(timeline) == [(1, 1, 1100, 2100)]
    ends = 4 if "header" in lost else 12  # no slice of a torn wave is known
    assert losses(timeline)["uncertain_edges"] == ends
    assert "unmatched_edges" not in losses(timeline)


def test_a_workgroup_that_lacks_a_wave_has_no_arrows(tmp_path: Path) -> None:
    waves = [
        Wave(block=(0, 0, 0), wave=0, main=sequence(2, 1)),
        Wave(block=(1, 0, 0), wave=0, main=sequence(1, 1)),
        Wave(block=(1, 0, 0), wave=1),
    ]

    timeline = decode(waves, tmp_path, edges=[EDGE], grid=(2, 1, 1), block=(128, 1, 1), expected=4)

    assert arrows(timeline) == [(1, 1, 1100, 2100)]
    assert losses(timeline) == {"missing_waves": 1, "uncertain_edges": 3}
    assert timeline.losses.sentences()[1] == (
        "3 ends of arrows are left out: their workgroups have lost waves or words, so that it is"
        " not known where these arrows lead"
    )


def test_a_word_that_cannot_be_read_leaves_no_arrows(tmp_path: Path) -> None:
    torn = Wave(main=[*load(1100), raw(1115, 15 << 27), *load(1120), *mma(1200)])
    whole = Wave(block=(1, 0, 0), main=sequence(1, 1))

    timeline = decode([torn, whole], tmp_path, edges=[EDGE], grid=(2, 1, 1))

    assert arrows(timeline) == [(1, 1, 1100, 2100)]
    assert losses(timeline) == {"torn_words": 1, "uncertain_edges": 3}
    flags = [WaveFlag(int(flags)) for flags in timeline.waves["flags"]]
    assert flags == [WaveFlag.UNREADABLE, WaveFlag(0)]


def test_what_a_ring_has_overwritten_leaves_no_arrows(tmp_path: Path) -> None:
    # The last 32 of 40 words, of a region that holds 64.
    header = {"main_cursor": 8 * (40 + 32), "side_cursor": 8 * 32 - 8}
    words = sequence(8, 8)
    ring = Wave(main=words[-8:] + words[:-8], header=header)

    timeline = decode([ring], tmp_path, edges=[EDGE], region_log2=9, flags=DispatchFlag.RING)

    assert arrows(timeline) == []
    assert losses(timeline)["overwritten_words"] == 8
    assert losses(timeline)["uncertain_edges"] == 16


def test_workgroups_recorded_in_part_are_counted(tmp_path: Path) -> None:
    recording, kernel = builder([EDGE])
    waves = [
        Wave(block=(b, 0, 0), wave=w, main=sequence(1, 1)) for b, w in [(0, 0), (1, 0), (1, 1)]
    ]
    recording.add_dispatch(
        kernel, waves, grid=(2, 1, 1), block=(128, 1, 1), expected=0, flags=DispatchFlag.FILTERED
    )

    told = CliRunner().invoke(app, ["summary", str(recording.write(tmp_path / "run.bin"))]).stderr

    assert "ktrace: 1 workgroup lacks some of its waves: no arrows there\n" in told
