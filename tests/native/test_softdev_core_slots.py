"""When the units that waves share are busy: compared with a model that forgets nothing."""

import subprocess
from pathlib import Path

import pytest

from support.built_once import ROOT, compile_once

SOFTDEV = ROOT / "preload" / "softdev"


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sources = [Path(__file__).with_name("busy_slots_probe.cpp"), SOFTDEV / "core/busy_slots.cpp"]
    output = tmp_path_factory.mktemp("slots") / "probe"
    return compile_once(sources, output, "-std=c++17", "-O1", f"-I{SOFTDEV}")


@pytest.mark.parametrize("long_percent", [0, 5])
@pytest.mark.parametrize("seed", range(4))
def test_every_request_gets_the_slots_that_are_free(
    probe: Path, seed: int, long_percent: int
) -> None:
    command = [probe, str(seed), "20000", str(long_percent)]

    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout == "20000 requests\n"
