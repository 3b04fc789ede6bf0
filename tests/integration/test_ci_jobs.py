"""The jobs of samples/ci, run step by step as a CI would, in a repository that is thrown away.

What installs is left out here: the installation at hand is used. `nox -s wheel` runs a job with it.
The jobs for a GPU run on the software device, and record less often.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
from itertools import combinations
from pathlib import Path

import pytest

from support.ci_jobs import CI, commit, make_repository, run_job
from support.ci_machine import Done, Machine
from support.comparing import HARDWARE, US, On, Run, event, ktrace, record_run
from support.ktrace_command import ROOT
from support.timelines import INNER, OUTER

pytestmark = pytest.mark.skipif(
    not (importlib.util.find_spec("ziglang") or shutil.which("hipcc")) or not shutil.which("make"),
    reason="no make, or no compiler for AMD GPUs: `pip install ziglang`",
)

DOCUMENT = ROOT / "docs" / "ci.md"
BASELINE = "ktrace-baseline.json"
PASSED = "PASSED: none of 5 phases became slower than allowed (`mainloop>5%`, `*>10%`)"
REGRESSED = (
    r"REGRESSED: 1 of 5 phases became slower than allowed: `mainloop` of `geometric` \+(9|10)\.\d %"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ci")


@pytest.fixture(scope="module")
def begun(folder: Path) -> Path:
    """A repository without a baseline."""
    return make_repository(folder / "begun")


@pytest.fixture(scope="module")
def first(folder: Path, begun: Path) -> Done:
    """What became of the job there."""
    return run_job("github/ktrace.yml", begun, Machine(folder / "first"))


@pytest.fixture(scope="module")
def equal(folder: Path, begun: Path, first: Done) -> Path:
    """A repository with the baseline of that job, whose last commit changes no kernel."""
    repository = folder / "equal"
    shutil.copytree(begun, repository)
    shutil.copy(first.artifacts / "ktrace" / BASELINE, repository / BASELINE)
    commit(repository, "Add the baseline")
    (repository / "README.md").write_text("A kernel.\n")
    commit(repository, "Add a page")
    return repository


@pytest.fixture(scope="module")
def slow(folder: Path, equal: Path) -> Path:
    """One whose last commit gives the kernel's main loop ten percent more to do."""
    repository = folder / "slow"
    shutil.copytree(equal, repository)
    source = repository / "geometric.hip"
    source.write_text(source.read_text().replace("Terms = 200;", "Terms = 220;"))
    commit(repository, "Sum more terms")
    return repository


def soft(runs: int) -> dict[str, str]:
    """Return the variables of a GPU's job that let it run here, that often."""
    return {"DEVICE": "soft", "RUNS": str(runs)}


def without_numbers(text: str) -> str:
    return re.sub(r"\d+(\.\d+)?", "N", text)


def bench_recordings(done: Done) -> list[Path]:
    return sorted(p for p in done.artifacts.glob("ktrace/**/*.bin") if p.parent.name != "tests")


def kept_of(recording: Path) -> str:
    """Return what a baseline keeps of a recording, but for its name."""
    (run,) = json.loads(ktrace("baseline", recording, "-o", "-").stdout)["runs"]
    return json.dumps(run["kernels"])


def page(done: Done) -> str:
    return (done.artifacts / "site" / "index.html").read_text()


def test_the_first_run_fails_for_lack_of_a_baseline_and_leaves_one(first: Done) -> None:
    assert (first.failed, first.status) == ("Compare and report", 1), first.output
    assert f"ktrace: error: cannot read {BASELINE}" in first.output
    assert json.loads((first.artifacts / "ktrace" / BASELINE).read_text())["runs"]


@pytest.mark.parametrize(
    ("job", "runs", "recordings"),
    [("github/ktrace.yml", 1, 1), ("gitlab/ktrace.yml", 1, 1), ("github/ktrace-gpu.yml", 3, 6)],
)
def test_an_equal_commit_passes_and_leaves_a_site_a_summary_and_recordings(
    job: str, runs: int, recordings: int, equal: Path, tmp_path: Path
) -> None:
    done = run_job(job, equal, Machine(tmp_path / "run", variables=soft(runs)))

    assert (done.failed, done.status) == ("", 0), done.output
    assert PASSED in done.summary
    assert "PASSED" in page(done)
    assert "team/kernels 0123456789abcdef0123456789abcdef01234567" in page(done)
    assert len(list(done.artifacts.glob("ktrace/tests/*.bin"))) == 1
    made = bench_recordings(done)
    assert len(made) == recordings
    assert len({kept_of(recording) for recording in made}) == 1
    assert {ktrace("diff", *pair, *rules(job)).exit_code for pair in combinations(made, 2)} <= {0}


