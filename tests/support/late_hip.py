"""Fixtures for graph_hip.cpp: a HIP whose work runs late."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ktrace_cli.trace_file.layout import DispatchFlag
from support.preloaded import Outcome, run_script
from support.stand_in import build_stand_in

HOST = (
    "from support.graph_host import *\nhost = GraphHost(SAXPY, ctypes.CDLL(str(FAKE)))\n"
    "hip, stream = host.hip, host.stream()\n"
)
RIGHT = "print('right' if host.is_right() else host.result())\n"
Run = Callable[..., Outcome]


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_stand_in(tmp_path_factory.mktemp("graph_hip"), "graph_hip.cpp")


@pytest.fixture
def run(fake: Path, tmp_path: Path) -> Run:
    def call(script: str, *, traced: bool = True, **environment: str) -> Outcome:
        outcome = run_script(
            f"FAKE = {str(fake)!r}\n{HOST}{script}",
            tmp_path / ("traced" if traced else "plain"),
            traced=traced,
            preload_device=False,
            environment=environment,
        )
        assert (outcome.returncode, outcome.stderr) == (0, "")
        return outcome

    return call


def blocks_of(outcome: Outcome) -> list[int]:
    """The grid of each dispatch, which the kernel itself left in its record as well."""
    dispatches = sorted(outcome.recording.dispatches, key=lambda dispatch: dispatch.number)
    for dispatch in dispatches:
        assert dispatch.words["clock"].tolist() == [int(dispatch.record["grid"][0])]
        assert dispatch.headers["dispatch"].tolist() == [dispatch.number]
        assert int(dispatch.record["flags"]) & DispatchFlag.GRAPH
    return [int(dispatch.record["grid"][0]) for dispatch in dispatches]


def assert_replayed(outcome: Outcome, blocks: list[int]) -> None:
    assert outcome.stdout == "right\n"
    assert blocks_of(outcome) == blocks
    assert outcome.status.losses == {}
    assert (outcome.status.launches, outcome.status.graph_launches) == (len(blocks), len(blocks))
