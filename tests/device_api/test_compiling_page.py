"""docs/compiling.md: its blocks do what the page says, as they are written."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ktrace_cli
from support.hip import library_path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "compiling.md").read_text()


def blocks(heading: str, language: str) -> list[str]:
    """The code blocks under a heading that begins with `heading`; "" is the page's top."""
    parts = re.split(r"^#+ ", PAGE, flags=re.MULTILINE)
    (part,) = [text for text in parts if text.startswith(heading)]
    return re.findall(rf"```{language}\n(.*?)```", part, flags=re.DOTALL)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What a clone holds of what the page uses, with the kernel and the host saved in it."""
    for folder in ("samples/minimal_hip", "preload/include"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (kernel,) = blocks("Compiling an annotated kernel", "cpp")
    (host,) = blocks("A host", "python")
    (tmp_path / "scale.hip").write_text(kernel)
    (tmp_path / "scale.py").write_text(host)
    return tmp_path


def environment() -> dict[str, str]:
    """`python3` and what it imports are those of the tests."""
    folder = str(Path(sys.executable).parent)
    return os.environ | {"PATH": os.pathsep.join([folder, os.environ["PATH"]])}


def run_shell(*scripts: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = ["bash", "-eu", "-c", "\n".join(scripts)]
    return subprocess.run(
        command, cwd=cwd, env=environment(), capture_output=True, text=True, check=False
    )


def compile_as_written(compiler: str, target: str, clone: Path) -> None:
    if compiler == "clang-19" and not shutil.which("clang++-19"):
        pytest.skip("clang-19 is not installed")
    if compiler == "ziglang":
        pytest.importorskip("ziglang")
    _, folders = blocks("Where the headers are", "sh")
    (commands,) = blocks(compiler, "sh")
    assert "gfx942" in commands

    done = run_shell(folders, commands.replace("=gfx942", f"={target}"), cwd=clone)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def ktrace(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ktrace_cli", *arguments]
    return subprocess.run(
        command, cwd=cwd, env=environment(), capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("compiler", "target"),
    [("clang-19", "gfx942"), ("ziglang", "gfx942"), ("ziglang", "gfx950")],
    ids="-".join,
)
def test_a_block_makes_a_code_object_that_the_host_of_the_page_runs(
    compiler: str, target: str, clone: Path
) -> None:
    pytest.importorskip("rocm.bindings.hip", reason="pip install hip-python")
    library_path()
    compile_as_written(compiler, target, clone)
    host = ("--", sys.executable, "scale.py")

    ran = ktrace("run", "--device", "soft", "--arch", target, "-o", "scale.bin", *host, cwd=clone)
    summary = ktrace("summary", "scale.bin", cwd=clone)

    assert (ran.returncode, ran.stdout) == (0, "right\n"), ran.stderr
    assert "scale: 1 dispatch, 16 waves" in summary.stdout


def test_a_code_object_of_a_block_is_annotated(clone: Path) -> None:
    compile_as_written("ziglang", "gfx942", clone)

    inspected = ktrace("inspect", "scale.co", cwd=clone)

    assert inspected.returncode == 0, inspected.stderr
    assert "scale" in inspected.stdout


def test_the_one_line_program_prints_the_include_folder_of_the_package(tmp_path: Path) -> None:
    package = Path(ktrace_cli.__file__).parent
    if package.parent.name == "src":
        pytest.skip("ktrace runs from its source tree here")
    line, _ = blocks("Where the headers are", "sh")

    done = run_shell(line, 'echo "$INCLUDE"', cwd=tmp_path)

    assert done.stdout == f"{package / 'include'}\n", done.stderr