@pytest.mark.parametrize(
    ("job", "failed"),
    [
        ("github/ktrace.yml", "Compare and report"),
        ("github/ktrace-gpu.yml", "Compare and report"),
        ("gitlab/ktrace-gpu.yml", "ktrace report ktrace/after "),
    ],
)
def test_ten_percent_more_work_fails_with_status_3_and_leaves_the_same(
    job: str, failed: str, slow: Path, tmp_path: Path
) -> None:
    done = run_job(job, slow, Machine(tmp_path / "run", variables=soft(1)))

    assert (done.failed[: len(failed)], done.status) == (failed, 3), done.output
    assert re.search(REGRESSED, done.summary)
    assert "REGRESSED" in page(done)
    if job == "github/ktrace.yml":
        shown = [line.strip() for line in DOCUMENT.read_text().splitlines() if "REGRESSED" in line]
        verdicts = [line for line in done.summary.splitlines() if "### `bench.bin`" in line]
        assert list(map(without_numbers, verdicts)) == [f"### {without_numbers(shown[0])}"]
    assert len(list(done.artifacts.glob("ktrace/tests/*.bin"))) == 1
    assert len(bench_recordings(done)) == (2 if "gpu" in job else 1)


def test_another_phase_fails_with_status_4_until_the_baseline_of_the_job_is_taken(
    equal: Path, tmp_path: Path
) -> None:
    repository = tmp_path / "renamed"
    shutil.copytree(equal, repository)
    source = repository / "geometric.hip"
    source.write_text(source.read_text().replace('"store"', '"write back"'))
    commit(repository, "Rename a phase")

    done = run_job("gitlab/ktrace.yml", repository, Machine(tmp_path / "run"))

    assert (done.failed[:13], done.status) == ("ktrace report", 4), done.output
    assert "NOT COMPARABLE: the code of kernel `geometric` has other phases" in done.summary
    (recording,) = bench_recordings(done)
    accepted = done.artifacts / "ktrace" / BASELINE
    assert ktrace("diff", accepted, recording, *rules("gitlab/ktrace.yml")).exit_code == 0


@pytest.mark.parametrize("job", ["github/ktrace-main.yml", "gitlab/ktrace-main.yml"])
def test_requests_are_compared_with_the_baseline_that_main_left(
    job: str, equal: Path, slow: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    on_main = Machine(tmp_path / "main", variables=soft(1), is_main=True, kept=kept)

    main = run_job(job, equal, on_main)
    request = run_job(job, slow, Machine(tmp_path / "run", variables=soft(1), kept=kept))

    assert (main.status, main.summary) == (0, ""), main.output
    assert request.status == 3, request.output
    assert re.search(REGRESSED, request.summary)


def test_a_request_before_main_has_left_a_baseline_fails(equal: Path, tmp_path: Path) -> None:
    machine = Machine(tmp_path / "run", variables=soft(1), kept=tmp_path)

    done = run_job("gitlab/ktrace-main.yml", equal, machine)

    assert done.status
    assert done.failed.startswith("curl ")


def rules(job: str) -> list[str]:
    """Return the options of a job's comparison that say what fails."""
    text = (CI / job).read_text()
    words = text.split("ktrace report", 1)[1].replace("\\\n", " ").split()
    found = [words[n + 1].strip("'") for n, word in enumerate(words) if word == "--fail-on"]
    assert found == ["mainloop>5%", "*>10%"]
    return [f"--fail-on={rule}" for rule in found]


NOISY = On(HARDWARE.device, events=[event(OUTER, "mainloop"), event(INNER, "store")])


def noisy_runs(folder: Path, seed: int, scale: float = 1.0) -> Path:
    """Record five runs that differ as runs on hardware do; return their folder."""
    folder.mkdir()
    for number in range(5):
        run = Run(
            seed=100 * seed + number,
            times={OUTER: 50 * US, INNER: 5 * US},
            scale={OUTER: scale},
            workgroups=2,
        )
        record_run(folder / f"{number}.bin", run, NOISY)
    return folder


def test_twenty_pairs_of_noisy_runs_pass_and_ten_percent_do_not(tmp_path: Path) -> None:
    limits = rules("github/ktrace-gpu.yml")
    verdicts = []
    for pair in range(20):
        before, after, slow = (
            noisy_runs(tmp_path / f"{pair}-{number}", seed, scale)
            for number, seed, scale in (
                (1, 3 * pair, 1.0), (2, 3 * pair + 1, 1.0), (3, 3 * pair + 2, 1.1)
            )
        )  # fmt: skip
        kept = tmp_path / f"{pair}.json"
        assert ktrace("baseline", before, "-o", kept).exit_code == 0
        verdicts.append([ktrace("diff", kept, new, *limits).exit_code for new in (after, slow)])

    assert verdicts == [[0, 3]] * 20
