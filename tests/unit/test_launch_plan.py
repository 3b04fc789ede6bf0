"""Options of `run` together: what they mean, and what makes no sense."""

from __future__ import annotations

from pathlib import Path

import pytest

from ktrace_cli.errors import UsageError
from ktrace_cli.launch.device import DeviceChoice
from ktrace_cli.launch.environment import TraceOptions
from ktrace_cli.launch.options import RunOptions
from ktrace_cli.launch.plan import RunPlan, check_device, make_plan, numbered


def plan(**given: object) -> RunPlan:
    return make_plan(RunOptions(**given), ["python3", "train.py"])  # type: ignore[arg-type]


def refused(**given: object) -> tuple[str, str, str]:
    with pytest.raises(UsageError) as problem:
        plan(**given)
    return problem.value.what, problem.value.why, problem.value.fix


def test_nothing_given_leaves_every_default() -> None:
    assert plan() == RunPlan(
        trace=TraceOptions(),
        device=DeviceChoice.AUTO,
        decodes=False,
        may_replace=False,
        shows_environment=False,
    )


def test_every_option_reaches_the_interposer() -> None:
    made = plan(
        output_file="run_%rank%.bin", output_directory="out/%tag%",
        output_format=("bin", "pftrace"), force="yes", device="soft", arch="gfx950",
        soft_devices="02", soft_check="yes", kernel=("gemm*", "/a/"),
        kernel_include_regex=("b", "c"), kernel_exclude_regex=("d",),
        kernel_iteration_range=("[1,[3-4]]",), collection_period=("5:1:3",),
        collection_period_unit="msec", blocks="0:8:2", waves="0,4-7", xcc="1", memory="512M",
        words="256", mode="direct", full="saturate", on_full="wait", on_full_ms="50", hang="1.5",
        log_level="trace",
    )  # fmt: skip

    assert made == RunPlan(
        trace=TraceOptions(
            output=Path("out/python3/run_%rank%.bin"), output_dir=Path("out/python3"),
            memory="536870912", words="256", kernels=("gemm*", "/a/"), kernel_include=("b", "c"),
            kernel_exclude=("d",), kernel_iterations="1,3-4", periods="5000000:1000000:3",
            blocks="0:8:2", waves="0,4-7", xcc="1", mode="direct", full="saturate", on_full="wait",
            on_full_ms="50", hang_ms="1500", log_level="trace", soft_arch="gfx950",
            soft_devices="2", soft_check="1",
        ),
        device=DeviceChoice.SOFT,
        decodes=True,
        may_replace=True,
        shows_environment=False,
    )  # fmt: skip


def test_env_is_shown_by_ktrace_and_is_no_level_of_the_interposer() -> None:
    made = plan(log_level="env")

    assert (made.shows_environment, made.trace.log_level) == (True, "")


@pytest.mark.parametrize(
    ("file", "folder", "output", "output_dir"),
    [
        (None, None, None, "ktrace_out"),
        (None, "d", None, "d"),
        ("a.bin", None, "a.bin", "ktrace_out"),
        ("x/a.bin", "d", "d/x/a.bin", "d"),
        ("/x/a.bin", None, "/x/a.bin", "ktrace_out"),
    ],
)
def test_o_and_d_make_a_path(
    file: str | None, folder: str | None, output: str | None, output_dir: str
) -> None:
    trace = plan(output_file=file, output_directory=folder).trace

    assert trace.output == (Path(output) if output else None)
    assert trace.output_dir == Path(output_dir)


def test_several_runs_have_folders_of_their_own() -> None:
    named = numbered(plan(output_file="x/a.bin", output_directory="d"), 2).trace
    unnamed = numbered(plan(), 1).trace

    assert (named.output, named.output_dir) == (Path("d/x/pass_2/a.bin"), Path("d/pass_2"))
    assert (unnamed.output, unnamed.output_dir) == (None, Path("ktrace_out/pass_1"))


