"""`ktrace selftest` on the software device, as its users run it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ktrace_cli.selftest_file.reading import read_schema
from support.ktrace_command import Done, Ktrace, run_ktrace, saxpy

CHECKS = [
    "bounds_drop",
    "records_intact",
    "clocks",
    "xcc_skew",
    "event_cost",
    "poll_clock",
    "launch_overhead",
    "copy_bandwidth",
]
QUICK = ("selftest", "--device", "soft", "--quick", "--json")
SKIPPED = {"xcc_skew": "skipped", "poll_clock": "skipped"}  # a model; `--quick`
NO_XCC = "the device has one XCC, so that there is nothing to compare"


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[Done, Path]:
    """A selftest that wrote `selftest.json`, and its folder."""
    folder = tmp_path_factory.mktemp("quick")
    # What the user wishes of `ktrace run` is not meant for this.
    wishes = {"KTRACE_KERNELS": "nothing", "KTRACE_BLOCKS": "0", "KTRACE_WORDS": "64"}
    return run_ktrace(folder, *QUICK, "-o", "selftest.json", **wishes), folder


@pytest.fixture(scope="module")
def document(quick: tuple[Done, Path]) -> dict[str, Any]:
    return dict(json.loads(quick[0].stdout))


def states(document: dict[str, Any]) -> dict[str, str]:
    return {check["name"]: check["state"] for check in document["checks"]}


def figures(document: dict[str, Any], check: str) -> dict[str, Any]:
    (found,) = (one for one in document["checks"] if one["name"] == check)
    return {figure["name"]: figure["value"] for figure in found["figures"]}


def text_of(document: dict[str, Any], check: str) -> str:
    (found,) = (one["text"] for one in document["checks"] if one["name"] == check)
    return str(found)


def test_json_tells_of_all_checks_with_exact_counts(
    quick: tuple[Done, Path], document: dict[str, Any]
) -> None:
    done, folder = quick

    assert done.returncode == 0
    assert done.stderr == "ktrace: 8 checks: 6 passed, 2 skipped; wrote selftest.json\n"
    assert (folder / "selftest.json").read_text() == done.stdout
    jsonschema.validate(document, read_schema())
    assert states(document) == {**dict.fromkeys(CHECKS, "pass"), **SKIPPED}
    assert list(states(document)) == CHECKS
    assert text_of(document, "xcc_skew").startswith("the software device has one reference clock")
    # 4 waves of regions for 48 words try 201 + 0, 1 + 200 and 21 + 200 words.
    assert figures(document, "bounds_drop") == {
        "words attempted": 4 * (201 + 201 + 221),
        "words kept": 4 * 3 * 48,
        "words dropped": 4 * (153 + 153 + 173),
        "canaries intact": 3 * (12288 - 4 * (96 + 48 * 8)),
    }
    assert figures(document, "records_intact") == {
        "waves": 1216,
        "words compared": 1216 * (3 + 4 * 10 + 2 + 4 * 2),
        "compute units that wrote": 304,
        "SIMDs that wrote": 1216,
    }
    assert figures(document, "launch_overhead")["launches recorded"] == 7 * 32


def test_times_of_the_software_device_are_marked_as_modelled(document: dict[str, Any]) -> None:
    assert document["modelled_time"] is True
    all_figures = [figure for check in document["checks"] for figure in check["figures"]]
    assert {figure["source"] for figure in all_figures} == {"counted", "device", "host"}
    for figure in all_figures:
        assert figure["modelled"] == (figure["source"] == "device"), figure["name"]
    clocks = figures(document, "clocks")
    assert clocks["s_memrealtime: rate"] == clocks["… by the host's clock"] == 100
    assert clocks["core clock"] == pytest.approx(2100, rel=1e-3)
    assert clocks["s_memtime / s_memrealtime"] == pytest.approx(21, rel=1e-3)
    costs = {(c["marker"], c["situation"]): c["cycles"] for c in document["costs"]}
    assert len(costs) == 4 * 4
    for situation in ("lone_wave", "spaced", "full_occupancy", "pipelined_loop"):
        assert 0 < costs["mark", situation] < costs["push_pop", situation]
        assert costs["mark", situation] < costs["mark_payload", situation]
    assert costs["mark", "spaced"] < costs["mark", "lone_wave"]
    for cost in document["costs"]:
        assert cost["ns"] == pytest.approx(cost["cycles"] / 2.1, rel=1e-2)


@pytest.mark.parametrize("arch", ["gfx90a", "gfx950"])
def test_other_targets_have_kernels_too(ktrace: Ktrace, arch: str) -> None:
    done = ktrace(*QUICK, KTRACE_SOFT_ARCH=arch)
    document = json.loads(done.stdout)

    assert done.returncode == 0
    assert document["machine"]["target"].split(":")[0] == arch
    assert states(document) == {**dict.fromkeys(CHECKS, "pass"), **SKIPPED}
    assert (text_of(document, "xcc_skew") == NO_XCC) == (arch == "gfx90a")


def test_text_fits_a_terminal_and_says_what_is_modelled(ktrace: Ktrace) -> None:
    done = ktrace("selftest", "--quick")

    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert lines[:3] == [
        "ktrace 0.1.0, device 0: gfx942:sramecc+:xnack-",
        "ktrace software device (gfx942)",
        "Times of this device are modelled: it is the software device, not hardware.",
    ]
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if re.match(r"(pass|fail|skipped) ", line)] == [
        "pass     bounds drop",
        "pass     records intact",
        "pass     clock steps and rates",
        "skipped  XCC skew",
        "pass     cost per event",
        "skipped  KTRACE_POLL_CLOCK",
        "pass     launch overhead",
        "pass     copy bandwidth",
    ]
    timed = [line for line in lines if re.search(r"\d (cycles?|ticks?|MHz|GB/s)", line)]
    plain = ("as HIP says", "by more than")
    told_by_hip = [line for line in timed if any(text in line for text in plain)]
    assert len(told_by_hip) == 2
    assert all("(modelled)" in line for line in timed if line not in told_by_hip)
    titles = [line.split() for line in lines if line.endswith("pipelined")]
    assert titles == [
        ["cycles", "(modelled)", "dense", "spaced", "full", "pipelined"],
        ["ns", "(modelled)", "dense", "spaced", "full", "pipelined"],
    ]
    assert sum(bool(re.search(r"( +[\d.]+){4}$", line)) for line in lines) == 8
    assert done.stderr.splitlines()[0] == (
        "ktrace: no AMD GPU here: testing the software device, whose times are modelled"
    )


def test_kernels_that_fail_are_told_and_end_with_status_1(ktrace: Ktrace) -> None:
    done = ktrace(*QUICK, KTRACE_SOFT_BUDGET="20000")
    document = json.loads(done.stdout)

    assert done.returncode == 1
    assert document["passed"] is False
    jsonschema.validate(document, read_schema())
    assert states(document)["bounds_drop"] == "fail"
    assert states(document)["records_intact"] == "fail"
    assert text_of(document, "records_intact").endswith("returned 719: unspecified launch failure")
    assert re.fullmatch(r"ktrace: 8 checks: .*failed.*", done.stderr.splitlines()[-1])


@pytest.mark.parametrize(
    ("options", "environment", "why"),
    [
        (("--device-index", "1"), {}, "there is no device 1: HIP has 1"),
        ((), {"HIP_VISIBLE_DEVICES": "9"}, "hipGetDeviceCount returned 100: no ROCm-capable"),
    ],
    ids=["index", "invisible"],
)
def test_a_device_that_is_not_there_is_an_error(
    ktrace: Ktrace, options: tuple[str, ...], environment: dict[str, str], why: str
) -> None:
    done = ktrace("selftest", "--device", "soft", *options, **environment)

    assert (done.returncode, done.stdout) == (1, "")
    assert f"  why: {why}" in done.stderr


@pytest.fixture(scope="module")
def written(quick: tuple[Done, Path]) -> Path:
    """A folder with a selftest, a recording of its target and one of another."""
    folder = quick[1]
    for arch in ("gfx942", "gfx950"):
        options = ("--device", "soft", "--arch", arch, "-o", f"{arch}.bin")
        program = saxpy(Path(str(saxpy()[2]).replace("gfx942", arch)))
        run_ktrace(folder, "run", *options, "--", *program)
    return folder


def test_a_summary_cites_the_selftest_of_its_target(written: Path) -> None:
    named = run_ktrace(written, "summary", "gfx942.bin", "--selftest", "selftest.json")
    default = run_ktrace(written, "summary", "gfx942.bin", KTRACE_SELFTEST="selftest.json")

    assert named.returncode == 0
    assert named.stdout == default.stdout
    date = json.loads((written / "selftest.json").read_text())["date"][:10]
    assert f"tracing cost estimated by a selftest (gfx942, modelled, {date})" in named.stdout
    assert re.search(r"^tracing itself: an estimated \S+ to \S+ % of the time", named.stdout, re.M)
    assert re.search(r"^ \S+ to \S+ % of `round`, by its own markers$", named.stdout, re.M)


def test_a_selftest_of_another_target_is_refused(written: Path) -> None:
    done = run_ktrace(written, "summary", "gfx950.bin", "--selftest", "selftest.json")

    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.splitlines()[:2] == [
        "ktrace: error: the selftest selftest.json does not fit gfx950.bin",
        "  why: it is of gfx942 (software device), and the recording of gfx950 (software device)",
    ]


def test_a_result_is_not_replaced_without_force(written: Path) -> None:
    before = (written / "selftest.json").read_bytes()
    done = run_ktrace(written, "selftest", "--device", "soft", "--quick", "-o", "selftest.json")

    assert (done.returncode, done.stdout) == (1, "")
    assert (written / "selftest.json").read_bytes() == before
