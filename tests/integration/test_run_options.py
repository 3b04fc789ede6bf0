"""Options of `ktrace run`: what they change, and what makes no sense."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ktrace_cli.app import SUBCOMMANDS, load_subcommand
from ktrace_cli.launch.placeholders import PER_PROCESS, facts_of_run
from ktrace_cli.trace_file.layout import Mode
from ktrace_cli.trace_file.reader import read_recording
from support.asm_kernel import AsmKernel
from support.compile_kernel import any_compiler
from support.ktrace_command import ROOT, Ktrace, gemm, said, saxpy


@pytest.mark.parametrize(
    "options",
    [
        ["--memory", "lots"], ["--memory", "1K"], ["--device", "fpga"], ["--arch", "gfx000"],
        ["--words", "33"], ["--words", "16"], ["--blocks", "foo"], ["--blocks", "0:8:3"],
        ["--blocks", "1,2,3,4"], ["--waves", "99"], ["--waves", "3-1"], ["--xcc", "z"],
        ["--kernel", "/[/"], ["--kernel", ""], ["--kernel-include-regex", "("],
        ["--kernel-exclude-regex", "(?i)x"], ["--kernel-iteration-range", "0"],
        ["--collection-period", "5:0:1"], ["--collection-period-unit", "sec"], ["--mode", "both"],
        ["--full", "drop"], ["--on-full", "saturate"], ["--on-full-ms", "10"], ["--hang", "0"],
        ["--log-level", "loud"], ["--soft-devices", "0"], ["-o", "%what%.bin"], ["-d", "%"],
        ["-f", "csv"], ["-i", "missing.yaml"],
    ],
)  # fmt: skip
def test_bad_options_are_usage_errors(ktrace: Ktrace, tmp_path: Path, options: list[str]) -> None:
    result = ktrace("run", *options, "--", "touch", "started")

    assert result.returncode == 2
    assert (options[1] in result.stderr) or (options[0] in result.stderr)
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
        "3 launches (3 of annotated kernels); the filters of kernels left out 3 launches "
        "(annotated kernels here: saxpy)"
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


@pytest.mark.parametrize(
    ("options", "launches"),
    [
        (["--kernel-include-regex", "^sax"], [1, 2, 3, 4, 5]),
        (["--kernel-include-regex", "gemm", "--kernel-include-regex", "xpy$"], [1, 2, 3, 4, 5]),
        (["--kernel-iteration-range", "[1,[3-4]]"], [1, 3, 4]),
        (["--kernel-iteration-range", "2", "--kernel-iteration-range", "5-9"], [2, 5]),
        (["--kernel", "saxpy", "--kernel-exclude-regex", "gemm"], [1, 2, 3, 4, 5]),
        (["-P", "0:1:1", "--collection-period-unit", "hour"], [1, 2, 3, 4, 5]),
    ],
)
def test_options_choose_which_launches_are_recorded(
    ktrace: Ktrace, tmp_path: Path, options: list[str], launches: list[int]
) -> None:
    result = ktrace("run", *options, "-o", "a.bin", "--", *saxpy(count=5))

    recorded = [int(d.record["launch"]) for d in read_recording(tmp_path / "a.bin").dispatches]
    assert (result.returncode, result.stdout) == (0, "ok\n")
    assert recorded == launches
    assert len(said(result)) == 1


@pytest.mark.parametrize(
    ("options", "left_out"),
    [
        (["--kernel-include-regex", "gemm"],
         "the filters of kernels left out 2 launches (annotated kernels here: saxpy)"),
        (["--kernel-exclude-regex", "saxpy"],
         "the filters of kernels left out 2 launches (annotated kernels here: saxpy)"),
        (["--kernel-iteration-range", "3"], "the range of iterations left out 2 launches"),
        (["-P", "1:1:1", "--collection-period-unit", "hour"],
         "the collection period left out 2 launches"),
    ],
)  # fmt: skip
def test_options_that_leave_nothing_say_so(
    ktrace: Ktrace, tmp_path: Path, options: list[str], left_out: str
) -> None:
    result = ktrace("run", *options, "-o", "a.bin", "--", *saxpy(count=2))

    assert (result.returncode, result.stdout) == (0, "ok\n")
    assert said(result) == [
        "nothing was recorded: saw 1 code object (1 annotated, with 1 annotated kernel) and "
        f"2 launches (2 of annotated kernels); {left_out}"
    ]
    assert list(tmp_path.iterdir()) == []


def test_mode_chooses_how_waves_find_their_words(ktrace: Ktrace, tmp_path: Path) -> None:
    ktrace("run", "--mode", "claim", "-o", "claim.bin", "--", *saxpy())
    ktrace("run", "--mode", "direct", "-o", "direct.bin", "--", *saxpy())

    modes = [
        int(read_recording(tmp_path / f"{name}.bin").dispatches[0].record["mode"])
        for name in ("direct", "claim")
    ]
    assert modes == [Mode.DIRECT, Mode.CLAIM]


def test_direct_never_claims(ktrace: Ktrace) -> None:
    """saxpy has 16 waves: at 64 KiB and 8,192 words, 65,536 bytes each, they do not fit."""
    options = ("--memory", "64K", "--words", "8192", "-o", "a.bin")

    direct = ktrace("run", "--mode", "direct", *options, "--", *saxpy())

    assert (direct.returncode, direct.stdout) == (0, "ok\n")
    assert said(direct)[1] == (
        "warning: 1 launch was not traced: `--memory` had no room for its trace buffer"
    )
    assert said(direct)[-1].startswith("nothing was recorded: ")


def test_a_ring_says_nothing_while_no_region_is_full(ktrace: Ktrace) -> None:
    result = ktrace("run", "--full", "ring", "-o", "a.bin", "--", *saxpy(count=2))

    (line,) = said(result)
    assert line.startswith("recorded 2 dispatches in a.bin (")


def test_there_are_as_many_software_devices_as_asked_for(ktrace: Ktrace) -> None:
    code = (
        "import ctypes; hip = ctypes.CDLL('libamdhip64.so.7'); n = ctypes.c_int()\n"
        "print(hip.hipGetDeviceCount(ctypes.byref(n)), n.value)"
    )

    result = ktrace("run", "--soft-devices", "3", "--", sys.executable, "-c", code)

    assert result.stdout == "0 3\n"


def test_kernels_are_checked_if_that_is_asked_for(ktrace: Ktrace) -> None:
    forgets_to_wait = AsmKernel(
        "  s_load_dwordx2 s[4:5], s[0:1], 0x0\n  s_add_u32 s6, s4, 1\n  s_waitcnt lgkmcnt(0)"
    )
    code_object = any_compiler("gfx942").assemble(forgets_to_wait.source("gfx942"), "-g")
    code = (
        f"import sys, ctypes; sys.path.append({str(ROOT / 'tests')!r})\n"
        "from support.hip import Hip; hip = Hip('libamdhip64.so.7')\n"
        f"kernel = hip.function({str(code_object)!r}, 'test_kernel')\n"
        "argument = ctypes.c_uint64(); values = (ctypes.c_void_p * 1)(ctypes.addressof(argument))\n"
        "launch = hip.library.hipModuleLaunchKernel\n"
        "hip.check(launch(kernel, 1, 1, 1, 64, 1, 1, 0, None, values, None))\n"
        "hip.check(hip.library.hipDeviceSynchronize())"
    )

    silent = ktrace("run", "--device", "soft", "--", sys.executable, "-c", code)
    checked = ktrace("run", "--device", "soft", "--soft-check", "--", sys.executable, "-c", code)

    assert "check" not in silent.stderr
    assert (
        "ktrace: check: kernel `test_kernel`, workgroup (0, 0, 0), wave 0, pc +0x8 [80068104"
        " s_add_u32] at kernel.s:10: reads s4 without an s_waitcnt lgkmcnt for what loads it at"
        " +0x0 (kernel.s:9)"
    ) in checked.stderr.splitlines()


def test_options_of_the_software_device_need_it(ktrace: Ktrace, tmp_path: Path) -> None:
    result = ktrace("run", "--device", "hardware", "--arch", "gfx950", "--", "touch", "started")

    assert result.returncode == 2
    assert said(result)[0] == "error: `--arch gfx950` has no meaning here"
    assert not (tmp_path / "started").exists()


def test_log_level_env_shows_what_the_program_gets(ktrace: Ktrace) -> None:
    result = ktrace(
        "run", "--log-level", "env", "--words", "64", "-o", "a.bin", "--device", "soft", "--",
        *saxpy(),
    )  # fmt: skip

    shown = dict(line.split("=", 1) for line in said(result)[:-1])
    assert shown["KTRACE_WORDS"] == "64"
    assert shown["LD_PRELOAD"].startswith("/")
    assert shown["PATH"].startswith(f"{shown['ROCM_PATH']}/bin:")
    assert "HOME" not in shown  # what stays as it was
    assert said(result)[-1].startswith("recorded 1 dispatch in a.bin")


def test_an_unknown_option_suggests_the_nearest(ktrace: Ktrace) -> None:
    result = ktrace("run", "--kernel-includ-regex", "x", "--", "true")

    assert result.returncode == 2
    assert said(result)[0] == "error: `ktrace run` has no option --kernel-includ-regex"
    assert "did you mean" in said(result)[2]
    assert "`--kernel-include-regex`" in said(result)[2]


def test_every_option_has_a_row_in_its_page() -> None:
    page = (ROOT / "docs" / "reference" / "cli-run.md").read_text()
    options = [
        name
        for parameter in load_subcommand("run").params
        for name in parameter.opts
        if name.startswith("-") and name not in ("--help", "-h")
    ]

    assert {"-o", "--output-file", "--output", "--kernel-iteration-range", "-i"} <= set(options)
    assert [name for name in options if not re.search(rf"`{name}[` ]", page)] == []


def test_every_placeholder_is_in_the_page() -> None:
    page = (ROOT / "docs" / "reference" / "cli-run.md").read_text()
    names = [*PER_PROCESS, *facts_of_run(["program"], {}, time.localtime())]

    assert [name for name in names if f"`%{name}%`" not in page] == []


@pytest.mark.parametrize("name", list(SUBCOMMANDS))
def test_the_list_of_subcommands_says_what_their_help_says(name: str) -> None:
    assert load_subcommand(name).help.splitlines()[0] == SUBCOMMANDS[name].summary


def test_help_loads_no_subcommand(ktrace: Ktrace) -> None:
    code = (
        "import sys; sys.argv = ['ktrace', '--help']\n"
        "from ktrace_cli.app import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([name for name in ('numpy', 'ktrace_cli.commands') if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"
