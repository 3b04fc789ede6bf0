"""`ktrace baseline`: what is kept of runs is enough to compare others with them."""

import gzip
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktrace_cli.analysis.compare.baseline_file import parse_baseline, read_baseline, write_baseline
from ktrace_cli.analysis.compare.compare import Request, compare
from ktrace_cli.analysis.compare.document import to_document
from ktrace_cli.analysis.compare.profile import RunProfile
from ktrace_cli.analysis.compare.rules import parse_rules
from ktrace_cli.commands.comparing import load_runs
from ktrace_cli.commands.selection import Unit
from ktrace_cli.errors import KtraceError
from support.comparing import HARDWARE, On, Run, ktrace, record_run, verdict
from support.timelines import TILE

PASSED = "PASSED: none of 5 phases became slower than allowed (`*>5%`)"


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    return [record_run(tmp_path / f"{n}.bin", Run(seed=n)) for n in range(5)]


@pytest.fixture
def kept(tmp_path: Path, runs: list[Path]) -> Path:
    path = tmp_path / "base.json"
    assert ktrace("baseline", *runs, "-o", path).exit_code == 0
    return path


def test_a_baseline_compares_as_its_runs_do(tmp_path: Path, runs: list[Path], kept: Path) -> None:
    new = record_run(tmp_path / "new.bin", Run(seed=9, scale={TILE: 1.2}))
    bases = [part for run in runs for part in ("--base", run)]

    from_runs = ktrace("diff", *bases, "--new", new, "--json")
    from_baseline = ktrace("diff", kept, new, "--json")

    assert from_runs.exit_code == from_baseline.exit_code == 3
    ours, theirs = (json.loads(done.stdout) for done in (from_runs, from_baseline))
    assert ours["base"].pop("runs") == list(map(str, runs))
    assert theirs["base"].pop("runs") == [str(kept)] * 5
    assert ours == theirs


def test_a_baseline_is_told_with_its_noise(tmp_path: Path, runs: list[Path]) -> None:
    result = ktrace("baseline", *runs, "-o", tmp_path / "base.json")

    first, second = result.stderr.splitlines()
    assert first == (
        f"ktrace: kept 5 runs of 1 kernel in {tmp_path}/base.json; compare with `ktrace diff"
        f" {tmp_path}/base.json NEW`"
    )
    assert second.startswith("ktrace: one more run may differ by ")
    assert second.endswith("% or less")


def test_few_runs_say_little_of_noise(tmp_path: Path) -> None:
    run = record_run(tmp_path / "run.bin", Run(seed=1), HARDWARE)

    result = ktrace("baseline", run, "-o", tmp_path / "base.json")

    assert result.stderr.splitlines()[1:] == [
        "ktrace: 5 runs or more tell better how much runs differ although nothing has changed"
    ]


def test_one_run_of_modelled_times_is_enough(tmp_path: Path) -> None:
    run = record_run(tmp_path / "run.bin", Run(seed=1), On())

    result = ktrace("baseline", run, "-o", tmp_path / "base.json")

    assert result.stderr.splitlines()[1:] == [
        "ktrace: times are modelled (software device): runs of the same code do not differ, so that"
        " one is enough"
    ]


def test_a_difference_within_the_noise_of_a_baseline_is_no_regression(tmp_path: Path) -> None:
    wide = [
        record_run(tmp_path / f"{n}.bin", Run(seed=n, noise=0.001, scale={TILE: scale}))
        for n, scale in enumerate((0.9, 0.95, 1.0, 1.05, 1.1))
    ]
    path = tmp_path / "base.json"
    ktrace("baseline", *wide, "-o", path)

    def with_tile(scale: float) -> Path:
        run = Run(seed=9, noise=0.001, scale={TILE: scale})
        return record_run(tmp_path / "new.bin", run)

    assert verdict(path, with_tile(1.2)) == (
        0,
        f"{PASSED}; 1 phase looks slower, which chance or noise explains",
    )
    assert "within the noise" in ktrace("diff", path, with_tile(1.2)).stdout
    assert verdict(path, with_tile(1.5))[0] == 3


def test_a_baseline_may_be_compressed_and_is_the_same_each_time(
    tmp_path: Path, runs: list[Path]
) -> None:
    paths = [tmp_path / "one.json.gz", tmp_path / "other.json.gz"]
    for path in paths:
        ktrace("baseline", *runs, "-o", path)

    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert json.loads(gzip.decompress(paths[0].read_bytes()))["format"] == "ktrace baseline"
    assert verdict(paths[0], runs[0]) == (0, PASSED)


def test_an_existing_baseline_stays_unless_it_may_be_replaced(kept: Path, runs: list[Path]) -> None:
    with pytest.raises(KtraceError, match="exists"):
        ktrace("baseline", *runs, "-o", kept)

    assert ktrace("baseline", *runs, "-o", kept, "--force").exit_code == 0


def test_runs_that_are_not_complete_are_refused_unless_that_is_allowed(
    tmp_path: Path, runs: list[Path]
) -> None:
    lossy = record_run(tmp_path / "lossy.bin", Run(), closed=False)
    path = tmp_path / "base.json"

    with pytest.raises(KtraceError, match=r"lossy\.bin is not complete") as caught:
        ktrace("baseline", *runs, lossy, "-o", path)

    assert caught.value.status == 5
    assert not path.exists()
    assert ktrace("baseline", *runs, lossy, "-o", path, "--allow-loss").exit_code == 0
    assert verdict(path, runs[0])[1].startswith("NOT COMPARABLE: the base side is not complete")
    assert verdict(path, runs[0], "--allow-loss") == (0, PASSED)


