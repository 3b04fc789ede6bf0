"""Where `ktrace report` writes, what it refuses to write over, and how large it may become."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktrace_cli.errors import KtraceError
from ktrace_cli.report.markup import tag
from ktrace_cli.report.pages import Names, plan_pages
from ktrace_cli.report.timelines import fit
from ktrace_cli.timeline.build import build_timeline
from ktrace_cli.trace_file.reader import read_recording
from support.comparing import HARDWARE, On, Run, begin_recording, fill, ktrace, record_run
from support.report_site import bytes_by_file, read_page, read_report
from support.timelines import UNIT_KEY


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record_run(tmp_path_factory.mktemp("run") / "run.bin", Run(launches=4))


def refused(*arguments: object) -> tuple[int, str, str]:
    """Return status, what and why of the error that a command line is answered with."""
    with pytest.raises(KtraceError) as caught:
        ktrace("report", *arguments)
    assert caught.value.fix
    return int(caught.value.status), caught.value.what, caught.value.why


def test_a_site_is_not_written_to_standard_output(
    tmp_path: Path, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert refused(run, "-o", "-") == (
        2,
        "cannot write a site to standard output",
        "it is a folder of files",
    )
    assert not (tmp_path / "-").exists()


def test_an_older_report_is_replaced_only_with_force(tmp_path: Path, run: Path) -> None:
    site = tmp_path / "site"
    assert ktrace("report", run, "-o", site).exit_code == 0
    before = bytes_by_file(site)
    other = record_run(tmp_path / "other.bin", Run(launches=1))

    assert refused(other, "-o", site) == (1, f"{site} holds a report", "it would be overwritten")

    assert bytes_by_file(site) == before
    assert ktrace("report", other, "-o", site, "--force", "--timeline", 0).exit_code == 0
    assert list(bytes_by_file(site)) == [
        *("index.html", "report.json", "runs/other/index.html", "runs/other/summary.json")
    ]


def test_what_is_not_of_a_report_is_never_touched(tmp_path: Path, run: Path) -> None:
    site = tmp_path / "site"
    ktrace("report", run, "-o", site)
    (site / "runs/notes.txt").write_text("mine")

    assert refused(run, "-o", site, "--force") == (
        1,
        f"will not write to {site}",
        "it holds what `ktrace report` did not write: runs/notes.txt",
    )

    for content in (b"{}", b"[]", b'{"format": "ktrace report", "files": 3}', b"\xff"):
        (site / "report.json").write_bytes(content)
        assert refused(run, "-o", site, "--force")[1] == f"will not write to {site}"
    assert (site / "runs/notes.txt").read_text() == "mine"


def test_an_empty_folder_is_used_and_may_be_the_current_one(
    tmp_path: Path, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    assert ktrace("report", run, "-o", ".").exit_code == 0

    assert (tmp_path / "here/index.html").is_file()
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == [
        *("index.html", "report.json", "runs")
    ]


@pytest.mark.parametrize(
    ("arguments", "status", "what", "why"),
    [
        (["-o", "{}/run.bin"], 1, "cannot write a site to {}/run.bin", "it is a file"),
        (["-o", "{}/no/site"], 1, "cannot write {}/no/site", "there is no folder {}/no, and"),
        (["--baseline", "{}/no.json"], 1, "cannot read {}/no.json", "No such file"),
        (["--baseline", "{}/trace.json"], 1, "cannot compare {}/trace.json", "it is JSON; only"),
        (["--fail-on", "*>5%"], 2, "nothing is compared, so `*>5%` means", "no `--baseline`"),
        (["--baseline", "{}/run.bin", "--fail-on", "x"], 2, "cannot read `--fail-on 'x'`", ""),
        (["--step-summary", ""], 2, "`--step-summary` names no file", "its value is empty"),
        (["--step-summary", "{}/run.bin"], 2, "will not write to {}/run.bin", "it is the input"),
        (["--step-summary", "{}/no/x.md"], 1, "cannot write {}/no/x.md", "No such file"),
        (["--selftest", "{}/trace.json"], 1, "cannot use the selftest {}/trace.json", ""),
        (["--top", "-1"], 2, "cannot read `--top -1`", "wanted 0 or more"),
    ],
)
def test_bad_input_is_refused_and_leaves_nothing(
    tmp_path: Path, run: Path, arguments: list[str], status: int, what: str, why: str
) -> None:
    (tmp_path / "run.bin").write_bytes(run.read_bytes())
    (tmp_path / "trace.json").write_text("{}")
    before = bytes_by_file(tmp_path)
    given = [argument.format(tmp_path) for argument in arguments]
    output = [] if "-o" in given else ["-o", tmp_path / "site"]

    found = refused(tmp_path / "run.bin", *output, *given)

    assert found[0] == status
    assert found[1].startswith(what.format(tmp_path))
    assert found[2].startswith(why.format(tmp_path))
    assert bytes_by_file(tmp_path) == before
    assert not (tmp_path / "site").exists()


def test_runs_of_one_name_have_pages_of_their_own(tmp_path: Path, run: Path) -> None:
    paths = [tmp_path / name / "run.bin" for name in ("a", "b")]
    for path in paths:
        path.parent.mkdir()
        path.write_bytes(run.read_bytes())

    ktrace("report", *paths, paths[0], "-o", tmp_path / "site")

    report = read_report(tmp_path / "site")
    assert [(one["name"], one["page"]) for one in report["runs"]] == [
        (str(paths[0]), "runs/run/index.html"),
        (str(paths[1]), "runs/run-2/index.html"),
    ]
    assert read_page(tmp_path / "site/index.html").row(str(paths[1]))[2] == "gemm"


@given(st.lists(st.text(), min_size=1, max_size=12))
def test_any_names_become_different_names_of_folders(wanted: list[str]) -> None:
    names = Names()

    taken = [names.take(text) for text in wanted]

    assert len({name.lower() for name in taken}) == len(wanted)
    for name in taken:
        assert set(name) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
        assert name[0] not in ".-"
        assert len(name) < 100


def test_names_that_windows_reserves_are_not_used() -> None:
    names = Names()

    assert [names.take(name) for name in ("con", "NUL.x", "run", "RUN", "..", "µ")] == [
        *("run-con", "run-NUL.x", "run", "RUN-2", "run-3", "run-4")
    ]


def test_a_folder_is_called_as_it_is_however_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    here = tmp_path / "deep" / ".."
    files = [here / "0.bin"]

    (plan,) = plan_pages({here: files})

    assert (plan.page.title, plan.page.folder) == (tmp_path.name, f"runs/{tmp_path.name}")
    assert [page.path for _, page in plan.recordings] == ["runs/0/index.html"]


@given(st.text(), st.text())
def test_text_never_leaves_its_element_or_attribute(text: str, value: str) -> None:
    written = tag("p", text, title=value).text

    assert written.count("<") == written.count(">") == 2
    assert written.count('"') == 2


def test_a_large_recording_has_a_timeline_of_limited_size(tmp_path: Path) -> None:
    made, kernel = begin_recording(On())
    other = made.add_kernel("other", code_object=1, unit_key=UNIT_KEY)
    fill(made, kernel, Run(launches=3, workgroups=2))
    fill(made, other, Run(launches=1, workgroups=2))
    timeline = build_timeline(read_recording(made.write(tmp_path / "run.bin")))
    assert timeline.waves["slices"].tolist() == [3] * 16

    shown = [fit(timeline, most) for most in (48, 47, 24, 7)]

    assert [part.dispatches["number"].tolist() for part, _ in shown] == [
        *([1, 2, 3, 4], [1, 2, 4], [1, 4], [1])
    ]
    assert [len(part.waves) for part, _ in shown] == [16, 12, 8, 2]
    assert [len(part.slices) for part, _ in shown] == [48, 36, 24, 6]
    assert shown[0][1] == ""
    assert shown[2][1] == (
        "the timeline shows 8 of 16 waves, in 2 of 4 dispatches: all would be 48 ranges and marks,"
        " and 24 are wanted at most (`--timeline`); tables are of all"
    )


def test_a_page_says_what_its_timeline_lacks(tmp_path: Path, run: Path) -> None:
    ktrace("report", run, "-o", tmp_path / "site", "--timeline", 24)
    ktrace("report", run, "-o", tmp_path / "none", "--timeline", 0)

    some, none = (read_page(tmp_path / site / "runs/run/index.html") for site in ("site", "none"))

    assert "The timeline shows 8 of 32 waves, in 1 of 4 dispatches: all would be 96" in some.text
    assert some.row("tile")[1] == "32"
    assert "There is none: left out, as asked for (--timeline 0)." in none.text
    assert none.tags("iframe") == []
    assert not (tmp_path / "none/runs/run/timeline.html").exists()


def test_many_phases_and_launches_make_no_large_page(tmp_path: Path) -> None:
    path = record_run(tmp_path / "run.bin", Run(launches=300, workgroups=8))

    ktrace("report", path, "-o", tmp_path / "site", "--timeline", 1000, "--baseline", path)

    sizes = {name: len(data) for name, data in bytes_by_file(tmp_path / "site").items()}
    assert sizes["runs/run/index.html"] < 30_000
    assert sizes["index.html"] < 10_000
    assert sizes["runs/run/timeline.html"] < 150_000


def write_selftest(path: Path, *, modelled: bool) -> Path:
    cost = {"situation": "lone_wave", "cycles": 44, "ns": 20.952}
    document = {
        "ktrace_selftest": 1,
        "ktrace": "0.1.0",
        "date": "2026-11-30T01:02:03Z",
        "quick": False,
        "modelled_time": modelled,
        "machine": {"target": "gfx942:sramecc+:xnack-"},
        "checks": [
            {"name": "bounds", "state": "pass", "text": "", "figures": []},
            {"name": "skew", "state": "fail", "text": "<b>2 us</b>", "figures": []},
            {"name": "rates", "state": "skipped", "text": "", "figures": []},
        ],
        "costs": [{"marker": "mark", **cost}],
    }
    path.write_text(json.dumps(document))
    return path


def test_a_selftest_tells_what_tracing_costs_on_its_own_kind_of_device(
    tmp_path: Path, run: Path
) -> None:
    hardware = record_run(tmp_path / "hardware.bin", Run(), HARDWARE)
    selftest = write_selftest(tmp_path / "selftest.json", modelled=True)

    done = ktrace("report", run, hardware, "-o", tmp_path / "site", "--selftest", selftest)

    assert done.exit_code == 0
    fits, other = (
        read_page(tmp_path / f"site/runs/{name}/index.html") for name in ("run", "hardware")
    )
    assert "(gfx942, modelled, 2026-11-30) of ktrace 0.1.0: 1 of 2 checks passed." in fits.text
    assert "failed: skew: <b>2 us</b>" in fits.text
    assert fits.row("mark") == ["mark", "44 cy, 21.0 ns"]
    assert "Not known: the selftest " in other.text
    assert "and the recording of gfx942 (hardware)." in other.text
