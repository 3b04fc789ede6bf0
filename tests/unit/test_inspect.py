"""`ktrace inspect` as a user meets it: text, JSON, exit status, words."""

import os
from pathlib import Path

import orjson
import pytest
import typer
from typer.testing import CliRunner, Result

from ktrace_cli.commands.inspect import inspect
from ktrace_cli.errors import CodeObjectError, KtraceError
from ktrace_cli.trace_file.layout import Kind
from support.bundles import HOST_ENTRY, hip_entry, make_bundle, make_program
from support.code_object import ET_REL, EdgeSource, EventSource, KernelSource, make_code_object
from support.disassembling import use_no_disassembler
from support.recording import RecordingBuilder

IMAGE = make_code_object(
    [
        KernelSource("saxpy", unit_key=0x11, metadata={".vgpr_count": 40, ".agpr_count": 8}),
        KernelSource("plain"),
    ],
    [
        EventSource(1, "load", Kind.START, lane="vmem", file="saxpy.hip", line=12),
        EventSource(2, "mma", Kind.PHASE, file="saxpy.hip", line=20),
        EventSource(3, "norm", Kind.MARK, file="norm.hip", line=4, kernel=""),
    ],
    [EdgeSource("load", "mma")],
)


@pytest.fixture(autouse=True)
def no_disassembler(monkeypatch: pytest.MonkeyPatch) -> None:
    use_no_disassembler(monkeypatch)


def run(*arguments: str | Path) -> Result:
    app = typer.Typer()
    app.command()(inspect)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def error_of(*arguments: str | Path) -> KtraceError:
    problem = run(*arguments).exception
    assert isinstance(problem, KtraceError)
    return problem


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "saxpy.co"
    path.write_bytes(IMAGE)
    return path


def test_text_shows_kernels_markers_and_resources(image):
    result = run(image)

    assert result.exit_code == 0
    lines = [" ".join(line.strip("─- ").split()) for line in result.stdout.splitlines()]
    assert [line for line in lines if line] == [
        str(image),
        "gfx942:sramecc+:xnack-: 2 kernels, 1 annotated",
        "saxpy: annotated",
        "trace argument: argument 3 of 3 (offset 16)",
        "40 VGPRs (8 AGPRs), 24 SGPRs, 0 SGPR and 0 VGPR spills, 1.0 KiB LDS, "
        "0 B scratch per lane, up to 256 work-items per workgroup",
        "occupancy: 8 waves per SIMD, of 8 at most, for workgroups of 256 work-items "
        "(the most that it allows)",
        "limited by hardware; waves per SIMD by each limit alone: VGPRs 8, LDS 8, SGPRs 8, "
        "workgroup size 8, hardware 8",
        "event kind lane source places",
        "load start vmem saxpy.hip:12 1",
        "mma phase - saxpy.hip:20 1",
        "in functions that kernels call",
        "event kind lane source places",
        "norm mark - norm.hip:4 1",
        "edge: `load` -> `mma`",
        "not annotated",
        "kernel VGPRs SGPRs LDS scratch waves per SIMD limited by",
        "plain 32 24 1.0 KiB 0 B 8 hardware",
    ]


def test_json_has_the_promised_keys(image):
    result = run(image, "--json")

    (code_object,) = orjson.loads(result.stdout)["code_objects"]
    assert set(code_object) == {
        "origin", "target", "loadable", "kernels", "function_events", "edges", "warnings",
        "problems", "not_disassembled",
    }  # fmt: skip
    assert code_object["target"] == "gfx942:sramecc+:xnack-"
    saxpy, plain = code_object["kernels"]
    assert (saxpy["name"], saxpy["annotated"]) == ("saxpy", True)
    assert (plain["name"], plain["annotated"], plain["events"]) == ("plain", False, [])
    assert saxpy["trace_argument"] == {"index": 2, "offset": 16}
    assert (saxpy["vgprs"], saxpy["agprs"], saxpy["lds_bytes"]) == (40, 8, 1024)
    load, mma = saxpy["events"]
    assert (load["name"], load["kind"], load["line"], load["lane"]) == ("load", "start", 12, "vmem")
    assert (mma["name"], mma["kind"], mma["line"], mma["file"]) == ("mma", "phase", 20, "saxpy.hip")
    assert [event["name"] for event in code_object["function_events"]] == ["norm"]
    assert code_object["edges"] == [{"source": "load", "destination": "mma"}]


def test_a_program_and_a_bundle_are_read(tmp_path):
    bundle = make_bundle([HOST_ENTRY, hip_entry("gfx942", IMAGE), hip_entry("gfx950", IMAGE)])
    program = tmp_path / "app"
    program.write_bytes(make_program(bundle))
    fat = tmp_path / "app.hipfb"
    fat.write_bytes(bundle)

    result = run(program, fat, "--json")

    origins = [one["origin"] for one in orjson.loads(result.stdout)["code_objects"]]
    assert [origin.rsplit(", ", 1)[1] for origin in origins] == ["gfx942", "gfx950"] * 2
    assert origins[2].startswith(f"{fat}, bundle at offset 0")


def test_a_recordings_code_objects_are_read(tmp_path):
    recording = RecordingBuilder()
    recording.add_code_object(IMAGE)
    path = recording.write(tmp_path / "run.bin", closed=False)

    result = run(path, "--json")

    assert result.exit_code == 0
    (code_object,) = orjson.loads(result.stdout)["code_objects"]
    assert code_object["origin"] == f"{path}, code object 0"
    assert code_object["kernels"][0]["events"][0]["name"] == "load"
    closing, disassembling = result.stderr.splitlines()
    assert disassembling.startswith(f"ktrace: warning: cannot disassemble {path}, code object 0: ")
    assert [closing] == [
        f"ktrace: warning: {path}: 1 recording was not closed, as its process ended by exec or a"
        " signal (as workers of a pool do), or the file was cut: what it holds is whole; whether"
        " there was more is not known"
    ]


