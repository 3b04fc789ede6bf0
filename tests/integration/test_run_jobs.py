"""`ktrace run -i`: several runs from one file."""

from __future__ import annotations

import re
from pathlib import Path

from ktrace_cli.launch.jobs import read_jobs
from ktrace_cli.launch.options import RunOptions
from ktrace_cli.trace_file.reader import read_recording
from support.ktrace_command import ROOT, Ktrace, said, saxpy

TWO = """\
jobs:
  - output_file: a.bin
    kernel_iteration_range: "[1,[3-4]]"
  - output_file: b.bin
    blocks: 2
    words: 64
"""


def launches(path: Path) -> list[int]:
    return [int(dispatch.record["launch"]) for dispatch in read_recording(path).dispatches]


def test_every_job_is_a_run_with_its_own_files(ktrace: Ktrace, tmp_path: Path) -> None:
    (tmp_path / "input.yaml").write_text(TWO)

    result = ktrace("run", "-i", "input.yaml", "-d", "out", "--", *saxpy(count=4))

    assert (result.returncode, result.stdout) == (0, "ok\nok\n")
    assert launches(tmp_path / "out/pass_1/a.bin") == [1, 3, 4]
    assert launches(tmp_path / "out/pass_2/b.bin") == [1, 2, 3, 4]
    assert int(read_recording(tmp_path / "out/pass_2/b.bin").dispatches[0].record["waves"]) == 4
    lines = said(result)
    assert [lines[0], lines[2]] == ["job 1 of 2", "job 2 of 2"]
    assert lines[1].startswith("recorded 3 dispatches in out/pass_1/a.bin ")
    assert lines[3].startswith("recorded 4 dispatches in out/pass_2/b.bin ")


def test_one_job_is_a_run_like_any_other(ktrace: Ktrace, tmp_path: Path) -> None:
    (tmp_path / "input.json").write_text('{"jobs": [{"output_file": "a.bin", "words": 64}]}')

    result = ktrace("run", "-i", "input.json", "--", *saxpy())

    assert result.returncode == 0
    assert said(result)[0].startswith("recorded 1 dispatch in a.bin ")
    assert int(read_recording(tmp_path / "a.bin").dispatches[0].record["region_log2"]) == 9


def test_a_program_that_fails_ends_the_jobs(ktrace: Ktrace, tmp_path: Path) -> None:
    (tmp_path / "input.yaml").write_text("jobs: [{words: 64}, {words: 128}, {words: 256}]")
    code = "echo $KTRACE_WORDS; exit $((KTRACE_WORDS / 128 * 7))"

    result = ktrace("run", "-i", "input.yaml", "--", "sh", "-c", code)

    assert (result.returncode, result.stdout) == (7, "64\n128\n")
    assert said(result)[-1] == "warning: job 2 returned 7: 1 more not run"


def test_nothing_starts_before_every_job_is_understood(ktrace: Ktrace, tmp_path: Path) -> None:
    (tmp_path / "out/pass_2").mkdir(parents=True)
    (tmp_path / "out/pass_2/b.bin").write_text("precious")
    wrong = {
        "pmc": TWO + "    pmc: [SQ_WAVES]\n",
        "value": TWO + "    waves: 40\n",
        "exists": TWO,
    }

    said_first = {}
    for name, text in wrong.items():
        (tmp_path / "input.yaml").write_text(text)
        result = ktrace("run", "-i", "input.yaml", "-d", "out", "--", "touch", "started")
        said_first[name] = (result.returncode, said(result)[0], said(result)[1])

    assert said_first == {
        "pmc": (
            2,
            "error: cannot read job 2 of input.yaml",
            "  why: `pmc` is rocprofv3's: hardware counters and samples, which `ktrace run` does "
            "not collect",
        ),
        "value": (
            2,
            "error: cannot read `--waves 40`",
            "  why: '40' is no number from 0 to 31 and no range of them",
        ),
        "exists": (125, "error: will not replace out/pass_2/b.bin", "  why: the file exists"),
    }
    assert not (tmp_path / "started").exists()


def test_an_option_with_two_values_is_an_error(ktrace: Ktrace, tmp_path: Path) -> None:
    (tmp_path / "input.yaml").write_text(TWO)

    result = ktrace("run", "-i", "input.yaml", "--words", "128", "--", "true")

    assert result.returncode == 2
    assert said(result) == [
        "error: `--words` has two values",
        "  why: 128 on the command line and 64 in the input file",
        "  try: leave out `--words`, or `words` in the file",
    ]


def test_the_pages_example_is_understood(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "reference" / "cli-run.md").read_text()
    (example,) = re.findall(r"^    jobs:\n(?:    .*\n)+", page, re.MULTILINE)
    (tmp_path / "input.yaml").write_text(re.sub("^    ", "", example, flags=re.MULTILINE))

    assert read_jobs(tmp_path / "input.yaml") == [
        RunOptions(
            output_file="first.bin",
            kernel_include_regex=("gemm|attn",),
            kernel_iteration_range=("[1,[3-4]]",),
        ),
        RunOptions(output_file="last.bin", full="ring", kernel=("gemm", "attn*")),
    ]
