"""A recording of very many short waves: bounded memory in every format, and filters that choose."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from support.make_recording import Shape, make_recording

MOST_MEMORY_MIB = 500
WAVES, EVENTS = 20_000, 40 * 20_000


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("many") / "many.bin"
    assert make_recording(path, EVENTS, Shape(dispatches=10, waves=WAVES)) == EVENTS
    return path


# What wait4 says of a child includes what its parent had when it forked.
MEASURED = """
import atexit, re
from pathlib import Path
from ktrace_cli.app import main
status = Path("/proc/self/status")
atexit.register(lambda: print(re.search(r"VmHWM:\\s+(\\d+) kB", status.read_text())[1]))
main()
"""


def peak_mib(*arguments: object) -> float:
    """Run ktrace and return how much memory it had at most."""
    command = [sys.executable, "-c", MEASURED, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "of 20,000 waves to" in done.stderr
    return int(done.stdout) / 1024


@pytest.mark.parametrize("wanted", ["pftrace", "chrome", "html", "csv", "parquet", "text"])
def test_memory_is_bounded(many: Path, wanted: str) -> None:
    if wanted == "parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")

    assert peak_mib("decode", many, "-f", wanted, "-o", "/dev/null") < MOST_MEMORY_MIB


def test_filters_choose_a_few_of_them(many: Path) -> None:
    table = many.with_name("few.csv")
    options = ["--dispatch", "3", "--blocks", "8:24:8", "--waves", "1,3", "--limit", "3"]
    command = [sys.executable, "-m", "ktrace_cli", "decode", many, "-o", table, *options]

    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=True)

    rows = list(csv.DictReader(table.read_text().splitlines()))
    places = {(row["dispatch"], row["block_x"], row["wave"]) for row in rows}
    assert places == {("3", "8", "1"), ("3", "8", "3"), ("3", "16", "1")}
    assert len(rows) == 3 * 24
    assert done.stderr.splitlines()[0] == "ktrace: selected 3 of 20,000 waves"
