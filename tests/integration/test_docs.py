"""What the documents show is what the commands print."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.att_example import write_example
from support.counter_files import counters_of_gemm
from support.disassembling import LISTED_OBJDUMP
from support.host_traces import rocprofv3_beside
from support.stand_in_rocprofv3 import put_rocprofv3

ROOT = Path(__file__).parents[2]


def shown(document: str) -> str:
    """Return a document's indented blocks as text, without their indent and trailing spaces."""
    lines = (ROOT / document).read_text().splitlines()
    return "\n".join(line[4:].rstrip() for line in lines if line.startswith("    ") or not line)


def examples(document: str) -> list[tuple[str, str]]:
    """Return the commands that a document's blocks show after `$ `, and what they print."""
    blocks = re.findall(r"(?:^(?: {4}.*|)\n)+", (ROOT / document).read_text(), re.MULTILINE)
    texts = ["\n".join(line[4:].rstrip() for line in b.splitlines()).strip() for b in blocks]
    return [
        (line.removeprefix("$ "), output)
        for line, _, output in (text.partition("\n") for text in texts)
        if line.startswith("$ ktrace")
    ]


def without_size(text: str) -> str:
    """Leave out the recording's size, which depends on the length of the command."""
    return re.sub(r"\([\d.]+ KiB\)", "(SIZE)", text)


def without_process(text: str) -> str:
    """Leave out the number of the process, which the names of rocprofv3's files begin with."""
    return re.sub(r"\b\d+(?=_(agent_info|kernel_trace)\.csv)", "PID", text)


def command(*arguments: object, cwd: Path = ROOT, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ktrace_cli", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "COLUMNS": "120", "KTRACE_OBJDUMP": str(LISTED_OBJDUMP), **more},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )


def record(sample: str, recording: Path) -> Path:
    program = (sys.executable, f"samples/{sample}/run.py")
    command("run", "--device", "soft", "-o", recording, "--", *program)
    return recording


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recording of the README's demo."""
    return record("gemm", tmp_path_factory.mktemp("demo") / "demo.bin")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Where examples find a rocprofv3: a stand-in, whose buffer is too small at first."""
    kernels = {"void gemm<64, 32>(float*, int)": 3, "fill(float*)": 1}
    return put_rocprofv3(tmp_path_factory.mktemp("bin"), kernels=kernels, full_below=100 << 20)


@pytest.fixture(scope="module")
def folder(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that examples name."""
    folder = tmp_path_factory.mktemp("examples")
    shutil.copy(demo, folder / "demo.bin")
    record("saxpy", folder / "saxpy.bin")
    write_example(folder / "gemm_att")
    rocprofv3_beside(folder / "demo.bin", folder / "rocprofv3")
    counters_of_gemm(folder / "counters")
    for path in ROOT.glob("samples/*/*.co"):
        shutil.copy(path, folder / path.name)
    (folder / "gemm").write_text("#!/bin/sh\n")
    (folder / "gemm").chmod(0o755)
    return folder


def test_the_readmes_summary_is_what_summary_prints(demo: Path) -> None:
    printed = "\n".join(line.rstrip() for line in command("summary", demo).stdout.splitlines())

    assert printed.strip() in shown("README.md")


def test_every_path_that_the_readme_names_exists() -> None:
    text = (ROOT / "README.md").read_text()
    named = [part.split(")")[0] for part in text.split("](")[1:] if not part.startswith("http")]

    missing = [path for path in named if not (ROOT / path).exists()]
    assert named
    assert missing == []


def test_run_says_what_its_page_shows(demo: Path, tmp_path: Path) -> None:
    program = (sys.executable, ROOT / "samples/gemm/run.py")

    done = command("run", "--device", "soft", "-o", "demo.bin", "--", *program, cwd=tmp_path)

    assert without_size(done.stderr.strip()) in without_size(shown("docs/reference/cli-run.md"))


def without_numbers(text: str) -> str:
    """Leave out times of this computer and of the clock's model, and the columns they make."""
    return " ".join(re.sub(r"-?\d[\d.,]*", "N", text).replace(": lost in noise", "").split())


def test_selftest_prints_what_its_page_shows_but_for_numbers(tmp_path: Path) -> None:
    ((line, output),) = examples("docs/reference/cli-selftest.md")

    done = command(*shlex.split(line)[1:], cwd=tmp_path)

    assert without_numbers(done.stdout + done.stderr) == without_numbers(output)


@pytest.mark.parametrize(
    "name",
    [
        "cli-summary",
        "cli-decode",
        "cli-inspect",
        "cli-merge",
        "cli-view",
        "html",
        "cli-pmc",
        "cli-discover",
        "cli-att",
        "cli-plan",
        "cli-hotspots",
    ],
)
def test_commands_print_what_their_page_shows(
    name: str, folder: Path, environment: dict[str, str]
) -> None:
    shown_here = examples(f"docs/reference/{name}.md")

    assert shown_here
    for line, output in shown_here:
        done = command(*shlex.split(line)[1:], cwd=folder, **environment)
        printed = (done.stdout + done.stderr).splitlines()
        shown_now = "\n".join(text.rstrip() for text in printed).strip()
        assert without_process(shown_now) == without_process(output)
