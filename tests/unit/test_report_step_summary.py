"""`ktrace report --step-summary`: Markdown for the summary of a job."""

from pathlib import Path

import pytest

from support.comparing import Run, ktrace, record_run
from support.timelines import TILE

MIB = 1 << 20


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("runs")
    base = record_run(folder / "base.bin", Run(seed=1))
    slow = record_run(folder / "slow.bin", Run(seed=2, scale={TILE: 1.3}))
    return [base, slow, folder / "no*_such_[file].bin"]


def test_the_summary_is_printed_with_the_verdict_first(tmp_path: Path, runs: list[Path]) -> None:
    base, slow, missing = runs

    done = ktrace(
        *("report", slow, missing, "-o", tmp_path / "site", "--baseline", base),
        *("--step-summary", "-", "--title", "nightly"),
    )

    lines = done.stdout.splitlines()
    assert done.exit_code == 3
    assert lines[0] == "### REGRESSED: 1 of 2 runs; NO VERDICT: 1 of 2 runs (`nightly`)"
    assert lines[2:6] == [
        "| run | verdict | kernels | device | dispatches | duration | data |",
        "| :--- | :--- | :--- | :--- | ---: | ---: | :--- |",
        "| `slow.bin` | regressed | `gemm` | gfx942 (modelled) | 10 | 154 us | complete |",
        "| `no*_such_[file].bin` | not read |  |  | 0 |  | incomplete |",
    ]
    (slower,) = (line for line in lines if line.startswith("### `slow.bin`"))
    assert slower.startswith("### `slow.bin`: REGRESSED: 1 of 5 phases became slower than allowed")
    assert any(line.startswith("| `tile` | ") and "| REGRESSED (5%) |" in line for line in lines)
    assert lines[-2] == (
        "### `no*_such_[file].bin`: NOT READ: cannot read "
        + str(missing)
        .replace("*", r"\*")
        .replace("_", r"\_")
        .replace("[", r"\[")
        .replace("]", r"\]")
        + " (No such file or directory)"
    )


def test_the_summary_is_appended_and_never_more_than_its_file_may_hold(
    tmp_path: Path, runs: list[Path]
) -> None:
    base, slow, _ = runs
    path = tmp_path / "summary.md"
    sizes = []
    for size in (6, MIB - 700, MIB - 30, MIB + 5):
        path.write_bytes(b"a" * (size - 1) + b"\n")
        done = ktrace(
            *("report", slow, "-o", tmp_path / "site", "--force", "--baseline", base),
            *("--step-summary", path),
        )
        assert done.exit_code == 3
        assert path.read_bytes().startswith(b"a" * (size - 1) + b"\n")
        is_cut = "the summary is cut, as that of a step holds 1 MiB at most\n" in done.stderr
        assert is_cut == (size > 6)
        sizes.append(path.stat().st_size)
        added = path.read_text()[size:]
        if size == MIB - 700:
            assert added.startswith("### REGRESSED: 1 of 1 run")
            assert added.endswith(
                "\n\n- cut here, as a step's summary holds 1 MiB: the report's pages have the"
                " rest\n"
            )

    assert sizes[1] <= MIB
    assert sizes[2:] == [MIB - 30, MIB + 5]
