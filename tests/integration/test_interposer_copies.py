"""Several copies of HIP in one process: each call goes to the one that its caller is bound to."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.preloaded import Outcome, run_script
from support.table_hip import (
    RUNTIME,
    SUPPORT,
    TableHip,
    build,
    build_hip,
    compile_cpp,
    interposer,
)

LAUNCH, COUNT = RUNTIME.index("hipModuleLaunchKernel"), RUNTIME.index("hipGetDeviceCount")


@dataclass(frozen=True)
class Copies:
    """Copies of HIP and a library linked to each, with tables and without, in a folder each."""

    folder: Path

    def choose(self, folder: Path, *, six_has_table: bool, seven_has_table: bool) -> dict[str, str]:
        """Put one copy of each version and the libraries into `folder`."""
        for version, has_table in (("6", six_has_table), ("7", seven_has_table)):
            name = f"libamdhip64.so.{version}"
            shutil.copy(self.folder / ("table" if has_table else "symbols") / name, folder)
            shutil.copy(self.folder / "table" / f"ext{version}.so", folder)
        shutil.copy(self.folder / "table" / "librocprofiler-register.so.0", folder)
        (folder / "core.so").symlink_to(self.folder / "table" / "core.so")
        return TableHip(folder).environment(interposer())


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Copies:
    folder = tmp_path_factory.mktemp("copies")
    for kind in ("table", "symbols"):
        (folder / kind).mkdir()
        build(folder / kind, is_registered=kind == "table")
        hip = build_hip(folder / kind, "libamdhip64.so.6", is_registered=kind == "table")
        for version in "67":
            needed = str(hip.with_name(f"libamdhip64.so.{version}"))
            options = ["-O2", "-Wl,--no-as-needed", "-Wl,--allow-shlib-undefined", needed]
            compile_cpp(SUPPORT / "ext_hip.cpp", folder / kind / f"ext{version}.so", *options)
    return Copies(folder)


# Both copies, a library of each, a host on each; what each copy's exports were called.
SCRIPT = f"""
folder = Path(FOLDER)
hips = [ctypes.CDLL(str(folder / f'libamdhip64.so.{{n}}')) for n in (6, 7)]
exts = [ctypes.CDLL(str(folder / f'ext{{n}}.so')) for n in (6, 7)]
hosts = [Host(hip, SAXPY) for hip in hips]
def calls(slot):
    return [hip.hipTableCalls(slot) for hip in hips]
for ext, host, times in zip(exts, hosts, (1, 2)):
    for _ in range(times):
        host.launches += 1
        assert ext.ext_launch(host.function, host.places()) == 0
print(calls({LAUNCH}))
assert hosts[0].launch() == 0
print(calls({LAUNCH}))
before, count = calls({COUNT}), ctypes.c_int()
for ext, times in zip(exts, (3, 5)):
    for _ in range(times):
        assert ext.ext_count(ctypes.byref(count)) == 0
print([after - b for after, b in zip(calls({COUNT}), before)])
print(*[host.is_right() for host in hosts])
"""

# A library that comes late, whose first call is one that leaves no return address.
LATE = f"""
folder = Path(FOLDER)
seven = ctypes.CDLL(str(folder / 'libamdhip64.so.7'))
host = Host(seven, SAXPY)
assert host.launch() == 0
before, count = seven.hipTableCalls({COUNT}), ctypes.c_int()
ext = ctypes.CDLL(str(folder / 'ext6.so'))
assert ext.ext_count(ctypes.byref(count)) == 0
six = ctypes.CDLL(str(folder / 'libamdhip64.so.6'))
print(six.hipTableCalls({COUNT}), seven.hipTableCalls({COUNT}) - before)
"""


def assert_each_has_its_own(outcome: Outcome) -> None:
    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert outcome.stdout == "[1, 2]\n[2, 2]\n[3, 5]\nTrue True\n"


KINDS = {
    "symbols": (False, False),
    "tables": (True, True),
    "mixed": (False, True),
    "old": (True, False),
}


@pytest.mark.parametrize("kind", KINDS)
def test_b5_each_call_goes_to_the_copy_that_its_caller_is_bound_to(
    kind: str, copies: Copies, tmp_path: Path
) -> None:
    six, seven = KINDS[kind]
    names = copies.choose(tmp_path, six_has_table=six, seven_has_table=seven)
    script = f"FOLDER = {str(tmp_path)!r}\n{SCRIPT}"
    outcome = run_script(script, tmp_path, preload_device=False, environment=names)

    assert_each_has_its_own(outcome)
    assert [len(d.headers) for d in outcome.recording.dispatches] == [16] * 4
    assert (outcome.status.launches, outcome.status.unseen_launches) == (4, 0)


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_call_of_a_library_that_comes_late_goes_to_its_own_copy(
    kind: str, copies: Copies, tmp_path: Path
) -> None:
    six, seven = KINDS[kind]
    names = copies.choose(tmp_path, six_has_table=six, seven_has_table=seven)
    script = f"FOLDER = {str(tmp_path)!r}\n{LATE}"
    outcome = run_script(script, tmp_path, preload_device=False, environment=names)

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "1 0\n", "")


def test_two_copies_as_they_are_without_ktrace(copies: Copies, tmp_path: Path) -> None:
    names = copies.choose(tmp_path, six_has_table=False, seven_has_table=True)
    script = f"FOLDER = {str(tmp_path)!r}\n{SCRIPT}"
    alone = {**names, "LD_PRELOAD": ""}

    assert_each_has_its_own(run_script(script, tmp_path, preload_device=False, environment=alone))


@pytest.mark.parametrize("has_table", [True, False], ids=["table", "symbols"])
def test_copies_past_the_most_are_left_alone_and_counted(
    has_table: bool, copies: Copies, tmp_path: Path
) -> None:
    names = copies.choose(tmp_path, six_has_table=has_table, seven_has_table=has_table)
    for folder in "abcd":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "libamdhip64.so.7").write_bytes(
            (tmp_path / "libamdhip64.so.7").read_bytes()
        )
    script = (
        f"folder = Path({str(tmp_path)!r})\n"
        "places = [f'{n}/libamdhip64.so.7' for n in '.abcd']\n"
        "places.insert(1, 'libamdhip64.so.6')\n"
        "for place in places:\n"
        "    host = Host(ctypes.CDLL(str(folder / place)), SAXPY)\n"
        "    assert host.launch() == 0\n"
        f"    print(host.is_right(), host.hip.hipTableCalls({LAUNCH}))\n"
    )
    outcome = run_script(script, tmp_path, preload_device=False, environment=names)

    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "True 1\n" * 6, "")
    assert len(outcome.recording.dispatches) == 4
    assert (outcome.status.launches, outcome.status.unhooked_copies) == (4, 2)
