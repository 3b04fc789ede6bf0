"""Input files of `run -i`."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from ktrace_cli.errors import UsageError
from ktrace_cli.launch.jobs import read_jobs
from ktrace_cli.launch.options import RunOptions, combined, option_of

FLAGS = ("force", "soft_check")


def jobs(folder: Path, text: str, name: str = "input.yaml") -> list[RunOptions]:
    (folder / name).write_text(text)
    return read_jobs(folder / name)


def refused(folder: Path, text: str, name: str = "input.yaml") -> tuple[str, str, str]:
    with pytest.raises(UsageError) as problem:
        jobs(folder, text, name)
    assert problem.value.status == 2
    return (
        problem.value.what.replace(str(folder), "."),
        problem.value.why.replace(str(folder), "."),
        problem.value.fix,
    )


def test_every_option_can_be_given(tmp_path: Path) -> None:
    text = "jobs:\n- " + "\n  ".join(
        f"{field.name}: {'true' if field.name in FLAGS else f'v {number}'}"
        for number, field in enumerate(fields(RunOptions))
    )

    (job,) = jobs(tmp_path, text)

    for number, field in enumerate(fields(RunOptions)):
        value = getattr(job, field.name)
        expected = "yes" if field.name in FLAGS else f"v {number}"
        assert value == ((expected,) if field.default == () else expected), field.name


def test_jobs_come_in_their_order(tmp_path: Path) -> None:
    text = """\
jobs:
  - output_file: a.bin
    kernel_include_regex: "gemm.*"
    kernel_iteration_range: "[1, [3-4]]"
  - output_file: b.bin
    kernel: [gemm, 'attn*']
    force: no
