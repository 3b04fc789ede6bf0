"""The selftest's kernels: shipped for every target, and what they write is known to the bit."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktrace_cli.launch.device import Arch
from ktrace_cli.selftest import kernels
from ktrace_cli.selftest.machine import machine_facts
from ktrace_cli.selftest.pattern import differing_words, overflow_words, pattern_words
from ktrace_cli.trace_file import layout

ROOT = Path(__file__).parents[2]
IDS = {"pattern": 0, "push": 1, "range": 2, "mark": 3, "side": 4, "phase": 5, "token": 6}
BEGIN, END = np.array([2**33 - 5]), np.array([2**33 + 1000])


def test_there_are_code_objects_for_every_target() -> None:
    assert kernels.targets() == sorted(arch.value for arch in Arch)
    for target in kernels.targets():
        assert kernels.path_of(kernels.PROBES, f"{target}:sramecc+").is_file()
        ids = kernels.event_ids(target, "pattern")
        assert sorted(ids) == sorted(IDS)
        assert kernels.event_ids(target, "pattern", kernels.POLLING) == ids


@pytest.mark.parametrize("name", [kernels.POLLING, kernels.PROBES])
def test_the_code_objects_are_those_of_their_sources(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For one target: `nox -s samples -- --check` compares all, and takes longer."""
    pytest.importorskip("ziglang", reason="the compiler: pip install ziglang")
    monkeypatch.syspath_prepend(ROOT / "samples")
    build = importlib.import_module("build")
    objects = importlib.import_module("build_selftest").selftest_objects(["gfx950"])
    (wanted,) = (o for o in objects if (o.name, o.target) == (name, "gfx950"))

    build.build(build.find_compiler("zig"), wanted, tmp_path / "made.co")

    committed = ROOT / wanted.path
    if build.compiler_of(committed) != build.compiler_of(tmp_path / "made.co"):
        pytest.skip(f"made by {build.compiler_of(committed)}")
    assert (tmp_path / "made.co").read_bytes() == committed.read_bytes()


def test_a_code_object_names_no_folder_of_this_machine() -> None:
    for path in Path(str(kernels.path_of(kernels.MARKERS, "gfx942"))).parent.glob("*.co"):
        assert os.fsencode(ROOT) not in path.read_bytes()


def written(rounds: int) -> np.ndarray[tuple[int, int], np.dtype[np.void]]:
    """The main words of one wave, as the kernel writes them; its clock passes 2^32 meanwhile."""
    expected, _ = pattern_words(IDS, np.array([5]), rounds)
    words = np.zeros((1, len(expected.tags)), layout.WORD)
    clocks = np.uint32(2**32 - 5) + np.arange(words.shape[1], dtype=np.uint32)
    words["clock"] = np.where(expected.holds_clock, clocks, expected.bits)
    words["tag"] = expected.tags
    words["tag"][:, expected.is_span] |= np.uint32(77)  # a duration
    return words


def test_what_the_kernel_writes_has_no_difference() -> None:
    expected, side = pattern_words(IDS, np.array([5]), 3)

    assert (len(expected.tags), len(side.tags)) == (3 + 10 * 3 + 2, 2 * 3)
    assert differing_words(written(3), expected, BEGIN, END) == 0


@given(word=st.integers(0, 34), bit=st.integers(0, 63))
def test_any_bit_of_a_tag_or_payload_that_flips_is_a_difference(word: int, bit: int) -> None:
    expected, _ = pattern_words(IDS, np.array([5]), 3)
    words = written(3)
    field, shift = ("clock", bit) if bit < 32 else ("tag", bit - 32)
    if field == "clock" and expected.holds_clock[word]:
        shift = 31  # a clock is known by its order: only a large difference shows
    is_duration = field == "tag" and bool(expected.is_span[word]) and shift < 20

    words[field][0, word] ^= np.uint32(1 << shift)

    assert (differing_words(words, expected, BEGIN, END) > 0) == (not is_duration)


def test_overflow_words_are_a_group_and_pairs() -> None:
    ids = {"overflow": 9, "main": 10, "side": 11}

    main, side = overflow_words(ids, np.array([0, 1]), 2, 1)

    marked = [0x50000002, 0x4000000A]
    assert main.tags.tolist() == [0x48000009, *marked, *marked]
    assert side.tags.tolist() == [0x54000002, 0x4400000B]
    assert main.bits[:, 3].tolist() == [0x5EED1234 + 1, (0x5EED1234 ^ 2654435761) + 1]


def test_facts_of_the_machine_come_from_its_files(tmp_path: Path) -> None:
    for path, content in (
        ("opt/rocm/.info/version", "7.0.1-42\n"),
        ("sys/module/amdgpu/version", "6.12.12\n"),
        ("proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU\n"),
    ):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(content)

    facts = machine_facts(tmp_path)

    assert (facts["rocm_version"], facts["kernel_driver_version"]) == ("7.0.1-42", "6.12.12")
    assert facts["processor"] == "Some CPU"
    assert machine_facts(tmp_path / "nothing")["rocm_version"] is None
