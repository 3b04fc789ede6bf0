"""`ktrace diff`: what cannot be compared is no pass."""

from pathlib import Path

import pytest

from ktrace_cli.errors import KtraceError
from ktrace_cli.trace_file.layout import DispatchFlag, WaveState
from support.comparing import (
    HARDWARE,
    US,
    On,
    Run,
    begin_recording,
    event,
    fill,
    ktrace,
    record_run,
    verdict,
)
from support.recording import Wave
from support.timelines import INNER, OUTER
from support.words import pop, push

PASSED = "PASSED: none of 5 phases became slower than allowed (`*>5%`)"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return record_run(tmp_path / "base.bin", Run(seed=1))


def lines(*arguments: object) -> list[str]:
    return [line.rstrip() for line in ktrace("diff", *arguments).stdout.splitlines()]


@pytest.mark.parametrize(
    ("device", "text"),
    [
        (
            {"target": "gfx950:sramecc+:xnack-"},
            "`new.bin` ran on `gfx950:sramecc+:xnack- (Virtual Instinct, 304 compute units)`,"
            " `base.bin` on `gfx942:sramecc+:xnack- (Virtual Instinct, 304 compute units)`",
        ),
        (
            {"compute_units": 228},
            "`new.bin` ran on `gfx942:sramecc+:xnack- (Virtual Instinct, 228 compute units)`,"
            " `base.bin` on `gfx942:sramecc+:xnack- (Virtual Instinct, 304 compute units)`",
        ),
        (
            {"flags": 0},
            "times of `base.bin` are modelled by the software device, those of `new.bin` were"
            " measured on hardware",
        ),
    ],
)
@pytest.mark.usefixtures("base")
def test_other_devices_are_not_comparable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: dict[str, object], text: str
) -> None:
    record_run(tmp_path / "new.bin", Run(seed=1), On(device=device))
    monkeypatch.chdir(tmp_path)

    assert verdict("base.bin", "new.bin") == (4, f"NOT COMPARABLE: {text}")
    assert not [line for line in lines("base.bin", "new.bin") if "tile" in line]


def test_another_target_may_be_allowed_but_not_modelled_against_measured(
    tmp_path: Path, base: Path
) -> None:
    other = record_run(tmp_path / "new.bin", Run(seed=2), On(device={"target": "gfx950"}))
    measured = record_run(tmp_path / "measured.bin", Run(seed=2), HARDWARE)

    shown = lines(base, other, "--allow-different", "target")

    assert shown[0] == PASSED
    assert [line for line in shown if "new.bin` ran on `gfx950 (" in line]
    assert verdict(base, measured, "--allow-different", "target")[0] == 4