@pytest.mark.parametrize(
    ("given", "what", "why", "fix"),
    [
        ({"mode": "drect"}, "cannot read `--mode drect`", "wanted direct or claim",
         "did you mean `--mode direct`?"),
        ({"full": "x"}, "cannot read `--full x`", "wanted saturate or ring",
         "write one of them"),
        ({"on_full": "block"}, "cannot read `--on-full block`", "wanted drop or wait",
         "write one of them"),
        ({"device": "sotf"}, "cannot read `--device sotf`", "wanted auto, soft or hardware",
         "did you mean `--device soft`?"),
        ({"arch": "gfx943"}, "cannot read `--arch gfx943`", "wanted gfx90a, gfx942 or gfx950",
         "did you mean `--arch gfx942`?"),
        ({"output_format": ("csv",)}, "cannot read `--output-format csv`", "wanted bin or pftrace",
         "write one of them"),
        ({"log_level": "debug"}, "cannot read `--log-level debug`",
         "wanted fatal, error, warning, info, trace or env", "did you mean `--log-level trace`?"),
        ({"arch": "gfx1100"}, "cannot read `--arch gfx1100`", "wanted gfx90a, gfx942 or gfx950",
         "write one of them"),
        ({"collection_period": ("1:1:1",), "collection_period_unit": "ms"},
         "cannot read `--collection-period-unit ms`",
         "wanted hour, min, sec, msec, usec or nsec",
         "did you mean `--collection-period-unit msec`?"),
        ({"memory": "1"}, "cannot trace with 1 byte of memory", "wanted 65536 or more",
         "write for example `--memory 512M`"),
        ({"memory": "10X"}, "cannot read the size '10X'", "wanted a number and K, M, G or T",
         "write for example `512M`"),
        ({"soft_devices": "0"}, "cannot read `--soft-devices 0`", "wanted a number from 1 to 64",
         "write for example `--soft-devices 2`"),
        ({"soft_devices": "65"}, "cannot read `--soft-devices 65`",
         "wanted a number from 1 to 64", "write for example `--soft-devices 2`"),
        ({"on_full_ms": "5"}, "`--on-full-ms` has no meaning here",
         "it goes with `--on-full wait`, which was not given",
         "add `--on-full wait`, or leave out `--on-full-ms`"),
        ({"on_full_ms": "5", "on_full": "drop"}, "`--on-full-ms` has no meaning here",
         "it goes with `--on-full wait`, which was not given",
         "add `--on-full wait`, or leave out `--on-full-ms`"),
        ({"collection_period_unit": "sec"}, "`--collection-period-unit` has no meaning here",
         "it goes with `--collection-period`, which was not given",
         "add `--collection-period`, or leave out `--collection-period-unit`"),
        ({"hang": "2", "full": "ring"}, "`--hang` and `--full ring` cannot both be",
         "with --hang every word is written back at once, and a full region keeps the first",
         "leave one out; `--words` makes regions larger"),
        ({"output_file": "/a.bin", "output_directory": "d"}, "cannot record to /a.bin in d",
         "`-o` is a path from the root, so `-d` has no meaning",
         "leave out `-d`, or name only the file in `-o`"),
        ({"output_file": ""}, "`-o` names nothing", "its value is empty",
         "write for example `-o run.bin`"),
        ({"output_directory": ""}, "`-d` names nothing", "its value is empty", "name a folder"),
        ({"output_directory": "%pidd%"}, "cannot read `-d %pidd%`",
         "'%pidd%' is no placeholder", "did you mean %pid%?"),
        ({"waves": ""}, "cannot read `--waves `",
         "'' is no number from 0 to 31 and no range of them", "write for example `--waves 0,4-7`"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_explained(
    given: dict[str, object], what: str, why: str, fix: str
) -> None:
    assert refused(**given) == (what, why, fix)


def test_the_software_devices_options_need_it() -> None:
    for given, option in (
        (RunOptions(arch="gfx950"), "--arch gfx950"),
        (RunOptions(soft_devices="2"), "--soft-devices 2"),
        (RunOptions(soft_check="yes"), "--soft-check"),
    ):
        check_device(given, software=True)
        with pytest.raises(UsageError) as problem:
            check_device(given, software=False)
        assert problem.value.what == f"`{option}` has no meaning here"
        assert problem.value.fix == f"leave out `{option.split()[0]}`, or run with `--device soft`"
