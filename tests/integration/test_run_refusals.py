"""What `ktrace run` refuses before the program starts, in words that help."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.ktrace_command import Ktrace, said


def refused(ktrace: Ktrace, folder: Path, *options: str) -> tuple[int, list[str]]:
    result = ktrace("run", *options, "--", "touch", "started")
    assert not (folder / "started").exists()
    return result.returncode, said(result)


@pytest.mark.parametrize("name", ["x" * 260 + ".bin", "x" * 260 + "/a.bin"])
def test_a_name_that_is_too_long(ktrace: Ktrace, tmp_path: Path, name: str) -> None:
    status, lines = refused(ktrace, tmp_path, "-o", name)

    assert status == 125
    assert lines[0].startswith("error: cannot record to xxx")
    assert lines[1:] == ["  why: File name too long", "  try: give a shorter name"]


def test_a_file_where_a_folder_is_needed(ktrace: Ktrace, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert refused(ktrace, tmp_path, "-o", "file/x/a.bin") == (125, [
        "error: cannot record to file/x/a.bin",
        "  why: file is no folder",
        "  try: name another folder",
    ])  # fmt: skip
    assert refused(ktrace, tmp_path, "-d", "file")[1][:2] == [
        "error: cannot record in file", "  why: file is no folder",
    ]  # fmt: skip


def test_a_link_to_nothing_is_no_folder(ktrace: Ktrace, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere")

    assert refused(ktrace, tmp_path, "-d", "link/x")[1][1] == "  why: link is a link to nothing"


def test_a_folder_that_cannot_be_written_to(ktrace: Ktrace, tmp_path: Path) -> None:
    assert refused(ktrace, tmp_path, "-o", "/proc/self/x/a.bin") == (125, [
        "error: cannot record to /proc/self/x/a.bin",
        "  why: /proc/self cannot be written to",
        "  try: name another folder",
    ])  # fmt: skip


@pytest.mark.parametrize("option", ["-o", "-d"])
def test_a_variable_that_is_not_set(ktrace: Ktrace, tmp_path: Path, option: str) -> None:
    assert refused(ktrace, tmp_path, option, "a%env{NOBODY_SET_THIS}%") == (2, [
        f"error: cannot fill in `{option} a%env{{NOBODY_SET_THIS}}%`",
        "  why: the variable NOBODY_SET_THIS is not set",
        "  try: `export NOBODY_SET_THIS=…`, or leave `%env{NOBODY_SET_THIS}%` out",
    ])  # fmt: skip


def test_a_variable_that_a_launcher_sets_may_be_set_later(ktrace: Ktrace) -> None:
    assert ktrace("run", "-o", "%env{OMPI_COMM_WORLD_RANK}%.bin", "--", "true").returncode == 0


def test_a_short_option_takes_no_equals_sign(ktrace: Ktrace, tmp_path: Path) -> None:
    assert refused(ktrace, tmp_path, "-o=q.bin") == (2, [
        "error: will not record to =q.bin",
        "  why: after `-o` the value stands without `=`",
        "  try: `-o q.bin`, or `-o ./=q.bin` if that is its name",
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--kernel-trace"], "traces of the host's calls and of whole kernels"),
        (["--sys-trace"], "traces of the host's calls and of whole kernels"),
        (["--pmc", "SQ_WAVES"], "hardware counters and samples"),
        (["--stats"], "how it shows its own data"),
    ],
)
def test_options_of_rocprofv3_alone(
    ktrace: Ktrace, tmp_path: Path, options: list[str], why: str
) -> None:
    status, lines = refused(ktrace, tmp_path, *options)

    assert status == 2
    assert lines[0] == f"error: `ktrace run` has no option {options[0]}"
    assert lines[1].startswith(f"  why: it is rocprofv3's: {why}")
    assert lines[2].startswith("  try: remove it")


def test_options_of_the_program_are_its_own(ktrace: Ktrace) -> None:
    result = ktrace("run", "echo", "--kernel-trace", "--stats")

    assert (result.returncode, result.stdout) == (0, "--kernel-trace --stats\n")