def test_the_damage_of_a_recording_is_told_in_words(tmp_path):
    recording = RecordingBuilder()
    recording.add_code_object(IMAGE)
    path = recording.write(tmp_path / "run.bin")
    path.write_bytes(path.read_bytes()[:-10])

    result = run(path)

    torn = "bytes at the file's end are no whole chunk"
    assert [line for line in result.stderr.splitlines() if torn in line]
    words = result.stderr.replace("KTRACE_OBJDUMP", "").replace("os._exit", "")
    assert "_" not in words.replace(str(path), "")


def test_an_edge_whose_end_is_misspelt_is_told(tmp_path):
    path = tmp_path / "k.co"
    events = [EventSource(1, "load", Kind.START), EventSource(2, "done", Kind.MARK)]
    edges = [EdgeSource("load", "lod"), EdgeSource("typo", "rgg"), EdgeSource("load", "done")]
    path.write_bytes(make_code_object([KernelSource("k", unit_key=0x11)], events, edges))

    result = run(path)

    assert "note: edge load -> lod: no range is named lod" in result.stdout
    assert "note: edge typo -> rgg: no range is named typo or rgg" in result.stdout
    assert "note: edge load -> done: no range is named done" in result.stdout


def test_nothing_annotated_says_what_to_do(tmp_path):
    path = tmp_path / "plain.co"
    path.write_bytes(make_code_object([KernelSource("plain")]))

    result = run(path)

    assert result.exit_code == 0
    assert "no kernel here is annotated" in result.stderr
    assert "-DKTRACE_ENABLE" in result.stderr


def test_an_unlinked_object_with_markers_is_not_called_unannotated(tmp_path):
    path = tmp_path / "k.o"
    events = [EventSource(1, "load")]
    image = make_code_object([KernelSource("k", unit_key=0x11)], events, elf_type=ET_REL)
    path.write_bytes(image)

    result = run(path)

    assert "relocatable, not loadable" in result.stdout
    assert "annotated: put" not in result.stderr


def test_an_annotated_kernel_without_a_place_for_its_argument_says_why(tmp_path):
    path = tmp_path / "k.co"
    path.write_bytes(make_code_object([KernelSource("k", unit_key=0x11, arguments=None)]))

    result = run(path)

    assert "cannot be traced: its metadata lists no arguments" in result.stdout


def test_names_in_brackets_are_shown_as_they_are(tmp_path):
    path = tmp_path / "k.co"
    events = [EventSource(1, "[red]tile[/red]")]
    path.write_bytes(make_code_object([KernelSource("k[0]", unit_key=0x11)], events))

    result = run(path)

    assert "[red]tile[/red]" in result.stdout
    assert "k[0]: annotated" in result.stdout


@pytest.mark.parametrize(
    ("content", "why", "fix"),
    [
        (b"", "it is empty", "build it again"),
        (b"not an elf\n", "it is text", "give a code object"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer", "`git lfs pull`"),
        (make_program(None), "no section .hip_fatbin", "the library that defines the kernels"),
    ],
    ids=["empty", "text", "LFS pointer", "host without GPU code"],
)
def test_each_file_that_holds_no_code_has_its_own_message(tmp_path, content, why, fix):
    path = tmp_path / "some.co"
    path.write_bytes(content)

    error = error_of(path)

    assert str(path) in error.what
    assert why in error.why
    assert fix in error.fix
    assert error.status == 1


def test_a_missing_file_is_named(tmp_path):
    error = error_of(tmp_path / "no.co")

    assert isinstance(error, CodeObjectError)
    assert error.why == "No such file or directory"


def test_a_pipe_is_refused_without_waiting_for_it(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)

    assert error_of(path).why.startswith("it is no regular file")


def test_a_damaged_entry_is_an_error_and_the_others_are_shown(tmp_path):
    bundle = make_bundle([hip_entry("gfx942", IMAGE), hip_entry("gfx950", IMAGE)], align=8)
    path = tmp_path / "cut.hipfb"
    path.write_bytes(bundle[:-16])

    result = run(path)

    assert result.exit_code == 1
    assert "saxpy: annotated" in result.stdout
    assert "cannot read the bundle at offset 0" in result.stderr


def test_unreadable_metadata_is_said_and_fails(tmp_path):
    path = tmp_path / "k.co"
    # 0xc1 is the one byte that MessagePack never uses.
    path.write_bytes(IMAGE.replace(b"\x83\xaeamdhsa", b"\xc1\xaeamdhsa"))

    result = run(path)

    assert result.exit_code == 1
    assert f"error: {path} is damaged; the rest of it was read" in result.stderr
    assert "the metadata note at offset" in result.stderr
    assert "cannot be read" in result.stderr


def test_a_bundle_for_the_host_only_holds_no_code_object(tmp_path):
    path = tmp_path / "host.hipfb"
    path.write_bytes(make_bundle([HOST_ENTRY]))

    result = run(path)

    assert result.exit_code == 1
    assert "holds no code object" in result.stderr


def test_a_file_that_cannot_be_read_hides_no_other(image, tmp_path, capsys):
    other = tmp_path / "other.co"
    other.write_bytes(IMAGE)

    result = run(image, tmp_path / "nope", other)

    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert [line for line in lines if line.endswith(".co")] == [str(image), str(other)]
    assert f"error: cannot read {tmp_path / 'nope'}" in result.stderr
