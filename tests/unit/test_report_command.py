"""`ktrace report`: what its pages say, which status it ends with, and what it refuses."""

import json
from pathlib import Path

import jsonschema
import pytest

from ktrace_cli.analysis.compare.document import read_schema as diff_schema
from ktrace_cli.analysis.document import read_schema as summary_schema
from ktrace_cli.trace_file.layout import DispatchFlag
from ktrace_cli.trace_file.sections import Section, first_line, section_line, sections_path
from support.comparing import HARDWARE, On, Run, event, ktrace, record_run
from support.report_site import Page, bytes_by_file, pages, read_page, read_report
from support.timelines import INNER, OUTER, TILE


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    for number in range(5):
        record_run(folder / f"{number}.bin", Run(seed=number))
    path = folder / "base.json"
    assert ktrace("baseline", folder, "-o", path).exit_code == 0
    return path


def report_of(tmp_path: Path, *arguments: object) -> tuple[int, Page]:
    """Return the exit status, and the first page."""
    site = tmp_path / "site"
    done = ktrace("report", *arguments, "-o", site)
    return done.exit_code, read_page(site / "index.html")


def test_a_run_is_shown_with_its_numbers(tmp_path: Path) -> None:
    times = {OUTER: 4_200, TILE: 2_100, INNER: 8_400}
    path = record_run(tmp_path / "run.bin", Run(noise=0.0, times=times))

    status, index = report_of(tmp_path, path)

    assert status == 0
    assert index.row("run.bin") == [
        *("run.bin", "not compared", "gemm", "gfx942 (modelled)", "10", "153 us", "complete", "")
    ]
    page = read_page(tmp_path / "site/runs/run/index.html")
    assert page.tables[0][0] == [
        *("phase", "count", "% of waves", "total", "self", "mean", "median", "p95", "p99", "max"),
        "spread",
    ]
    assert page.row("outer") == [
        *("outer", "80", "31.7 %", "160 us", "80 us", "2 us", "2 us", "2 us", "2 us", "2 us", "")
    ]
    assert page.row("tile")[1:5] == ["80", "15.9 %", "80 us", "80 us"]
    assert page.row("workgroup") == [
        *("workgroup", "40", "6.30 us", "6.30 us", "1.00 x", "workgroup 0,0,0 of dispatch 1")
    ]
    for fact in (
        "DeviceVirtual Instinct, gfx942:sramecc+:xnack- (304 CUs, 8 XCCs)",
        "Timesmodelled times (software device)",
        "Recorded10 dispatches with 80 waves, 240 ranges",
        "Programapp --size 64",
        "Date2023-11-14 22:13:20 UTC",
        "Tracing cost not measured",
    ):
        assert fact in page.text
    assert set(page.links) == {
        *("../../index.html", "timeline.html", "summary.json", "../../report.json")
    }


def test_a_regression_is_the_verdict_of_all_pages(tmp_path: Path, base: Path) -> None:
    same = record_run(tmp_path / "same.bin", Run(seed=8))
    slow = record_run(tmp_path / "slow.bin", Run(seed=9, scale={TILE: 1.2}))

    status, index = report_of(tmp_path, same, slow, "--baseline", base)

    assert status == 3
    assert "REGRESSED: 1 of 2 runs" in index.text
    assert "Compared with " + str(base) + " (5 runs); no phase may exceed *>5%." in index.text
    assert [index.row(name)[1] for name in ("same.bin", "slow.bin")] == ["passed", "regressed"]
    page = read_page(tmp_path / "site/runs/slow/index.html")
    assert "REGRESSED: 1 of 5 phases became slower than allowed: tile of gemm +19.6 %" in page.text
    assert page.tables[0][0][:5] == ["phase", "base", "new", "change", "result"]
    assert page.row("tile")[4] == "REGRESSED (5%)"
    assert page.row("inner")[4] == "same"
    assert "limits: *>5%; changes of an occurrence up to two ticks of the clock" in page.text
    assert "noise of the baseline: one more run may differ by " in page.text


def test_each_status_is_that_of_its_verdict(tmp_path: Path, base: Path) -> None:
    same = record_run(tmp_path / "same.bin", Run(seed=8))
    slow = record_run(tmp_path / "slow.bin", Run(seed=9, scale={TILE: 1.2}))
    other = record_run(tmp_path / "other.bin", Run(seed=9), HARDWARE)
    compare = ("--force", "--baseline", base)

    found = [
        report_of(tmp_path, *runs, *compare)
        for runs in (
            (same,),
            (slow, other, tmp_path / "none.bin"),
            (same, other),
            (other, same, tmp_path / "none.bin"),
            (slow, "--fail-on", "tile>50%"),
            (same, "--fail-on", "tlie>5%"),
        )
    ]

    assert [status for status, _ in found] == [0, 3, 4, 1, 0, 2]
    assert "NO VERDICT: 1 of 3 runs; NOT COMPARABLE: 1 of 3 runs" in found[3][1].text
    assert "matches no phase (the phases are tile, outer, inner, (wave), " in found[5][1].text


