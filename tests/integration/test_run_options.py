"""Options of `ktrace run`: what they change, and what makes no sense."""

from __future__ import annotations

from pathlib import Path

import pytest

from ktrace_cli.trace_file.reader import read_recording
from support.ktrace_command import Ktrace, gemm, said, saxpy


@pytest.mark.parametrize(
    "options",
    [
        ["--memory", "lots"], ["--memory", "1K"], ["--device", "fpga"], ["--arch", "gfx000"],
        ["--words", "33"], ["--words", "16"], ["--blocks", "foo"], ["--blocks", "0:8:3"],
        ["--blocks", "1,2,3,4"], ["--waves", "99"], ["--waves", "3-1"], ["--xcc", "z"],
        ["--kernel", "/[/"], ["--kernel", ""],
    ],
)  # fmt: skip
def test_bad_options_are_usage_errors(ktrace: Ktrace, tmp_path: Path, options: list[str]) -> None:
    result = ktrace("run", *options, "--", "touch", "started")

    assert result.returncode == 2
    assert options[1] in result.stderr or options[1] == "1K"
    assert not (tmp_path / "started").exists()


def test_no_program_is_a_usage_error(ktrace: Ktrace) -> None:
    assert ktrace("run").returncode == 2


# saxpy is launched with 4 workgroups of 4 waves; the software device spreads workgroups over XCCs.
@pytest.mark.parametrize(
    ("options", "waves"),
    [
        ([], [(b, w) for b in range(4) for w in range(4)]),
        (["--blocks", "1:4:2"], [(b, w) for b in (1, 3) for w in range(4)]),
        (["--blocks", "2"], [(2, w) for w in range(4)]),
        (["--waves", "0,2-3"], [(b, w) for b in range(4) for w in (0, 2, 3)]),
        (["--xcc", "1"], [(1, w) for w in range(4)]),
        (["--blocks", "3", "--waves", "1"], [(3, 1)]),
        (["--kernel", "sax*"], [(b, w) for b in range(4) for w in range(4)]),
    ],
)
def test_options_choose_what_is_recorded(
    ktrace: Ktrace, tmp_path: Path, options: list[str], waves: list[tuple[int, int]]
) -> None:
    result = ktrace("run", *options, "-o", "a.bin", "--", *saxpy())

    (dispatch,) = read_recording(tmp_path / "a.bin").dispatches
    recorded = [(int(h["block"][0]), int(h["wave"])) for h in dispatch.headers]
    assert (result.returncode, result.stdout) == (0, "ok\n")
    assert recorded == waves


def test_words_sets_the_size_of_regions(ktrace: Ktrace, tmp_path: Path) -> None:
    ktrace("run", "--words", "512", "-o", "a.bin", "--", *saxpy())

    (dispatch,) = read_recording(tmp_path / "a.bin").dispatches
    assert int(dispatch.record["region_log2"]) == 12  # 512 words of 8 bytes


def test_words_that_do_not_fit_are_said(ktrace: Ktrace) -> None:
    result = ktrace("run", "--words", "32", "-o", "a.bin", "--", *gemm())

    assert said(result)[0] == (
        "warning: 112 words did not fit their waves' regions; `--words` makes regions larger"
    )


def test_arch_chooses_the_device(ktrace: Ktrace, tmp_path: Path) -> None:
    result = ktrace("run", "--arch", "gfx950", "-o", "a.bin", "--", *gemm())

    (device,) = read_recording(tmp_path / "a.bin").devices.values()
    assert result.returncode == 0
    assert device.target.startswith("gfx950")


def test_a_kernel_that_is_not_chosen_is_said(ktrace: Ktrace, tmp_path: Path) -> None:
    result = ktrace("run", "--kernel", "gemm*", "-o", "a.bin", "--", *saxpy(count=3))

    assert said(result) == [
        "nothing was recorded: saw 1 code object (1 annotated, with 1 annotated kernel) and "
        "3 launches (3 of annotated kernels); the filters of kernels left out 3 launches"
    ]
    assert list(tmp_path.iterdir()) == []


def test_settings_from_elsewhere_that_make_no_sense_are_said(ktrace: Ktrace) -> None:
    result = ktrace("run", "--", *saxpy(), KTRACE_WORDS="33")

    assert (result.returncode, result.stdout) == (0, "ok\n")
    assert "KTRACE_WORDS" in result.stderr
    assert said(result)[-1] == (
        "nothing was recorded: ktrace's settings were not understood, so it did not look"
    )


def test_run_f_pftrace_decodes_at_the_end(ktrace: Ktrace, tmp_path: Path) -> None:
    result = ktrace("run", "-f", "pftrace", "-o", "a.bin", "--", *saxpy())

    assert result.returncode == 0
    assert (tmp_path / "a.pftrace.gz").read_bytes()[:2] == b"\x1f\x8b"