"""

    assert jobs(tmp_path, text) == [
        RunOptions(
            output_file="a.bin",
            kernel_include_regex=("gemm.*",),
            kernel_iteration_range=("[1, [3-4]]",),
        ),
        RunOptions(output_file="b.bin", kernel=("gemm", "attn*")),
    ]


def test_json_reads_the_same(tmp_path: Path) -> None:
    text = '{"jobs": [{"words": 256, "hang": 1.5, "force": true, "waves": "0,1", "kernel": ["a"]}]}'

    assert jobs(tmp_path, text, "input.json") == [
        RunOptions(words="256", hang="1.5", force="yes", waves="0,1", kernel=("a",))
    ]


def test_values_are_what_is_written_not_what_yaml_makes_of_it(tmp_path: Path) -> None:
    """YAML would read these as 90, 8, True and a date."""
    text = "jobs: [{blocks: 1:30, words: 010, output_file: on, output_directory: 2026-01-01}]"

    (job,) = jobs(tmp_path, text)

    assert (job.blocks, job.words) == ("1:30", "010")
    assert (job.output_file, job.output_directory) == ("on", "2026-01-01")


@pytest.mark.parametrize("value", ["[1, [3-4]]", "[1,[3-4]]", "[1, 3-4]"])
def test_a_range_may_be_lists_in_a_list(value: str, tmp_path: Path) -> None:
    (job,) = jobs(tmp_path, f"jobs: [{{kernel_iteration_range: {value}}}]")

    assert job.kernel_iteration_range[0].replace("[", "").replace("]", "") == "1,3-4"


@pytest.mark.parametrize(
    ("key", "why", "fix"),
    [
        ("kernel_include_regx", "there is no option 'kernel_include_regx'",
         "did you mean `kernel_include_regex`?"),
        ("kernel-include-regex", "'kernel-include-regex' is the option, keys have no dashes",
         "write `kernel_include_regex`"),
        ("zzz", "there is no option 'zzz'", "`ktrace run --help` lists the options"),
        ("pmc", "`pmc` is rocprofv3's: hardware counters and samples, which `ktrace run` does not"
         " collect", "remove it here; `ktrace pmc -- PROGRAM` counts in runs of its own"),
        ("kernel_trace", "`kernel_trace` is rocprofv3's: traces of the host's calls and of whole"
         " kernels, which ktrace does not collect",
         "remove it here, and collect it with rocprofv3 in a run of its own"),
        ("att_target_cu", "`att_target_cu` is rocprofv3's: instruction traces, which `ktrace run`"
         " does not collect",
         "remove it here; `ktrace att -- PROGRAM` traces instructions in a run of its own"),
        ("truncate_kernels", "`truncate_kernels` is rocprofv3's: how it shows its own data",
         "remove it; `ktrace summary` and `ktrace decode` show a recording"),
        ("disable-signal-handlers", "`disable-signal-handlers` is rocprofv3's: how it runs a"
         " program", "remove it: ktrace has nothing of the kind"),
    ],
)  # fmt: skip
def test_an_unknown_key_is_an_error_that_suggests_the_right_one(
    key: str, why: str, fix: str, tmp_path: Path
) -> None:
    text = f"jobs:\n  - words: 64\n  - {key}: true\n"

    assert refused(tmp_path, text) == ("cannot read job 2 of ./input.yaml", why, fix)


@pytest.mark.parametrize(
    ("job", "why"),
    [
        ("{output_file: [a, b]}", "`output_file` is a list, wanted a text or a number"),
        ("{words: {a: b}}", "`words` is a group of keys, wanted a text or a number"),
        ("{memory: }", "`memory` is empty, wanted a text or a number"),
        ("{kernel: [[a]]}", "`kernel` is a list, wanted a text or a list of texts"),
        ("{kernel_iteration_range: [1, {a: b}]}",
         "`kernel_iteration_range` is a group of keys, wanted numbers and ranges"),
        ("{force: maybe}", "`force` is 'maybe', wanted yes or no"),
        ("{soft_check: maybe}", "`soft_check` is 'maybe', wanted yes or no"),
        ("{force: [yes]}", "`force` is a list, wanted yes or no"),
        ("words", "it is the text 'words', wanted options such as `output_file: run.bin`"),
        ("[words]", "it is a list, wanted options such as `output_file: run.bin`"),
    ],
)  # fmt: skip
def test_a_value_of_another_type_says_what_was_wanted(job: str, why: str, tmp_path: Path) -> None:
    what, said, fix = refused(tmp_path, f"jobs:\n  - {job}\n")

    assert (what, said) == ("cannot read job 1 of ./input.yaml", why)
    assert fix


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("jobs: [{words: 1, words: 2}]", "'words' stands twice in one place"),
        ("jobs: []", "`jobs` is an empty list, wanted a list of jobs"),
        ("jobs: {words: 1}", "`jobs` is a group of keys, wanted a list of jobs"),
        ("jobs:", "`jobs` is empty, wanted a list of jobs"),
        ("job: [{words: 1}]", "its top has 'job'"),
        ("- words: 1", "wanted the key `jobs` at the top"),
        ("", "wanted the key `jobs` at the top"),
        ("jobs: [{words: 1}]\npmc: [A]",
         "'pmc' at the top means nothing: only `jobs` may stand there"),
        ("jobs: &a [*a]", "more than 8 lists and keys lie in each other"),
        ("jobs: [{words: 1}",
         "it is no YAML: while parsing a flow sequence in \"./input.yaml\", line 1, column 7: "),
    ],
)  # fmt: skip
def test_a_file_of_another_shape_is_explained(text: str, why: str, tmp_path: Path) -> None:
    assert refused(tmp_path, text)[1].startswith(why)


def test_a_file_that_is_no_input_file_is_explained(tmp_path: Path) -> None:
    assert refused(tmp_path, "pmc: A", "in.txt") == (
        "cannot read ./in.txt", "its name ends in '.txt'", "name the file .yaml, .yml or .json",
    )  # fmt: skip
    assert refused(tmp_path, "{", "in.json")[1].startswith("it is no JSON: Expecting property name")
    assert refused(tmp_path, '{"jobs": [{"words": 1, "words": 2}]}', "in.json")[1] == (
        "'words' stands twice in one place"
    )
    with pytest.raises(UsageError) as problem:
        read_jobs(tmp_path / "none.yaml")
    assert problem.value.why == "No such file or directory"
    (tmp_path / "bytes.yaml").write_bytes(b"\xff")
    with pytest.raises(UsageError) as problem:
        read_jobs(tmp_path / "bytes.yaml")
    assert problem.value.why == "it is no UTF-8 text"


def test_the_command_line_and_a_job_add_up() -> None:
    both = combined(
        RunOptions(words="64", device="soft", kernel=("a",)),
        RunOptions(words="64", blocks="0", kernel=("a",)),
    )

    assert both == RunOptions(words="64", device="soft", blocks="0", kernel=("a",))


def test_two_values_of_one_option_are_an_error() -> None:
    with pytest.raises(UsageError) as problem:
        combined(
            RunOptions(kernel_include_regex=("a", "b")), RunOptions(kernel_include_regex=("c",))
        )

    assert problem.value.what == "`--kernel-include-regex` has two values"
    assert problem.value.why == "a b on the command line and c in the input file"
    assert option_of("soft_devices") == "--soft-devices"
