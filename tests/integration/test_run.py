"""`ktrace run` as its users start it, on the software device."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ktrace_cli.launch.native import INTERPOSER, SOFTWARE_DEVICE, native_library
from ktrace_cli.trace_file.reader import read_recording
from support.asm_kernel import AsmKernel
from support.compile_kernel import any_compiler

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "tests" / "support" / "launch_saxpy.py"
TRACED = ROOT / "samples" / "saxpy" / "saxpy.gfx942.co"
UNTRACED = ROOT / "samples" / "saxpy" / "saxpy.gfx942.untraced.co"


@pytest.fixture
def ktrace(tmp_path: Path):
    """Run a ktrace command in an empty folder."""

    def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "ktrace_cli", *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "500", **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


def saxpy(code_object: Path = TRACED, count: int = 1) -> list[object]:
    return [sys.executable, PROGRAM, code_object, count]


def gemm() -> list[object]:
    return [sys.executable, ROOT / "samples/gemm/run.py", "--size", "128", "--launches", "1"]


def said(result: subprocess.CompletedProcess[str]) -> list[str]:
    """Return ktrace's own lines after the announcement of the software device."""
    lines = [line for line in result.stderr.splitlines() if "software device" not in line]
    return [line.removeprefix("ktrace: ") for line in lines]


def test_a_run_says_one_line_and_adds_nothing_to_the_programs_output(
    ktrace, tmp_path: Path
) -> None:
    result = ktrace("run", "-o", "a.bin", "--device", "soft", "--", *saxpy(count=3))

    assert (result.returncode, result.stdout) == (0, "ok\n")
    (line,) = result.stderr.splitlines()
    assert re.fullmatch(
        r"ktrace: recorded 3 dispatches in a\.bin \(.* KiB\); next: `ktrace decode a\.bin`", line
    )
    assert [p.name for p in tmp_path.iterdir()] == ["a.bin"]


def test_without_a_driver_the_software_device_is_announced(ktrace) -> None:
    if Path("/dev/kfd").exists():
        pytest.skip("this machine has a GPU driver")

    result = ktrace("run", "-o", "a.bin", "--", *saxpy())

    assert result.stderr.splitlines()[0] == (
        "ktrace: no AMD GPU here: using the software device, whose times are modelled"
    )


def test_without_o_the_recording_has_a_name_of_its_own(ktrace, tmp_path: Path) -> None:
    ktrace("run", "--", *saxpy())
    ktrace("run", "--", *saxpy())

    names = sorted(p.name for p in (tmp_path / "ktrace_out").iterdir())
    assert len(names) == 2
    assert all(re.fullmatch(r"python[\d.]*\.\d+\.bin", name) for name in names)


def test_an_existing_file_is_refused_before_the_start(ktrace, tmp_path: Path) -> None:
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


