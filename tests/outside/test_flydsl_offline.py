"""The buffer that FlyDSL's own kernels wrote: the same to ktrace as to FlyDSL, event by event."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from ktrace_cli.foreign.source import Foreign, Source, find_tool, read_foreign
from outside.running import TARGETS, Outside, need
from support.foreign.reading import values


@pytest.fixture(scope="module", params=TARGETS)
def read(request: pytest.FixtureRequest, outside: Callable[[], Outside]) -> tuple[Foreign, object]:
    need("flydsl", "torch")
    runner = outside()
    cache = runner.folder / "cache"
    runner.run(
        request.param, "flydsl_buffer.py", runner.folder, FLYDSL_RUNTIME_CACHE_DIR=str(cache)
    )
    path, source = runner.folder / "buffer.bin", Source(names=[cache])
    tool = find_tool(path, source)
    assert tool is not None
    found = read_foreign(path, tool, source)
    assert found.timeline.devices[0].target == request.param
    return found, json.loads((runner.folder / "decoded.json").read_text())


def test_slices_and_marks_are_those_of_flydsl(read: tuple[Foreign, object]) -> None:
    found, decoded = read[0].timeline, read[1]

    shown = [
        [found.events[row["event"]].name, int(row["begin_ns"]) - found.zero_ns, int(row["ns"]),
         next((bits for _, bits in values(found, row)), None)]
        for row in found.slices
    ] + [
        [found.events[row["event"]].name, int(row["ns"]) - found.zero_ns, -1,
         next((bits for _, bits in values(found, row)), None)]
        for row in found.instants
    ]  # fmt: skip

    assert isinstance(decoded, list)
    assert sorted(shown, key=repr) == sorted(decoded, key=repr)
    assert len(found.slices) == 3 * 50 + 256 * 16


def test_launches_kernels_and_losses_are_known(read: tuple[Foreign, object]) -> None:
    found = read[0].timeline

    kernels = [found.kernels[row].name for row in found.dispatches["kernel"]]
    assert kernels == ["add", "add", "add", "gemm"]
    assert found.dispatches["waves"].tolist() == [50, 50, 50, 256]
    assert found.launches == 4
    assert found.losses.counted() == {}