def test_runs_of_different_devices_are_no_baseline(tmp_path: Path, runs: list[Path]) -> None:
    for on in (HARDWARE, On(device={"target": "gfx950"})):
        other = record_run(tmp_path / "other.bin", Run(), on)

        with pytest.raises(KtraceError, match="these runs are not one baseline") as caught:
            ktrace("baseline", *runs, other, "-o", tmp_path / "base.json")

        assert caught.value.status == 4


def test_a_baseline_in_cycles_is_compared_in_cycles(
    tmp_path: Path, runs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("base.json")
    ktrace("baseline", *runs, "-o", path, "--unit", "cycles")

    made = json.loads(ktrace("diff", path, runs[0], "--json").stdout)

    assert (made["verdict"], made["unit"]) == ("passed", "cycles")
    assert verdict(path, "0.bin", "--unit", "ns") == (
        4,
        "NOT COMPARABLE: `0.bin` is in ns, `base.json` in cycles",
    )


def test_a_run_that_is_named_twice_counts_once(tmp_path: Path, runs: list[Path]) -> None:
    again = tmp_path / "again.bin"
    again.symlink_to(runs[0])

    result = ktrace("baseline", runs[0], again, runs[0], "-o", tmp_path / "base.json")

    assert result.stderr.splitlines()[:3] == [
        f"ktrace: warning: {again} is named more than once, and counts once",
        f"ktrace: warning: {runs[0]} is named more than once, and counts once",
        f"ktrace: kept 1 run of 1 kernel in {tmp_path}/base.json; compare with `ktrace diff"
        f" {tmp_path}/base.json NEW`",
    ]


def test_a_baseline_in_a_pipe_is_refused_with_words(kept: Path, runs: list[Path]) -> None:
    reading, writing = os.pipe()
    os.write(writing, kept.read_bytes()[:1_000])
    os.close(writing)

    with pytest.raises(KtraceError) as caught:
        ktrace("diff", f"/dev/fd/{reading}", runs[0])

    os.close(reading)
    assert caught.value.why == "it is no regular file, and is read from several places at once"


def test_what_goes_to_stdout_is_not_told_as_a_file(runs: list[Path]) -> None:
    assert ktrace("baseline", runs[0], "-o", "-").stderr.startswith(
        "ktrace: kept 1 run of 1 kernel\n"
    )


def test_what_is_read_is_what_was_written(kept: Path, runs: list[Path]) -> None:
    profiles = [run for part in load_runs(runs, Unit.NS) for run in part]

    again = read_baseline(kept)

    assert [run.name for run in again] == ["0.bin", "1.bin", "2.bin", "3.bin", "4.bin"]
    again = [replace(run, name=str(path)) for run, path in zip(again, runs, strict=True)]
    assert again == profiles
    assert write_baseline(again, "x") == write_baseline(profiles, "x")
    for ours, theirs in zip(again, profiles, strict=True):
        for one, other in zip(ours.kernels, theirs.kernels, strict=True):
            for id_, phase in one.phases.items():
                for level, values in phase.values.items():
                    assert values.tolist() == other.phases[id_].values[level].tolist()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"version": 2}, "it is a baseline of version 2; this ktrace reads version 1"),
        ({"runs": []}, "it is a damaged baseline: it has no run"),
        ({"runs": [{}]}, "it is a damaged baseline: it lacks unit"),
        ({"runs": 5}, "it is a damaged baseline: runs is int, not list"),
    ],
)
def test_a_baseline_that_cannot_be_read_says_why(
    kept: Path, change: dict[str, Any], why: str
) -> None:
    kept.write_text(json.dumps({**json.loads(kept.read_text()), **change}))

    with pytest.raises(KtraceError, match="cannot read") as caught:
        read_baseline(kept)

    assert caught.value.why == why
    assert "ktrace baseline RUN... -o FILE" in caught.value.fix


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return where everything in a document is."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, item in inside:
        found.append((*path, key))
        if isinstance(item, (dict, list)):
            found += places(item, (*path, key))
    return found


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("fuzz")
    small = record_run(folder / "run.bin", Run(launches=1, workgroups=1))
    ktrace("baseline", small, "-o", folder / "base.json")
    return (folder / "base.json").read_text()


def read_or_why(data: bytes) -> tuple[list[RunProfile], str]:
    try:
        return parse_baseline(data, Path("base.json")), ""
    except KtraceError as problem:
        return [], problem.why


@given(
    place=st.integers(0, 10_000),
    value=st.one_of(
        *(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3)),
        *(st.just([]), st.just({}), st.lists(st.integers(), max_size=3)),
    ),
)
def test_a_changed_baseline_is_read_or_refused_with_words(
    text: str, place: int, value: Any
) -> None:
    document = json.loads(text)
    known = places(document)
    *way, last = known[place % len(known)]
    inner = document
    for key in way:
        inner = inner[key]
    inner[last] = value

    runs, why = read_or_why(json.dumps(document).encode())

    if why:
        assert why.startswith("it is a ")
    else:
        untouched = parse_baseline(text.encode(), Path("base.json"))
        request = Request(parse_rules([], "ns"))
        for sides in ((runs, untouched), (untouched, runs)):
            assert to_document(compare(*sides, request))["schema"] == 1


@given(st.integers(0, 20_000))
def test_a_cut_baseline_is_refused_with_words(text: str, size: int) -> None:
    cut = text.encode()[: size % len(text.rstrip())]

    with pytest.raises(KtraceError, match=r"cannot read base\.json"):
        parse_baseline(cut, Path("base.json"))
