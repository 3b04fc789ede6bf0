"""A selftest's file: what is written is read again, and what is none is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktrace_cli.errors import ExitStatus, KtraceError
from ktrace_cli.selftest_file.reading import (
    check_target,
    find_selftest,
    read_schema,
    read_selftest,
)
from ktrace_cli.selftest_file.result import (
    Check,
    Figure,
    MarkerCost,
    SelftestResult,
    Situation,
    Source,
    State,
    to_document,
)

MACHINE: dict[str, str | int | None] = {
    "target": "gfx942:sramecc+:xnack-",
    "name": "a device",
    "device_index": 0,
    "compute_units": 304,
    "xcc_count": 8,
    "core_khz": 2100000,
    "realtime_hz": 100000000,
    "hip_runtime_version": 70200000,
    "hip_driver_version": None,
    "rocm_version": None,
    "kernel_driver_version": None,
    "system": "Linux 6.8",
    "processor": "x86_64",
    "python": "3.11.7",
}
RESULT = SelftestResult(
    version="0.1.0",
    date="2026-01-02T03:04:05Z",
    is_quick=True,
    is_modelled=True,
    machine=MACHINE,
    checks=(
        Check(
            "clocks",
            State.PASS,
            "both go on",
            (
                Figure("step", 4.0, "cycles", Source.DEVICE, "of it"),
                Figure("rate", None, "MHz", Source.HOST),
                Figure("steps", "1 (50%)", "ticks", Source.COUNTED),
            ),
        ),
        Check("xcc_skew", State.SKIPPED, "one XCC"),
    ),
    costs=(
        MarkerCost("mark", Situation.SPACED, 50.0, 25.0),
        MarkerCost("mark", Situation.LONE_WAVE, 200.0, 100.0),
    ),
)


def written(folder: Path, document: Any) -> Path:
    path = folder / "selftest.json"
    path.write_bytes(document if isinstance(document, bytes) else orjson.dumps(document))
    return path


def test_what_is_written_is_read_again_and_is_what_the_schema_says(tmp_path: Path) -> None:
    document = to_document(RESULT)

    read = read_selftest(written(tmp_path, document))

    jsonschema.Draft202012Validator.check_schema(read_schema())
    jsonschema.validate(document, read_schema())
    assert read == RESULT
    assert read.describe() == "gfx942, modelled, 2026-01-02"
    assert read.cost_range("mark") == (50.0, 200.0)
    assert read.cost_range("range") is None
    assert [f["modelled"] for f in document["checks"][0]["figures"]] == [True, False, False]


def test_a_failed_check_is_in_the_verdict_of_all() -> None:
    failed = SelftestResult(**{**vars(RESULT), "checks": (Check("clocks", State.FAIL, "no"),)})

    assert to_document(RESULT)["passed"] is True
    assert to_document(failed)["passed"] is False


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"ktrace_selftest": 2}, "its schema is version 2; this ktrace reads version 1"),
        ({"ktrace_selftest": True}, "its schema is version True; this ktrace reads version 1"),
        ({"machine": {}}, "it is damaged: `machine.target` is missing"),
        ({"machine": {"target": ["gfx942"]}}, "it is damaged: `machine.target` is ['gfx942']"),
        ({"checks": [{"name": "x", "state": "maybe"}]}, "it is damaged: `state` is 'maybe'"),
        ({"costs": [{"marker": "mark"}]}, "it is damaged: `situation` is None"),
        (
            {"costs": [{"marker": "mark", "situation": "spaced", "cycles": "9", "ns": 1}]},
            "it is damaged: `cycles` of a cost is '9'",
        ),
        ({"quick": 1}, "it is damaged: `quick` is 1"),
    ],
)
def test_a_file_of_another_version_or_with_damage_is_refused(
    tmp_path: Path, change: dict[str, Any], why: str
) -> None:
    path = written(tmp_path, {**to_document(RESULT), **change})

    with pytest.raises(KtraceError) as caught:
        read_selftest(path)

    assert caught.value.what == f"cannot use the selftest {path}"
    assert caught.value.why == why
    assert caught.value.fix == "make one with `ktrace selftest -o FILE`"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "it is not JSON: "),
        (b"KTRACE\x1a\n", "it is not JSON: "),
        (b"[]", "it has no `ktrace_selftest`: it is not a selftest's result"),
        (b'{"schema": 1, "kernels": []}', "it has no `ktrace_selftest`"),
    ],
)
def test_a_file_that_is_no_selftests_is_refused(tmp_path: Path, content: bytes, why: str) -> None:
    with pytest.raises(KtraceError) as caught:
        read_selftest(written(tmp_path, content))

    assert caught.value.why.startswith(why)


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KtraceError) as caught:
        read_selftest(tmp_path / "none.json")

    assert caught.value.why == "No such file or directory"


NAMES = st.sampled_from(
    ["ktrace_selftest", "machine", "target", "checks", "figures", "costs", "state", "quick"]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


@given(key=st.sampled_from(sorted(to_document(RESULT))), value=ANYTHING, inner=st.booleans())
def test_any_json_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, key: str, value: Any, inner: bool
) -> None:
    document = to_document(RESULT)
    document[key] = [value] if inner else value
    path = written(tmp_path_factory.getbasetemp(), document)

    try:
        read = read_selftest(path)
    except KtraceError:
        return  # in words; anything else is a bug
    assert read_selftest(written(tmp_path_factory.getbasetemp(), to_document(read))) == read


@given(content=st.binary(max_size=60))
def test_any_bytes_are_refused_in_words(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = written(tmp_path_factory.getbasetemp(), content)

    with pytest.raises(KtraceError, match=r"cannot use the selftest "):
        read_selftest(path)


def test_an_option_comes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KTRACE_SELFTEST", raising=False)
    assert find_selftest(None) is None
    monkeypatch.setenv("KTRACE_SELFTEST", "of the machine.json")
    assert find_selftest(None) == Path("of the machine.json")
    assert find_selftest(Path("named.json")) == Path("named.json")
    monkeypatch.setenv("KTRACE_SELFTEST", "")
    assert find_selftest(None) is None


@pytest.mark.parametrize(
    ("target", "is_modelled", "other"),
    [
        ("gfx950:sramecc+", True, "gfx950 (software device)"),
        ("gfx942", False, "gfx942 (hardware)"),
    ],
)
def test_a_result_is_of_one_target_on_one_kind_of_device(
    target: str, is_modelled: bool, other: str
) -> None:
    path, recording = Path("selftest.json"), Path("run.bin")

    check_target(RESULT, path, [("gfx942:sramecc+:xnack-", True)], recording)
    with pytest.raises(KtraceError) as caught:
        check_target(RESULT, path, [("gfx942", True), (target, is_modelled)], recording)

    assert caught.value.status is ExitStatus.NOT_COMPARABLE
    assert caught.value.why == (f"it is of gfx942 (software device), and the recording of {other}")