def test_what_cannot_be_read_does_not_keep_others_from_their_pages(tmp_path: Path) -> None:
    good = record_run(tmp_path / "good.bin", Run())
    (tmp_path / "text.bin").write_text("hello")
    (tmp_path / "empty").mkdir()
    given = [tmp_path / name for name in ("text.bin", "empty", "none.bin")]

    done = ktrace("report", *given, good, "-o", tmp_path / "site")

    assert done.exit_code == 1
    assert done.stderr.count("ktrace: error: ") == 3
    assert done.stderr.splitlines()[-1] == (
        f"ktrace: wrote {tmp_path}/site/index.html; NO VERDICT: 3 of 4 runs"
    )
    index = read_page(tmp_path / "site/index.html")
    assert [index.row(path.name)[1] for path in given] == ["not read"] * 3
    assert index.row("good.bin")[6] == "complete"
    page = read_page(tmp_path / "site/runs/text/index.html")
    assert f"NOT READ: cannot read {tmp_path}/text.bin: it is no ktrace recording" in page.text
    assert read_report(tmp_path / "site")["runs"][2]["problem"]["why"] == (
        "No such file or directory"
    )


def test_a_folder_is_one_run_whose_recordings_have_pages(tmp_path: Path, base: Path) -> None:
    (tmp_path / "two").mkdir()
    for number in range(2):
        record_run(tmp_path / f"two/{number}.bin", Run(seed=20 + number))

    status, index = report_of(tmp_path, tmp_path / "two", "--baseline", base)

    assert status == 0
    assert index.row("two")[:3] == ["two", "passed", "2 recordings"]
    assert index.row("1.bin")[2] == "gemm"
    page = read_page(tmp_path / "site/runs/two/index.html")
    assert "gemm: compared 50 launches with 20" in page.text
    assert page.row("0.bin")[1] == "gemm"
    inner = read_page(tmp_path / "site/runs/0/index.html")
    assert "a recording of two, which is compared as a whole" in inner.text
    assert "../../runs/two/index.html" in inner.links


def test_a_folder_with_an_unreadable_recording_has_no_verdict(tmp_path: Path, base: Path) -> None:
    (tmp_path / "two").mkdir()
    record_run(tmp_path / "two/0.bin", Run(seed=20))
    (tmp_path / "two/1.bin").write_bytes(b"")

    status, index = report_of(tmp_path, tmp_path / "two", "--baseline", base)

    assert status == 1
    assert index.row("two")[1] == "no verdict"
    assert index.row("1.bin")[6] == "not read"
    inner = read_page(tmp_path / "site/runs/1/index.html")
    assert f"NOT READ: cannot read {tmp_path}/two/1.bin" in inner.text


def test_names_mean_nothing_to_a_page(tmp_path: Path) -> None:
    evil = '"><script>alert(1)</script><img src=x onerror=alert(2)>&amp;\x00\x1b[31m'
    events = [event(OUTER, evil), event(TILE, "tile"), event(INNER, "</style></table>")]
    path = record_run(tmp_path / "a<b>&'\".bin", Run(), On(mangled=evil, events=events))

    status, index = report_of(tmp_path, path, "--baseline", path, "--title", evil)

    assert status == 0
    found = pages(tmp_path / "site")
    assert [page.path.parent.name for page in found] == ["site", "a-b"]
    for page in found:
        assert page.tags("script") == page.tags("img") == []
        assert "<script>alert(1)" in page.text
        assert not any(name.startswith("on") for _, found in page.elements for name in found)
    assert index.row("a<b>&'\".bin")[1] == "passed"
    assert found[1].row("</style></table>")[4] == "same"
    assert len(found[1].tags("style")) == 1


def test_the_same_runs_give_the_same_bytes(tmp_path: Path, base: Path) -> None:
    path = record_run(tmp_path / "run.bin", Run(seed=9, scale={TILE: 1.2}))
    for site in ("one", "two"):
        ktrace("report", path, tmp_path / "none.bin", "--baseline", base, "-o", tmp_path / site)

    one, two = (bytes_by_file(tmp_path / site) for site in ("one", "two"))

    assert list(one) == [
        *("index.html", "report.json", "runs/none/index.html", "runs/run/diff.json"),
        *("runs/run/index.html", "runs/run/summary.json", "runs/run/timeline.html"),
    ]
    assert one == two


