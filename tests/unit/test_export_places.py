"""Where `decode`, `merge` and `view` refuse to write."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ktrace_cli.app import app
from ktrace_cli.errors import KtraceError, UsageError
from ktrace_cli.export.output import STDOUT, check_place, refuse_terminal
from support.recording import Wave
from support.timelines import TILE, builder
from support.words import span


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recording in the folder that one works in."""
    monkeypatch.chdir(tmp_path)
    made, kernel = builder()
    made.add_dispatch(kernel, [Wave(main=[span(TILE, 1200, 1300)])])
    return made.write(tmp_path / "run.bin").relative_to(tmp_path)


def ktrace(*arguments: object) -> Result:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.mark.parametrize("link", [lambda _, __: None, os.symlink, os.link])
@pytest.mark.parametrize("force", [(), ("--force",)])
@pytest.mark.parametrize(
    ("command", "options", "what"),
    [("decode", ("-f", "csv"), "recording"), ("merge", (), "input"), ("baseline", (), "input")],
)
def test_the_file_that_is_read_is_never_written_to(
    recording: Path,
    link: Callable[[Path, str], None],
    force: tuple[str, ...],
    command: str,
    options: tuple[str, ...],
    what: str,
) -> None:
    content = recording.read_bytes()
    link(recording, "other.pftrace")
    name = "other.pftrace" if Path("other.pftrace").exists() else "run.bin"
    options = ("-f", "pftrace") if options and name == "other.pftrace" else options

    with pytest.raises(UsageError) as problem:
        ktrace(command, recording, *options, "-o", name, *force)

    named = "" if name == "run.bin" else "run.bin "
    assert problem.value.what == f"will not write to {name}"
    assert problem.value.why == f"it is the {what} {named}itself"
    assert recording.read_bytes() == content


def test_no_member_of_a_folder_that_is_merged_is_written_to(recording: Path) -> None:
    content = recording.read_bytes()

    with pytest.raises(UsageError, match="will not write to run"):
        ktrace("merge", ".", "-o", "run.bin", "--force")

    assert recording.read_bytes() == content


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("run.html", ("decode", "-f", "html")),
        ("run.pftrace.gz", ("decode",)),
        ("run.pftrace.gz", ("view", "--no-browser", "--timeout", "0.1")),
    ],
)
def test_a_place_of_its_own_that_is_the_recording_is_refused(
    recording: Path, name: str, command: tuple[str, ...]
) -> None:
    Path(name).symlink_to(recording)

    with pytest.raises(UsageError, match="will not write to run"):
        ktrace(*command, recording)


@pytest.mark.parametrize(
    ("name", "why", "fix"),
    [
        ("z.json", "its name is that of chrome", "choose another name, such as z.pftrace"),
        (
            "z.json.gz",
            "its name is that of chrome",
            "choose another name, such as z.pftrace.gz",
        ),
        (
            "x",
            "its name ends with none of .pftrace, .perfetto-trace",
            "choose another name, such as x.pftrace",
        ),
    ],
)
def test_merge_writes_traces_under_names_of_traces_only(
    recording: Path, name: str, why: str, fix: str
) -> None:
    with pytest.raises(UsageError) as problem:
        ktrace("merge", recording, "-o", name)

    assert problem.value.what == f"will not write a Perfetto trace to {name}"
    assert (problem.value.why, problem.value.fix) == (why, fix)
    assert not Path(name).exists()


@pytest.mark.parametrize(
    ("name", "begin"),
    [("A.PFTRACE", b"\x0a"), ("a.Pftrace.GZ", b"\x1f"), ("a.perfetto-trace", b"\x0a")],
)
@pytest.mark.parametrize("command", ["decode", "merge"])
def test_names_of_traces_are_known_in_any_case(
    recording: Path, command: str, name: str, begin: bytes
) -> None:
    ktrace(command, recording, "-o", name)

    assert Path(name).read_bytes()[:1] == begin


@pytest.mark.parametrize(
    ("name", "what", "why", "fix"),
    [
        (
            "",
            "the value of `-o` is empty",
            "a path is wanted; a variable that is not set is empty",
            "name a file; `.` is the current folder",
        ),
        (".", "cannot write .", "it is a folder", "name a file, in this folder or another one"),
        (
            "no such/a.pftrace",
            "cannot write no such/a.pftrace",
            "there is no folder no such, and ktrace makes none here",
            "`mkdir -p 'no such'`, or name another file",
        ),
        (
            f"{'a' * 300}.pftrace",
            f"cannot write {'a' * 300}.pftrace",
            "File name too long",
            "name a file in a folder that can be written to and has room",
        ),
    ],
)
@pytest.mark.parametrize("command", ["decode", "merge"])
def test_where_nothing_can_be_written_is_said_with_what_to_do(
    recording: Path, command: str, name: str, what: str, why: str, fix: str
) -> None:
    with pytest.raises(KtraceError) as problem:
        ktrace(command, recording, "-o", name)

    assert (problem.value.what, problem.value.why, problem.value.fix) == (what, why, fix)


def test_an_existing_file_is_refused_before_anything_is_read(recording: Path) -> None:
    Path("damaged.bin").write_bytes(b"no recording")
    Path("there.pftrace").touch()

    with pytest.raises(KtraceError, match=r"there\.pftrace exists"):
        ktrace("decode", "damaged.bin", "-o", "there.pftrace")


class Terminal:
    """Says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_no_trace_is_printed_to_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Terminal())

    with pytest.raises(UsageError) as problem:
        refuse_terminal(STDOUT)

    assert problem.value.what == "will not write to a terminal"
    assert problem.value.fix == "name a file with `-o`, or pipe it to a program"
    refuse_terminal(Path("-.pftrace"))
    check_place(STDOUT, may_replace=False)


@pytest.mark.parametrize(
    ("line", "what", "fix"),
    [
        (
            "view nope",
            "cannot read nope",
            "name a recording or a trace; without a name the newest recording is shown",
        ),
        (
            "merge nope -o a.pftrace",
            "cannot read nope",
            "name recordings, traces, or folders of these",
        ),
        (
            "merge foreign.csv -o a.pftrace",
            "cannot merge foreign.csv",
            "leave it out, or let its tool write one of these",
        ),
        ("merge run.bin run.bin -o a.pftrace", "run.bin is named twice", "leave one of them out"),
    ],
)
def test_what_cannot_be_read_is_said_with_what_to_do(
    recording: Path, line: str, what: str, fix: str
) -> None:
    Path("foreign.csv").write_text("city,people\nBerlin,3\n")

    with pytest.raises(KtraceError) as problem:
        ktrace(*line.split())

    assert (problem.value.what, problem.value.fix) == (what, fix)
    assert problem.value.why


def test_a_perfetto_ui_that_is_missing_is_told_of_before_a_recording_is_read(
    recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ktrace_cli.viewer.perfetto_ui.find_spec", lambda _: None)

    with pytest.raises(KtraceError, match="there is no Perfetto UI to serve"):
        ktrace("view", "--offline", "--no-browser", recording)

    assert [path.name for path in Path().iterdir()] == ["run.bin"]
