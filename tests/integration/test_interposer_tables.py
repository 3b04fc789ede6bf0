"""A HIP that registers API tables: each call is handled in the table, once."""

import re
from pathlib import Path

import pytest

from support.preloaded import ROOT, Outcome, run_script
from support.table_hip import COMPILER, RUNTIME, TableHip, build, interposer

LAUNCHES = """
host = Host(open_hip(), SAXPY)
for _ in range(3):
    assert host.launch() == 0
assert host.launch(extra=True) == 0
print('right' if host.is_right() else host.result(), flush=True)
"""


@pytest.fixture(scope="module")
def table_hip(tmp_path_factory: pytest.TempPathFactory) -> TableHip:
    return build(tmp_path_factory.mktemp("table_hip"))


def run(
    script: str, folder: Path, table_hip: TableHip, *preloads: Path, **environment: str
) -> Outcome:
    """Run `script` with `preloads`; what HIP registers is logged in `folder`."""
    log = {"STAND_IN_REGISTER_LOG": str(folder / "registrations.txt")}
    names = table_hip.environment(*preloads)
    return run_script(
        script, folder, preload_device=False, environment={**names, **log, **environment}
    )


def counts(folder: Path) -> dict[tuple[str, str], int]:
    """What the profiler counted, by table and function."""
    names = {"hip": RUNTIME, "hip_compiler": COMPILER}
    lines = [line.split() for line in (folder / "counts.txt").read_text().splitlines()]
    return {(table, names[table][int(slot)]): int(calls) for table, _, slot, calls in lines}


def profile(script: str, folder: Path, table_hip: TableHip, *preloads: Path) -> Outcome:
    folder.mkdir()
    where = {"STAND_IN_PROFILER_COUNTS": str(folder / "counts.txt")}
    return run(script, folder, table_hip, *preloads, **where)


def test_every_launch_is_recorded_once(table_hip: TableHip, tmp_path: Path) -> None:
    outcome = run(LAUNCHES, tmp_path, table_hip, interposer())

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    assert [len(d.headers) for d in outcome.recording.dispatches] == [16] * 4
    assert (outcome.status.launches, outcome.status.annotated_launches) == (4, 4)
    assert (outcome.status.unseen_launches, outcome.status.losses) == (0, {})
    # 1: nobody to tell
    assert (tmp_path / "registrations.txt").read_text() == "hip 70200 1 1\n"


@pytest.mark.parametrize("order", ["profiler-first", "ktrace-first"])
def test_a_profiler_sees_the_application_s_calls_and_none_of_ours(
    order: str, table_hip: TableHip, tmp_path: Path
) -> None:
    profile(LAUNCHES, tmp_path / "plain", table_hip, table_hip.profiler)
    both = (interposer(), table_hip.profiler)
    preloads = both if order == "ktrace-first" else both[::-1]
    outcome = profile(LAUNCHES, tmp_path / "traced", table_hip, *preloads)

    plain = counts(tmp_path / "plain")
    assert plain["hip", "hipModuleLaunchKernel"] == 4
    assert plain["hip", "hipModuleLoadData"] == 1
    assert counts(tmp_path / "traced") == plain
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    assert [len(d.headers) for d in outcome.recording.dispatches] == [16] * 4
    assert (outcome.status.launches, outcome.status.losses) == (4, {})


def test_the_layout_is_hip_s() -> None:
    header = (ROOT / "preload" / "interposer" / "api_table_layout.hpp").read_text()
    lists = re.findall(r"_table =\n(.*?);", header, re.DOTALL)

    runtime, compiler = ("".join(re.findall(r'"(.*?)"', text)).split() for text in lists)

    assert runtime == RUNTIME
    assert compiler == COMPILER
    # As HIP's own static assertions have them.
    assert (len(RUNTIME), RUNTIME.index("hipModuleLaunchKernel")) == (547, 308)
    assert [RUNTIME.index(f"hipGraphLaunch{kind}") for kind in ("", "_spt")] == [166, 420]
    assert [RUNTIME.index(name) for name in ("hipGetProcAddress", "hipLibraryLoadData")] == [
        442,
        496,
    ]


def test_hip_opened_for_itself_alone_still_registers_with_us(
    table_hip: TableHip, tmp_path: Path
) -> None:
    deep = "ctypes.CDLL('libamdhip64.so.7', mode=os.RTLD_NOW | os.RTLD_DEEPBIND)"
    outcome = run(LAUNCHES.replace("open_hip()", deep), tmp_path, table_hip, interposer())

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    assert len(outcome.recording.dispatches) == 4
    assert outcome.status.unbound_libraries == 1


def test_a_hip_that_was_to_register_and_does_not_is_seen_by_symbol(
    table_hip: TableHip, tmp_path: Path
) -> None:
    first = "assert open_hip().hipInit(0) == 0\n"
    mute = {"TABLE_HIP_MUTE": "1"}
    outcome = run(f"{first}{LAUNCHES}", tmp_path, table_hip, interposer(), **mute)

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "right\n", "")
    assert len(outcome.recording.dispatches) == 4
    assert (outcome.status.launches, outcome.status.unseen_launches) == (4, 0)


def test_registration_answers_what_the_real_one_answers(
    table_hip: TableHip, tmp_path: Path
) -> None:
    ask = (
        "register = ctypes.CDLL(None).rocprofiler_register_library_api_table\n"
        "table = (ctypes.c_uint64 * 3)(24, 0, 0)\n"
        "tables = (ctypes.c_void_p * 1)(ctypes.addressof(table))\n"
        "def answer(count):\n"
        "    return register(b'hsa', None, 1, tables, ctypes.c_uint64(count), None)\n"
        "print(answer(1))\n"
        "ctypes.CDLL('librocprofiler-register.so.0')\n"
        "print(answer(1), answer(0))\n"
    )
    outcome = run(ask, tmp_path, table_hip, interposer())

    # Without one there are no tools; then 3 is its answer to a bad number of tables.
    assert (outcome.returncode, outcome.stdout) == (0, "1\n1 3\n")
    assert (tmp_path / "registrations.txt").read_text() == "hsa 1 1 1\nhsa 1 0 3\n"