def test_no_page_asks_for_anything_but_files_of_the_site(tmp_path: Path, base: Path) -> None:
    (tmp_path / "two").mkdir()
    record_run(tmp_path / "two/0.bin", Run(seed=20))
    report_of(tmp_path, tmp_path / "two", base.parent / "1.bin", "--baseline", base)

    found = pages(tmp_path / "site")

    assert len(found) == 4
    for page in found:
        assert "://" not in page.path.read_text()
        (policy,) = (meta["content"] for meta in page.tags("meta") if "http-equiv" in meta)
        assert policy is not None
        assert policy.startswith("default-src 'none'; style-src 'sha256-")
        for link in page.links:
            assert (page.path.parent / link).resolve().is_file(), link


def test_the_machine_readable_files_are_what_other_commands_print(
    tmp_path: Path, base: Path
) -> None:
    path = record_run(tmp_path / "run.bin", Run(seed=9, scale={TILE: 1.2}))
    report_of(tmp_path, path, "--baseline", base)

    site = tmp_path / "site"
    summary, diff = (
        json.loads((site / "runs/run" / name).read_text()) for name in ("summary.json", "diff.json")
    )

    assert summary == json.loads(ktrace("summary", path, "--json").stdout)
    assert diff == json.loads(ktrace("diff", base, path, "--json").stdout)
    jsonschema.validate(summary, summary_schema())
    jsonschema.validate(diff, diff_schema())
    document = read_report(site)
    assert document["exit_status"] == 3
    assert document["runs"][0]["verdict"] == "regressed"
    assert document["files"] == sorted(bytes_by_file(site))


def test_what_is_missing_is_on_the_pages(tmp_path: Path, base: Path) -> None:
    path = record_run(tmp_path / "run.bin", Run(seed=9), closed=False)

    status, index = report_of(tmp_path, path, "--baseline", base)

    assert status == 4
    assert index.row("run.bin")[6] == "1 warning"
    page = read_page(tmp_path / "site/runs/run/index.html")
    assert (
        "missing, repaired or assumed1 recording was not closed, as its process ended" in page.text
    )
    assert report_of(tmp_path, path, "--baseline", base, "--allow-loss", "--force")[0] == 0


def test_times_may_be_cycles_and_what_is_none_stays_a_time(tmp_path: Path) -> None:
    path = record_run(tmp_path / "run.bin", Run(noise=0.0))

    status, index = report_of(tmp_path, path, "--unit", "cycles", "--baseline", path)

    assert status == 0
    assert index.row("run.bin")[5] == "153 us"
    page = read_page(tmp_path / "site/runs/run/index.html")
    assert "modelled times (software device) in cycles of the core clock" in page.text
    assert page.tables[0][1][:3] == ["inner", "8.40 kcy", "8.40 kcy"]
    assert "From first to last wave153 us" in page.text


def test_a_recording_in_part_is_told(tmp_path: Path) -> None:
    path = record_run(tmp_path / "run.bin", Run(launches=2), flags=DispatchFlag.FILTERED)

    report_of(tmp_path, path)

    page = read_page(tmp_path / "site/runs/run/index.html")
    assert (
        "Recorded only in part, as asked for (--blocks, --waves or --xcc): 2 of 2 dispatches"
        in page.text
    )


def test_only_the_launches_of_a_test_are_shown(tmp_path: Path) -> None:
    path = record_run(tmp_path / "run.bin", Run())
    section = Section("t.py::test_gemm", "call", "passed", first=2, launches=3)
    sections_path(path).write_text(first_line(path, 4242) + section_line(section))

    status, index = report_of(tmp_path, path, "--section", "test_gemm", "--timeline", 0)

    assert status == 0
    assert index.row("run.bin")[4] == "3"
    page = read_page(tmp_path / "site/runs/run/index.html")
    assert "24 of 80 waves are shown, as asked for" in page.text
    assert page.row("tile")[1] == "24"


def test_a_selection_is_shown_compared_and_told(tmp_path: Path) -> None:
    path = record_run(tmp_path / "run.bin", Run())

    status, _ = report_of(tmp_path, path, "--kernel", "gemm", "--baseline", path)
    wrong, index = report_of(tmp_path, path, "--kernel", "gmem", "--force")

    assert (status, wrong) == (0, 2)
    assert "NOT READ: --kernel gmem selects nothing" in index.text
