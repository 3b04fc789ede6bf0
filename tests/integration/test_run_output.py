"""Where `ktrace run` records, and what becomes of files that are there."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from support.ktrace_command import Ktrace, said, saxpy


def test_without_o_the_recording_has_a_name_of_its_own(ktrace: Ktrace, tmp_path: Path) -> None:
    ktrace("run", "--", *saxpy())
    ktrace("run", "--", *saxpy())

    names = sorted(p.name for p in (tmp_path / "ktrace_out").iterdir())
    assert len(names) == 2
    assert all(re.fullmatch(r"python[\d.]*\.\d+\.bin", name) for name in names)


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
    (tmp_path / "file").write_text("not a folder")

    good = ktrace("run", "-o", "file/a.bin", "--", *saxpy())
    bad = ktrace("run", "-o", "file/a.bin", "--", "sh", "-c", "exit 7")

    assert (good.returncode, good.stdout) == (125, "ok\n")
    assert "file/a.bin" in good.stderr
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


@pytest.mark.parametrize("name", ["-", "x.pftrace.gz"])
def test_o_names_a_recording(ktrace: Ktrace, tmp_path: Path, name: str) -> None:
    assert ktrace("run", "-o", name, "--", *saxpy()).returncode == 2
    assert list(tmp_path.iterdir()) == []


def test_force_keeps_the_old_file_if_nothing_is_recorded(ktrace: Ktrace, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_text("precious")

    ktrace("run", "--force", "-o", "a.bin", "--", "true")
    ktrace("run", "--force", "-o", "a.bin", "--", "no-such-program")

    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("a.bin", "precious")]