def test_a_recording_without_launches_is_no_pass(
    tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, _ = begin_recording(On())
    empty = made.write(tmp_path / "empty.bin").name
    monkeypatch.chdir(tmp_path)

    text = "NOT COMPARABLE: kernel `gemm` did not run on the new side"
    assert verdict(base, empty) == (4, text)
    text = "NOT COMPARABLE: `empty.bin` has no traced launch"
    assert verdict(base, empty, "--allow-different", "kernels") == (4, text)
    assert verdict(empty, base) == (4, text)
    assert verdict(empty, empty) == (4, text)


def test_a_kernel_without_a_wave_is_no_pass(tmp_path: Path) -> None:
    paths = []
    for name, run in (("base", Run(launches=9)), ("new", Run(launches=9, workgroups=0))):
        path = record_run(
            tmp_path / f"{name}.bin", run, grid=(4, 1, 1), flags=DispatchFlag.FILTERED, expected=0
        )
        paths.append(path)

    assert verdict(*paths) == (
        4,
        "NOT COMPARABLE: no wave of kernel `gemm` was recorded on the new side",
    )


def test_other_shapes_are_not_comparable(tmp_path: Path, base: Path) -> None:
    new = record_run(tmp_path / "new.bin", Run(seed=2), grid=(8, 1, 1))

    assert verdict(base, new) == (
        4,
        "NOT COMPARABLE: kernel `gemm` was launched with other shapes: grid 4x1x1, block 128x1x1 on"
        " the base side only, grid 8x1x1, block 128x1x1 on the new side only",
    )
    assert verdict(base, new, "--allow-different", "shape") == (0, PASSED)


def test_launches_of_one_shape_are_compared_with_those_of_the_same(tmp_path: Path) -> None:
    paths = []
    for name, often in (("base", (10, 20)), ("new", (20, 10))):
        made, kernel = begin_recording(On())
        fill(made, kernel, Run(noise=0, launches=often[0]))
        fill(made, kernel, Run(noise=0, launches=often[1], scale={INNER: 2.0}), grid=(8, 1, 1))
        paths.append(made.write(tmp_path / f"{name}.bin"))

    shown = lines(*paths)

    assert shown[0] == "PASSED: none of 10 phases became slower than allowed (`*>5%`)"
    headings = [line for line in shown if line.startswith("gemm")]
    assert headings == [
        "gemm (grid 4x1x1, block 128x1x1): compared 10 launches with 20",
        "gemm (grid 8x1x1, block 128x1x1): compared 20 launches with 10",
    ]


def test_launches_that_were_recorded_in_part_are_another_shape(tmp_path: Path, base: Path) -> None:
    part = record_run(tmp_path / "part.bin", Run(seed=2), flags=DispatchFlag.FILTERED)

    status, line = verdict(base, part)

    assert status == 4
    assert line.endswith("grid 4x1x1, block 128x1x1, recorded in part on the new side only")


def test_another_tools_file_is_not_comparable(tmp_path: Path, base: Path) -> None:
    trace = tmp_path / "results.json"
    trace.write_text('{"traceEvents": []}')

    with pytest.raises(KtraceError, match=r"cannot compare .*results\.json") as caught:
        ktrace("diff", base, trace)

    assert caught.value.status == 4
    assert caught.value.why == (
        "it is JSON; only ktrace's own recordings and baselines are compared"
    )


@pytest.mark.parametrize(
    ("loss", "text"),
    [
        ("dropped", "12 words did not fit their wave's region; 1 wave filled its region"),
        ("unclosed", "1 range has no end"),
        ("not_closed", "1 recording was not closed, as its process ended by exec or a signal (as"
         " workers of a pool do), or the file was cut: what it holds is whole; whether there was"
         " more is not known"),
        ("unfinished", "1 dispatch was recorded without its end; 1 wave never reached its end"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("side", ["base", "new"])
def test_what_is_not_complete_is_no_pass(
    tmp_path: Path, base: Path, loss: str, text: str, side: str
) -> None:
    lossy = _lossy(tmp_path / "lossy.bin", loss)
    paths = (lossy, base) if side == "base" else (base, lossy)

    status, line = verdict(*paths)

    assert status == 4
    assert line == f"NOT COMPARABLE: the {side} side is not complete: {text}"
    assert ("--buffer" in lines(*paths)[1]) == (loss == "dropped")
    allowed = ktrace("diff", *paths, "--allow-loss")
    assert allowed.exit_code == 0
    assert f"allowed: the {side} side is not complete: {text}" in allowed.stdout


def _lossy(path: Path, loss: str) -> Path:
    """A run in which one wave of another launch lacks something."""
    made, kernel = begin_recording(On())
    fill(made, kernel, Run(seed=5))
    begin = 21_000_000
    words = [push(OUTER, begin + 100), pop(begin + 4_300)]
    if loss == "unclosed":
        words = words[:1]
    wave = Wave(begin=begin, end=begin + 12_600, main=words)
    flags = 0
    if loss == "dropped":
        wave = Wave(begin=begin, end=begin + 12_600, main=words, dropped_main=122)
    if loss == "unfinished":
        wave = Wave(begin=begin, end=begin, side=words[0:1], state=WaveState.BEGUN)
        flags = DispatchFlag.UNFINISHED | DispatchFlag.EAGER
    if loss != "not_closed":
        shape = {"grid": (4, 1, 1), "block": (128, 1, 1)}
        made.add_dispatch(kernel, [wave], flags=flags, **shape)
    return made.write(path, closed=loss != "not_closed")


def test_names_in_reasons_mean_nothing_but_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wild = [event(OUTER, "<b>`|\x1b[2J\n"), event(INNER, "inner")]
    device = {"name": "<i>\x1b[1m"}
    record_run(tmp_path / "base.bin", Run(seed=1, times={INNER: US}))
    record_run(tmp_path / "wild.bin", Run(seed=1, times={INNER: US}), On(events=wild))
    record_run(tmp_path / "<b>.bin", Run(seed=1), On(device=device))
    monkeypatch.chdir(tmp_path)

    phases = ktrace("diff", "base.bin", "wild.bin", "--markdown").stdout.splitlines()[0]
    assert phases.endswith("`<b>'|\\x1b[2J\\n` in the new one only")
    assert verdict("base.bin", "<b>.bin")[1].startswith(
        "NOT COMPARABLE: `<b>.bin` ran on `gfx942:sramecc+:xnack- (<i>\\x1b[1m, 304 compute units)`"
    )
