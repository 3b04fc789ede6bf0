"""Recordings of one kernel whose phases take given times, with noise, for tests of comparisons.

    base = record_run(tmp_path / "base.bin", Run(seed=1))
    slow = record_run(tmp_path / "slow.bin", Run(seed=2, scale={TILE: 1.1}))

Each wave runs `outer` with `tile` inside it, then `inner`: 2 us, 1 us of these, and 4 us. A run's
times vary by up to `noise` from those of other runs, and as much again from wave to wave.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner, Result

from ktrace_cli.app import app
from support.code_object import EventSource, KernelSource, make_code_object
from support.recording import CORE_CYCLES_PER_TICK, RecordingBuilder, Wave
from support.timelines import EVENTS, INNER, MANGLED, OUTER, TILE, UNIT_KEY
from support.words import pop, push, span

US = 2_100  # cycles
TIMES = {OUTER: 2 * US, TILE: US, INNER: 4 * US}


@dataclass(frozen=True)
class Run:
    seed: int = 0
    noise: float = 0.015
    drift: float | None = None  # of the whole run; None: as much as the noise
    scale: Mapping[int, float] = field(default_factory=dict)
    times: Mapping[int, int] = field(default_factory=lambda: TIMES)
    launches: int = 10
    workgroups: int = 4
    waves: int = 2  # of a workgroup


def fill(made: RecordingBuilder, kernel: int, run: Run, **dispatch: Any) -> None:
    """Add the launches of a run to a recording."""
    rng = np.random.default_rng(run.seed)
    most = run.noise if run.drift is None else run.drift
    drift = {event: 1 + rng.uniform(-most, most) for event in run.times}
    begin = 100 * US
    for _ in range(run.launches):
        waves = []
        for number in range(run.workgroups * run.waves):
            place = {"block": (number // run.waves, 0, 0), "wave": number % run.waves}
            waves.append(_wave(begin, run, drift, rng, place))
        dispatch.setdefault("grid", (run.workgroups, 1, 1))
        dispatch.setdefault("block", (64 * run.waves, 1, 1))
        made.add_dispatch(kernel, waves, **dispatch)
        begin = max((wave.end for wave in waves), default=begin) + 10 * US


@dataclass(frozen=True)
class On:
    """What a recording was made on, and of what."""

    device: Mapping[str, Any] = field(default_factory=dict)
    mangled: str = MANGLED
    events: Sequence[EventSource] | None = None  # in its code; None: those of support.timelines


def begin_recording(on: On) -> tuple[RecordingBuilder, int]:
    made = RecordingBuilder(empty=True)
    made.add_process()
    made.add_device(**on.device)
    events = on.events or [event(number) for number, *_ in EVENTS]
    image = make_code_object([KernelSource(on.mangled, unit_key=UNIT_KEY)], events)
    code_object = made.add_code_object(image)
    return made, made.add_kernel(on.mangled, code_object=code_object, unit_key=UNIT_KEY)


def event(number: int, name: str = "", line: int = 0) -> EventSource:
    """An event of support.timelines, perhaps under another name; its line follows its number."""
    known = {row[0]: row for row in EVENTS}[number]
    return EventSource(
        number, name or known[1], known[2], known[3], "gemm.hip", line or 10 * number, UNIT_KEY
    )


HARDWARE = On(device={"name": "AMD Instinct MI300X", "flags": 0})


def record_run(
    path: Path, run: Run, on: On | None = None, *, closed: bool = True, **dispatch: Any
) -> Path:
    made, kernel = begin_recording(on or On())
    fill(made, kernel, run, **dispatch)
    return made.write(path, closed=closed)


def ktrace(*arguments: object) -> Result:
    """Run a command; what is no usage error or verdict is raised."""
    result = CliRunner().invoke(app, list(map(str, arguments)))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def verdict(*arguments: object) -> tuple[int, str]:
    """Return the exit status of `ktrace diff` and its first line."""
    result = ktrace("diff", *arguments)
    return result.exit_code, result.stdout.splitlines()[0]


def _wave(
    begin: int,
    run: Run,
    drift: Mapping[int, float],
    rng: np.random.Generator,
    place: Mapping[str, Any],
) -> Wave:
    length = {
        event: round(
            cycles * run.scale.get(event, 1.0) * drift[event]
            * (1 + rng.uniform(-run.noise, run.noise))
        )
        for event, cycles in run.times.items()
    }  # fmt: skip
    at = begin + 210
    main = []
    if OUTER in length:
        inside = span(TILE, at + 100, at + 100 + length[TILE]) if TILE in length else []
        main += [push(OUTER, at), inside, pop(at + length[OUTER])]
        at += length[OUTER] + 210
    for event in (event for event in length if event not in (OUTER, TILE)):
        main += [push(event, at), pop(at + length[event])]
        at += length[event] + 210
    end = -(-at // CORE_CYCLES_PER_TICK) * CORE_CYCLES_PER_TICK
    return Wave(main=[words for words in main if words], begin=begin, end=end, **place)
