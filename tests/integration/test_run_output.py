"""Where `ktrace run` records, and what becomes of files that are there."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from support.ktrace_command import Ktrace, said, saxpy


def test_without_o_the_recording_has_a_name_of_its_own(ktrace: Ktrace, tmp_path: Path) -> None:
    ktrace("run", "--", *saxpy())
    ktrace("run", "--", *saxpy())

    names = sorted(p.name for p in (tmp_path / "ktrace_out").iterdir())
    assert len(names) == 2
    assert all(re.fullmatch(r"launch_saxpy\.\d+\.bin", name) for name in names)


def test_without_a_script_a_recording_is_called_like_the_program(
    ktrace: Ktrace, tmp_path: Path
) -> None:
    python, script, *arguments = map(str, saxpy())
    code = f"import runpy; runpy.run_path({script!r}, None, '__main__')"

    ktrace("run", "--", python, "-c", code, *arguments)

    (name,) = (p.name for p in (tmp_path / "ktrace_out").iterdir())
    assert re.fullmatch(r"python[\d.]*\.\d+\.bin", name)


def test_an_existing_file_is_refused_before_the_start(ktrace: Ktrace, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_text("precious")

    result = ktrace("run", "-o", "a.bin", "--", *saxpy())

    assert result.returncode == 125
    assert result.stdout == ""
    assert said(result) == [
        "error: will not replace a.bin",
        "  why: the file exists",
        "  try: give another name to `-o`, or `--force` to replace it",
    ]
    assert (tmp_path / "a.bin").read_text() == "precious"


def test_force_replaces_it(ktrace: Ktrace, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_text("precious")

    assert ktrace("run", "--force", "-o", "a.bin", "--", *saxpy()).returncode == 0
    assert (tmp_path / "a.bin").read_bytes()[:8] == b"KTRACE\x1a\n"


def test_an_unwritable_folder_never_costs_the_program_its_status(
    ktrace: Ktrace, tmp_path: Path
) -> None:
    # It is a folder when the run begins.
    script = 'rmdir folder && touch folder && exec "$@"'

    good = ktrace("run", "-o", "folder/a.bin", "--", "sh", "-c", script, "sh", *saxpy())
    (tmp_path / "folder").unlink()
    bad = ktrace("run", "-o", "folder/a.bin", "--", "sh", "-c", script, "sh", "sh", "-c", "exit 7")

    assert (good.returncode, good.stdout) == (125, "ok\n")
    assert "folder/a.bin" in good.stderr
    assert bad.returncode == 7


def test_a_missing_folder_is_made(ktrace: Ktrace, tmp_path: Path) -> None:
    ktrace("run", "-o", "x/y/a.bin", "--", *saxpy())

    assert (tmp_path / "x/y/a.bin").exists()


def test_force_replaces_regular_files_only(ktrace: Ktrace, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("elsewhere")

    for name in ("fifo", "link", "/dev/null"):
        result = ktrace("run", "--force", "-o", name, "--", *saxpy())
        assert result.returncode == 125
        assert said(result)[1] == "  why: it exists and is no regular file"
    assert (tmp_path / "fifo").is_fifo()
    assert (tmp_path / "link").is_symlink()


def test_an_old_file_that_was_not_replaced_is_said(ktrace: Ktrace, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_text("precious")

    result = ktrace("run", "--force", "-o", "a.bin", "--kernel", "gemm", "--", *saxpy())

    assert said(result) == [
        "nothing was recorded: saw 1 code object (1 annotated, with 1 annotated kernel) and 1 "
        "launch (1 of annotated kernels); the filters of kernels left out 1 launch (annotated "
        "kernels here: saxpy); a.bin is still the one of an earlier run"
    ]
    assert (tmp_path / "a.bin").read_text() == "precious"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--blocks", "99"], "no wave was recorded: `--blocks 99` chose none of any dispatch"),
        (["--xcc", "9"], "no wave was recorded: `--xcc 9` chose none of any dispatch"),
        (["--blocks", "0"], ""),
    ],
)
def test_filters_that_choose_no_wave_are_said(
    ktrace: Ktrace, options: list[str], words: str
) -> None:
    result = ktrace("run", "-o", "a.bin", *options, "--", *saxpy())

    lines = said(result)
    assert lines[:-1] == ([f"warning: {words}"] if words else [])
    assert lines[-1].startswith("recorded 1 dispatch in a.bin")


def test_with_pftrace_nothing_is_left_to_do(ktrace: Ktrace, tmp_path: Path) -> None:
    result = ktrace("run", "-f", "pftrace", "-o", "a.bin", "--", *saxpy())

    assert (tmp_path / "a.pftrace.gz").exists()
    assert "next:" not in result.stderr


@pytest.mark.parametrize("name", ["-", "x.pftrace.gz"])
def test_o_names_a_recording(ktrace: Ktrace, tmp_path: Path, name: str) -> None:
    assert ktrace("run", "-o", name, "--", *saxpy()).returncode == 2
    assert list(tmp_path.iterdir()) == []


def test_force_keeps_the_old_file_if_nothing_is_recorded(ktrace: Ktrace, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_text("precious")

    ktrace("run", "--force", "-o", "a.bin", "--", "true")
    ktrace("run", "--force", "-o", "a.bin", "--", "no-such-program")

    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("a.bin", "precious")]


def test_placeholders_are_filled_in_by_ktrace_and_by_each_process(
    ktrace: Ktrace, tmp_path: Path
) -> None:
    result = ktrace(
        "run", "-d", "%tag%/%env{WHERE}%", "-o", "r%rank%-of-%size%.%pid%.bin", "--",
        sys.executable, *saxpy()[1:], WHERE="here", SLURM_PROCID="3", SLURM_NTASKS="8",
    )  # fmt: skip

    (path,) = tmp_path.rglob("*.bin")
    tag = Path(sys.executable).name
    assert result.returncode == 0
    assert re.fullmatch(rf"{tag}/here/r3-of-8\.\d+\.bin", str(path.relative_to(tmp_path)))
    assert str(path.relative_to(tmp_path)) in said(result)[0]


def test_a_rank_without_a_launcher_is_0_of_1(ktrace: Ktrace, tmp_path: Path) -> None:
    ktrace("run", "-o", "%r_%s.bin", "--", *saxpy())

    assert [path.name for path in tmp_path.iterdir()] == ["0_1.bin"]


def test_the_file_of_this_rank_is_refused_or_replaced(ktrace: Ktrace, tmp_path: Path) -> None:
    (tmp_path / "r2.bin").write_text("old")

    refused = ktrace("run", "-o", "r%rank%.bin", "--", *saxpy(), RANK="2")
    forced = ktrace("run", "--force", "-o", "r%rank%.bin", "--", *saxpy(), RANK="2")

    assert (refused.returncode, said(refused)[0]) == (125, "error: will not replace r2.bin")
    assert forced.returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["r2.bin"]
    assert (tmp_path / "r2.bin").read_bytes()[:8] == b"KTRACE\x1a\n"


def test_d_names_the_folder_of_recordings(ktrace: Ktrace, tmp_path: Path) -> None:
    ktrace("run", "-d", "out", "--", *saxpy())
    ktrace("run", "-d", "out", "-o", "x/a.bin", "--", *saxpy())

    names = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.bin"))
    assert len(names) == 2
    assert re.fullmatch(r"out/launch_saxpy\.\d+\.bin", names[0])
    assert names[1] == "out/x/a.bin"


@pytest.mark.parametrize("option", ["-o", "--output", "--output-file"])
def test_o_has_its_older_names(ktrace: Ktrace, tmp_path: Path, option: str) -> None:
    ktrace("run", option, "a.bin", "--", *saxpy())

    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]
