"""The same buffers through FlyDSL's own decoder: event by event the same."""

import random
from pathlib import Path
from typing import Any

import pytest

from ktrace_cli.foreign.source import Tool
from ktrace_cli.model import SliceFlag, Timeline
from support.foreign.flydsl_buffer import (
    I64,
    MARK,
    POP,
    PUSH,
    START,
    STOP,
    U64,
    FlyWave,
    bare_buffer,
)
from support.foreign.flydsl_peer import load_flydsl
from support.foreign.reading import read, values

NAMES = {f"phase_{number}": number for number in range(1, 9)}


@pytest.fixture(scope="module")
def peer() -> Any:
    modules = load_flydsl()
    if modules is None:
        pytest.skip("the flydsl package is not installed")
    return modules


def random_wave(rng: random.Random, number: int) -> FlyWave:
    """A wave as a kernel writes it: pushes nest, tokens cross, some are left open."""
    wave = FlyWave((number // 4, number % 3, 0), number % 4, 1 + number // 40, xcc=number % 8,
                   hw_id=number % 4 << 4 | (number // 4 % 16) << 8)  # fmt: skip
    ts, depth, tokens = 10**12 + rng.randrange(5000), 0, []
    for at in range(rng.randrange(1, 120)):
        ts += rng.randrange(0, 40)
        payload = (rng.choice([U64, I64]), rng.randrange(1 << 64)) if rng.random() < 0.5 else None
        kind = rng.choice([MARK, PUSH, POP, START, STOP])
        if kind == POP and depth:
            depth -= 1
            wave.event(ts, POP)
        elif kind == STOP and tokens:
            wave.event(ts, STOP, start=tokens.pop(rng.randrange(len(tokens))))
        elif kind == START:
            tokens.append(at)
            wave.event(ts, START, rng.randrange(1, 9), payload)
        elif kind == PUSH:
            depth += 1
            wave.event(ts, PUSH, rng.randrange(1, 9), payload)
        else:
            wave.event(ts, MARK, rng.randrange(1, 9), payload)
    return wave


def of_peer(timeline: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Its slices and marks by wave's path, without what it adds for the wave itself."""
    tracks = {track["uuid"]: track for track in timeline["tracks"]}

    def wave_of(uuid: int) -> str:
        path = []
        while uuid:
            track = tracks[uuid]
            uuid = track["parent"]
            if not track["name"].startswith(("ranges", "kernel", "XCD", "launch")):
                path.append(track["name"])
            elif track["name"].startswith("launch"):
                path.append(track["name"].split()[1])
        return " ".join(reversed(path))

    slices = [
        (wave_of(s["track"]), s["name"], s["start"], s["end"] - s["start"], s["payload"])
        for s in timeline["slices"]
        if s["name"] != "Wave Span"
    ]
    marks = [(wave_of(m["track"]), m["name"], m["ts"], m["payload"]) for m in timeline["instants"]]
    return sorted(slices, key=repr), sorted(marks, key=repr)


def of_ours(found: Timeline) -> tuple[list[Any], list[Any]]:
    def wave_of(row: Any) -> str:
        wave = found.waves[row["wave"]]
        block = ", ".join(str(axis) for axis in wave["block"])
        number = found.dispatches["number"][wave["dispatch"]]
        return f"{number} WG({block}) Wave{wave['wave']}"

    def payload(row: Any) -> int | None:
        told = values(found, row)
        if not told:
            return None
        type_, bits = told[0]
        return bits - (1 << 64) if type_ == 4 and bits >> 63 else bits

    slices = [
        (
            wave_of(row),
            found.events[row["event"]].name
            + (" (unclosed)" if row["flags"] & SliceFlag.UNCLOSED else ""),
            int(row["begin_ns"]) - found.zero_ns,
            int(row["ns"]),
            payload(row),
        )
        for row in found.slices
    ]
    marks = [
        (wave_of(m), found.events[m["event"]].name, int(m["ns"]) - found.zero_ns, payload(m))
        for m in found.instants
    ]
    return sorted(slices, key=repr), sorted(marks, key=repr)


@pytest.mark.parametrize("seed", range(8))
def test_slices_and_marks_are_those_of_flydsl(tmp_path: Path, peer: Any, seed: int) -> None:
    decoder, encoder = peer
    rng = random.Random(seed)
    content = bare_buffer([random_wave(rng, number) for number in range(90)], 16)
    records, overflowed = decoder.decode_records(content, first_slot=16)
    assert not overflowed

    found = read(tmp_path, content, Tool.FLYDSL, NAMES).timeline

    assert of_ours(found) == of_peer(encoder.build_timeline(records, NAMES))
    summary = encoder.summarize(records, NAMES)
    assert summary["waves"] == len(found.waves)
    closed = found.slices[(found.slices["flags"] & SliceFlag.UNCLOSED) == 0]
    for name, phase in summary["phases"].items():
        rows = [row for row in closed if found.events[row["event"]].name == name]
        marks = [row for row in found.instants if found.events[row["event"]].name == name]
        assert phase["count"] == len(rows) + len(marks)
        assert phase["total_ns"] == sum(int(row["ns"]) for row in rows)