def test_force_replaces_it(ktrace, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_text("precious")

    assert ktrace("run", "--force", "-o", "a.bin", "--", *saxpy()).returncode == 0
    assert (tmp_path / "a.bin").read_bytes()[:8] == b"KTRACE\x1a\n"


def test_two_processes_write_two_files(ktrace, tmp_path: Path) -> None:
    code = (
        "import subprocess, sys\n"
        "children = [subprocess.Popen(sys.argv[1:]) for _ in range(2)]\n"
        "sys.exit(max(child.wait() for child in children))"
    )

    result = ktrace("run", "-o", "t.bin", "--", sys.executable, "-c", code, *saxpy(count=2))

    names = sorted(p.name for p in tmp_path.iterdir())
    assert result.returncode == 0
    assert len(names) == 2
    assert "t.bin" in names
    assert any(re.fullmatch(r"t\.\d+\.bin", name) for name in names)
    assert said(result)[0].startswith("recorded 4 dispatches in ")
    assert all(name in said(result)[0] for name in names)


def test_a_program_without_annotations_says_what_was_seen(ktrace, tmp_path: Path) -> None:
    result = ktrace("run", "-o", "a.bin", "--", *saxpy(UNTRACED, 2))

    assert (result.returncode, result.stdout) == (0, "ok\n")
    assert said(result) == [
        "nothing was recorded: saw 1 code object (0 annotated, with 0 annotated kernels) and "
        "2 launches (0 of annotated kernels); compile the kernel with ktrace.hpp and "
        "-DKTRACE_ENABLE"
    ]
    assert list(tmp_path.iterdir()) == []


def test_an_annotated_kernel_that_is_never_launched_says_what_was_seen(ktrace, tmp_path) -> None:
    result = ktrace("run", "-o", "a.bin", "--", *saxpy(TRACED, 0))

    assert said(result) == [
        "nothing was recorded: saw 1 code object (1 annotated, with 1 annotated kernel) and "
        "0 launches (0 of annotated kernels)"
    ]
    assert list(tmp_path.iterdir()) == []


def test_a_program_without_hip_says_so(ktrace) -> None:
    result = ktrace("run", "--", "true")

    assert result.returncode == 0
    assert said(result) == [
        "nothing was recorded: no process called HIP through a library that ktrace can see"
    ]


@pytest.mark.parametrize("dashes", [["--"], []])
def test_the_programs_options_are_its_own(ktrace, dashes: list[str]) -> None:
    code = "import sys; print(sys.argv[1:])"

    result = ktrace("run", *dashes, sys.executable, "-c", code, "--version", "-o", "x", "--", "-h")

    assert result.stdout == "['--version', '-o', 'x', '--', '-h']\n"


@pytest.mark.parametrize("status", [1, 3, 255])
def test_the_programs_status_is_returned(ktrace, status: int) -> None:
    assert ktrace("run", "--", "sh", "-c", f"exit {status}").returncode == status


def test_a_missing_program_is_127_in_words(ktrace) -> None:
    result = ktrace("run", "--", "no-such-program")

    assert result.returncode == 127
    assert said(result) == [
        "error: cannot run no-such-program",
        "  why: there is no such program",
        "  try: check the spelling and PATH",
    ]


def test_an_unwritable_folder_never_costs_the_program_its_status(ktrace, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")

    good = ktrace("run", "-o", "file/a.bin", "--", *saxpy())
    bad = ktrace("run", "-o", "file/a.bin", "--", "sh", "-c", "exit 7")

    assert (good.returncode, good.stdout) == (125, "ok\n")
    assert "file/a.bin" in good.stderr
    assert bad.returncode == 7


def test_libraries_in_a_folder_that_the_loader_cannot_name(ktrace, tmp_path: Path) -> None:
    folder = tmp_path / "a b:c"
    folder.mkdir()
    for name in (INTERPOSER, SOFTWARE_DEVICE):
        shutil.copy(native_library(name), folder)

    result = ktrace("run", "-o", "a.bin", "--", *saxpy(), KTRACE_NATIVE_DIR=str(folder))

    assert (result.returncode, result.stdout) == (0, "ok\n")
    assert said(result)[0].startswith("recorded 1 dispatch in a.bin")


def test_the_users_preload_is_kept(ktrace) -> None:
    code = "import os; print(os.environ['LD_PRELOAD'].split(':')[-1])"

    result = ktrace("run", "--", sys.executable, "-c", code, LD_PRELOAD="libc.so.6")

    assert result.stdout == "libc.so.6\n"


def test_a_static_program_runs_and_is_said_to_be_untraced(ktrace, tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    (tmp_path / "p.c").write_text("int main(void) { return 3; }")
    built = subprocess.run([compiler, "-static", "p.c", "-o", "p"], cwd=tmp_path, check=False)
    if built.returncode:
        pytest.skip("no static C library")

    result = ktrace("run", "--", "./p")

    assert result.returncode == 3
    assert said(result)[0] == (
        "warning: the interposer was not loaded into the program: it is statically linked"
    )


def test_run_f_pftrace_decodes_at_the_end(ktrace, tmp_path: Path) -> None:
    result = ktrace("run", "-f", "pftrace", "-o", "a.bin", "--", *saxpy())

    assert result.returncode == 0
    assert (tmp_path / "a.pftrace.gz").read_bytes()[:2] == b"\x1f\x8b"


@pytest.mark.parametrize(
    "options",
    [
        ["--memory", "lots"], ["--memory", "1K"], ["--device", "fpga"], ["--arch", "gfx000"],
        ["--words", "33"], ["--words", "16"], ["--blocks", "foo"], ["--blocks", "0:8:3"],
        ["--blocks", "1,2,3,4"], ["--waves", "99"], ["--waves", "3-1"], ["--xcc", "z"],
        ["--kernel", "/[/"], ["--kernel", ""],
    ],
)  # fmt: skip
def test_bad_options_are_usage_errors(ktrace, tmp_path: Path, options: list[str]) -> None:
    result = ktrace("run", *options, "--", "touch", "started")

    assert result.returncode == 2
    assert options[1] in result.stderr or options[1] == "1K"
    assert not (tmp_path / "started").exists()


def test_no_program_is_a_usage_error(ktrace) -> None:
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
    ktrace, tmp_path: Path, options: list[str], waves: list[tuple[int, int]]
) -> None:
    result = ktrace("run", *options, "-o", "a.bin", "--", *saxpy())

    (dispatch,) = read_recording(tmp_path / "a.bin").dispatches
    recorded = [(int(h["block"][0]), int(h["wave"])) for h in dispatch.headers]
    assert (result.returncode, result.stdout) == (0, "ok\n")
    assert recorded == waves


def test_words_sets_the_size_of_regions(ktrace, tmp_path: Path) -> None:
    ktrace("run", "--words", "512", "-o", "a.bin", "--", *saxpy())

    (dispatch,) = read_recording(tmp_path / "a.bin").dispatches
    assert int(dispatch.record["region_log2"]) == 12  # 512 words of 8 bytes


def test_words_that_do_not_fit_are_said(ktrace) -> None:
    result = ktrace("run", "--words", "32", "-o", "a.bin", "--", *gemm())

    assert said(result)[0] == (
        "warning: 112 words did not fit their waves' regions; `--words` makes regions larger"
    )


def test_arch_chooses_the_device(ktrace, tmp_path: Path) -> None:
    result = ktrace("run", "--arch", "gfx950", "-o", "a.bin", "--", *gemm())

    (device,) = read_recording(tmp_path / "a.bin").devices.values()
    assert result.returncode == 0
    assert device.target.startswith("gfx950")


def test_a_kernel_that_is_not_chosen_is_said(ktrace, tmp_path: Path) -> None:
    result = ktrace("run", "--kernel", "gemm*", "-o", "a.bin", "--", *saxpy(count=3))

    assert said(result) == [
        "nothing was recorded: saw 1 code object (1 annotated, with 1 annotated kernel) and "
        "3 launches (3 of annotated kernels); `--kernel` left out 3 launches"
    ]
    assert list(tmp_path.iterdir()) == []


def test_settings_from_elsewhere_that_make_no_sense_are_said(ktrace) -> None:
    result = ktrace("run", "--", *saxpy(), KTRACE_WORDS="33")

    assert (result.returncode, result.stdout) == (0, "ok\n")
    assert "KTRACE_WORDS" in result.stderr
    assert said(result)[-1] == (
        "nothing was recorded: ktrace's settings were not understood, so it did not look"
    )


def test_a_missing_folder_is_made(ktrace, tmp_path: Path) -> None:
    ktrace("run", "-o", "x/y/a.bin", "--", *saxpy())

    assert (tmp_path / "x/y/a.bin").exists()


def test_force_replaces_regular_files_only(ktrace, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("elsewhere")

    for name in ("fifo", "link", "/dev/null"):
        result = ktrace("run", "--force", "-o", name, "--", *saxpy())
        assert result.returncode == 125
        assert said(result)[1] == "  why: it exists and is no regular file"
    assert (tmp_path / "fifo").is_fifo()
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("name", ["-", "x.pftrace.gz"])
def test_o_names_a_recording(ktrace, tmp_path: Path, name: str) -> None:
    assert ktrace("run", "-o", name, "--", *saxpy()).returncode == 2
    assert list(tmp_path.iterdir()) == []


def test_a_full_standard_output_is_an_error_in_words(ktrace, tmp_path: Path) -> None:
    ktrace("run", "-o", "a.bin", "--", *saxpy())

    for command in (["summary", "a.bin"], ["summary", "--json", "a.bin"], ["inspect", "a.bin"]):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [sys.executable, "-m", "ktrace_cli", *command],
                cwd=tmp_path,
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        assert done.returncode == 1
        assert "ktrace: error: cannot write to standard output\n" in done.stderr
        assert "No space left on device" in done.stderr


def test_force_keeps_the_old_file_if_nothing_is_recorded(ktrace, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_text("precious")

    ktrace("run", "--force", "-o", "a.bin", "--", "true")
    ktrace("run", "--force", "-o", "a.bin", "--", "no-such-program")

    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("a.bin", "precious")]


def test_an_unknown_instruction_is_named_and_the_program_sees_hips_error(ktrace, tmp_path) -> None:
    compiler = any_compiler("gfx942")
    kernel = AsmKernel("  v_cubeid_f32 v0, v1, v2, v3\n", name="saxpy")
    code_object = compiler.assemble(kernel.source("gfx942"))

    result = ktrace("run", "--", *saxpy(code_object))

    assert result.returncode != 0
    assert "v_cubeid_f32" in result.stderr
    assert "saxpy" in result.stderr
