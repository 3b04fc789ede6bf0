"""Where a run records, and what becomes of the files that are there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ktrace_cli.errors import KtraceError
from ktrace_cli.launch.output import free_output, output_here, refuse_folder, refuse_output


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_name_with_a_rank_is_checked_as_this_process_would_take_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_PROCID", "3")
    (tmp_path / "r3.bin").touch()

    assert output_here(tmp_path / "r%rank%.bin") == tmp_path / "r3.bin"
    with pytest.raises(KtraceError, match=r"will not replace .*r3\.bin"):
        refuse_output(tmp_path / "r%rank%.bin", may_replace=False)


def test_a_name_with_a_process_id_cannot_be_there_yet(tmp_path: Path) -> None:
    output = tmp_path / "%pid%" / "a.bin"

    refuse_output(output, may_replace=False)
    with free_output(output, "token") as beside:
        assert names(tmp_path) == []  # the folder is made by the process that knows its name

    assert beside == ()


def test_the_folder_is_made(tmp_path: Path) -> None:
    with free_output(tmp_path / "x" / "y" / "a.%pid%.bin", "token"):
        assert names(tmp_path / "x") == ["y"]


def test_the_old_file_comes_back_if_nothing_was_recorded(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_text("old")

    with free_output(tmp_path / "a.bin", "token"):
        assert names(tmp_path) == [".token"]

    assert (tmp_path / "a.bin").read_text() == "old"
    assert names(tmp_path) == ["a.bin"]


def test_the_old_file_comes_back_if_the_run_fails(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_text("old")

    with pytest.raises(KeyboardInterrupt), free_output(tmp_path / "a.bin", "token"):
        raise KeyboardInterrupt

    assert names(tmp_path) == ["a.bin"]


def test_a_new_recording_replaces_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_text("old")

    with free_output(tmp_path / "a.bin", "token"):
        (tmp_path / "a.bin").write_text("new")

    assert (tmp_path / "a.bin").read_text() == "new"
    assert names(tmp_path) == ["a.bin"]


def test_only_what_an_earlier_run_named_by_process_lies_beside(tmp_path: Path) -> None:
    for name in ("a.bin", "a.7.bin", "a.8.2.bin", "a.x.bin", "b.7.bin", "a.7.txt", "a.1.2.3.bin"):
        (tmp_path / name).touch()

    with free_output(tmp_path / "a.bin", "token") as beside:
        pass

    assert [path.name for path in beside] == ["a.7.bin", "a.8.2.bin"]


def test_a_folder_that_may_not_be_written_to_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)

    with pytest.raises(KtraceError) as problem:
        refuse_folder("record to x/y/a.bin", tmp_path / "x" / "y")

    assert problem.value.what == "cannot record to x/y/a.bin"
    assert problem.value.why == f"{tmp_path} cannot be written to"
    assert problem.value.fix == "name another folder"


def test_a_folder_is_looked_at_as_far_as_its_name_is_known(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    refuse_folder("record", tmp_path / "%pid%" / "x")
    with pytest.raises(KtraceError, match="record"):
        refuse_folder("record", tmp_path / "file" / "%pid%")
