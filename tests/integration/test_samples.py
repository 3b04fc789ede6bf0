"""The samples: right results with and without ktrace; code objects that match their sources."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ktrace_cli.errors import KtraceError
from ktrace_cli.launch.native import SOFTWARE_DEVICE, SOFTWARE_DEVICE_NAMES
from ktrace_cli.libraries import native_library

ROOT = Path(__file__).resolve().parents[2]
TARGETS = ("gfx942", "gfx950")
# The host's options, and what it prints.
RUNS = {
    "saxpy": (("--size", "5000"), r"saxpy 5000: max error [0-9.e-]+, ok\n"),
    "gemm": (("--size", "128"), r"gemm 128x128x128: max error [0-9.e-]+, ok\n"),
}


@pytest.fixture(scope="module")
def plain_environment() -> dict[str, str]:
    """The environment without anything of ROCm, and of ktrace only where its libraries are."""
    foreign = ("KTRACE_", "ROCM_", "HIP_", "LD_PRELOAD", "LD_LIBRARY_PATH")
    return {
        name: value
        for name, value in os.environ.items()
        if name == "KTRACE_NATIVE_DIR" or not name.startswith(foreign)
    }


@pytest.fixture(scope="module")
def soft_environment(
    plain_environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """The software device in place of HIP, and nothing else of ktrace."""
    try:
        library = native_library(SOFTWARE_DEVICE)
    except KtraceError as error:
        pytest.skip(f"{error.what}: {error.why}")
    rocm = tmp_path_factory.mktemp("rocm")
    (rocm / "lib").mkdir()
    for name in SOFTWARE_DEVICE_NAMES:
        (rocm / "lib" / name).symlink_to(library)
    return plain_environment | {"ROCM_PATH": str(rocm)}


def run_python(
    *arguments: str, environment: dict[str, str], cwd: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.mark.parametrize("variant", [(), ("--untraced",)], ids=["annotated", "untraced"])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("sample", RUNS)
def test_a_host_runs_without_ktrace(
    sample: str, target: str, variant: tuple[str, ...], soft_environment: dict[str, str]
) -> None:
    options, line = RUNS[sample]
    environment = soft_environment | {"KTRACE_SOFT_ARCH": target}

    done = run_python(f"samples/{sample}/run.py", *options, *variant, environment=environment)

    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(line, done.stdout), done.stdout


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("sample", RUNS)
def test_a_traced_host_prints_what_it_prints_without_ktrace(
    sample: str, target: str, soft_environment: dict[str, str], tmp_path: Path
) -> None:
    host = (f"samples/{sample}/run.py", *RUNS[sample][0])
    environment = soft_environment | {"KTRACE_SOFT_ARCH": target}
    recording = tmp_path / "run.bin"
    run = ("-m", "ktrace_cli", "run", "--device", "soft", "-o", str(recording), "--")

    plain = run_python(*host, environment=environment)
    traced = run_python(*run, sys.executable, *host, environment=environment)

    assert (traced.returncode, traced.stdout) == (0, plain.stdout), traced.stderr
    assert recording.stat().st_size > 0


def test_an_untraced_host_leaves_no_recording(
    soft_environment: dict[str, str], tmp_path: Path
) -> None:
    recording = tmp_path / "run.bin"
    run = ("-m", "ktrace_cli", "run", "--device", "soft", "-o", str(recording), "--")
    host = (sys.executable, "samples/saxpy/run.py", "--untraced")

    done = run_python(*run, *host, environment=soft_environment)

    assert done.returncode == 0, done.stderr
    assert not recording.exists()


@pytest.mark.parametrize("sample", RUNS)
def test_without_a_gpu_a_host_says_how_to_run_it(
    sample: str, plain_environment: dict[str, str], tmp_path: Path
) -> None:
    if Path("/dev/kfd").exists():
        pytest.skip("this machine has a GPU driver")
    environment = plain_environment | {"ROCM_PATH": str(tmp_path)}

    done = run_python(f"samples/{sample}/run.py", environment=environment)

    assert (done.returncode, done.stdout) == (1, "")
    assert f"try: ktrace run -- python samples/{sample}/run.py" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_size_that_is_no_multiple_of_the_tile_is_refused(
    soft_environment: dict[str, str],
) -> None:
    done = run_python("samples/gemm/run.py", "--size", "100", environment=soft_environment)

    assert done.returncode == 2
    assert "100 is not a positive multiple of 64" in done.stderr


# ------------------------------------------------------------------------------- code objects


def code_objects() -> list[Path]:
    return sorted((ROOT / "samples").glob("*/*.co"))


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """A copy of the samples and of the device headers in another folder."""
    pytest.importorskip("ziglang", reason="the samples' compiler: pip install ziglang")
    for folder in ("samples", "preload/include"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    return tmp_path


def build(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = ("samples/build.py", "--compiler", "zig", *options)
    return run_python(*command, environment=dict(os.environ), cwd=folder)


def code_of(source: str) -> str:
    """The source without comments, empty lines and HIP's own header, which ROCm's users know."""
    lines = (re.sub(r"\s*//.*", "", line) for line in source.splitlines())
    return "\n".join(line for line in lines if line and line != "#include <hip/hip_runtime.h>")


def test_the_readmes_kernel_is_that_of_the_sample() -> None:
    kernels = re.findall(r"```cpp\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    sample = (ROOT / "samples/saxpy/saxpy.hip").read_text()

    assert [code_of(kernel) for kernel in kernels] == [code_of(sample)]


def test_every_sample_has_its_code_objects() -> None:
    names = [path.name for path in code_objects()]

    variants = ("", ".untraced")
    wanted = [f"{s}.{t}{v}.co" for s in RUNS for t in TARGETS for v in variants]
    assert sorted(names) == sorted(wanted)


@pytest.mark.parametrize("path", code_objects(), ids=lambda path: path.name)
def test_a_code_object_names_only_relative_sources(path: Path) -> None:
    data = path.read_bytes()

    named = set(re.findall(rb"[\w./-]+\.h(?:ip|pp)\0", data))
    source = f"samples/{path.parent.name}/{path.parent.name}.hip".encode() + b"\0"
    assert named == (set() if ".untraced" in path.name else {source})
    assert os.fsencode(ROOT) not in data


def test_the_code_objects_are_those_of_their_sources_in_any_folder(elsewhere: Path) -> None:
    done = build(elsewhere, "--check")

    if "made by" in done.stdout:
        pytest.skip(f"another compiler version: {done.stdout.splitlines()[0]}")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count(": same\n") == len(code_objects())


def test_a_changed_kernel_is_noticed_and_its_wrong_result_too(
    elsewhere: Path, soft_environment: dict[str, str]
) -> None:
    source = elsewhere / "samples/gemm/gemm.hip"
    changed = source.read_text().replace(
        "= sums[part][i];", "= sums[part][i] + (row == 7 ? 1 : 0);"
    )
    assert changed != source.read_text()
    source.write_text(changed)

    checked = build(elsewhere, "--check")
    built = build(elsewhere)
    done = run_python(
        "samples/gemm/run.py", "--size", "128", environment=soft_environment, cwd=elsewhere
    )

    assert checked.returncode == 1
    assert "samples/gemm/gemm.gfx942.co: differs" in checked.stdout
    assert built.returncode == 0, built.stderr
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == "gemm 128x128x128: max error 1, wrong\n"


def test_a_source_that_does_not_compile_is_reported_with_the_compilers_words(
    elsewhere: Path,
) -> None:
    (elsewhere / "samples/saxpy/saxpy.hip").write_text("no kernel\n")

    done = build(elsewhere)

    assert done.returncode == 1
    assert "samples/saxpy/saxpy.hip:1:1: error: unknown type name 'no'" in done.stderr
    assert "Traceback" not in done.stderr


def disassembly(path: Path) -> list[str]:
    objdump = shutil.which("llvm-objdump-19") or shutil.which("llvm-objdump")
    if objdump is None:
        pytest.skip("no llvm-objdump: apt-get install llvm-19")
    command = [objdump, "-d", "--mcpu=gfx942", str(path)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line.split("//")[0].strip() for line in text.splitlines()]


@pytest.mark.parametrize("variant", ["", ".untraced"], ids=["annotated", "untraced"])
def test_gemm_multiplies_in_the_matrix_cores_and_keeps_loads_in_flight(variant: str) -> None:
    code = disassembly(ROOT / f"samples/gemm/gemm.gfx942{variant}.co")

    loop = [line.split()[0] for line in code if line.startswith(("ds_read", "v_mfma"))]
    # 64 x 32 by 32 x 32 halves: all fragments are asked for before the first of 8 MFMAs.
    assert loop == ["ds_read2_b64"] * 6 + ["v_mfma_f32_32x32x8_f16"] * 8
    waits = [line for line in code if line.startswith(("s_waitcnt", "s_barrier"))]
    before_barriers = [waits[i - 1] for i, line in enumerate(waits) if line == "s_barrier"]
    # One barrier per role. Waiting for memory there would end the loads of the next tile.
    assert before_barriers == ["s_waitcnt lgkmcnt(0)"] * 2
