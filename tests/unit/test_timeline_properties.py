"""Random programs, walked once to say what must be shown and once through words and decoder."""

from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ktrace_cli.model import Timeline
from ktrace_cli.timeline.lanes import first_fit
from ktrace_cli.trace_file.layout import SPAN_LIMIT
from support.recording import Wave
from support.timelines import (
    DRAIN,
    LOAD,
    MARK,
    MMA,
    OUTER,
    TILE,
    WHOLE,
    decode,
    losses,
    marks,
    slices,
)
from support.words import (
    Words,
    long_begin,
    long_end,
    mark,
    phase,
    phase_end,
    pop,
    push,
    raw,
    span,
    start,
    stop,
)

# A program is a list of statements; blocks hold programs. The number is the time a statement takes.
_steps = st.sampled_from([1, 2, 7, 100, SPAN_LIMIT])
_programs = st.recursive(
    st.lists(st.tuples(st.sampled_from(["mark", "phase", "phase_end", "start", "stop"]), _steps)),
    lambda inner: st.lists(
        st.tuples(st.sampled_from(["push", "range"]), _steps, inner)
        | st.tuples(st.sampled_from(["mark", "phase", "phase_end", "start", "stop"]), _steps),
        max_size=8,
    ),
    max_leaves=12,
)


@dataclass
class Walk:
    """Runs a program: the words that the device writes, and what must be shown."""

    sides: list[bool]
    now: int = 1_000
    main: list[Words] = field(default_factory=list)
    side: list[Words] = field(default_factory=list)
    nested: list[tuple[int, int, str, int]] = field(default_factory=list)  # begin, end, name, depth
    tokens: list[tuple[int, int]] = field(default_factory=list)
    marks: list[tuple[str, int]] = field(default_factory=list)
    open: dict[str, int] = field(default_factory=dict)
    strays: int = 0
    count: int = 0

    def write(self, words: Words, *, span: bool = False) -> None:
        self.count += 1
        is_side = not span and self.sides[self.count % len(self.sides)]
        (self.side if is_side else self.main).append(words)

    def run(self, program: list, depth: int) -> int:
        """Walk a block; return the time at which its range ends."""
        current: tuple[int, str] | None = None

        def end_phase(end: int) -> None:
            if current is not None:
                self.nested.append((current[0], end, current[1], depth))

        for name, step, *inner in program:
            self.now += step
            if name.startswith("phase"):
                self.strays += name == "phase_end" and current is None
                end_phase(self.now)
                current = self._phase(step) if name == "phase" else self._no_phase()
            else:
                getattr(self, f"_{name}")(depth + (current is not None), *inner)
        if depth == 0:
            self.now += 100
        end_phase(self.now if depth == 0 else self.now + 1)
        return self.now

    def _phase(self, step: int) -> tuple[int, str]:
        self.write(phase(MMA if step % 2 else DRAIN, self.now))
        return self.now, "mma" if step % 2 else "drain"

    def _no_phase(self) -> None:
        self.write(phase_end(self.now))

    def _mark(self, _: int) -> None:
        self.write(mark(MARK, self.now))
        self.marks.append(("published", self.now - 1000))

    def _start(self, _: int) -> None:
        token = f"t{self.count}"
        self.open[token] = self.now
        self.write(start(LOAD, self.now, token=token))

    def _stop(self, _: int) -> None:
        if self.open:
            token = min(self.open)
            self.tokens.append((self.open.pop(token), self.now))
            self.write(stop(token, self.now))

    def _push(self, depth: int, program: list) -> None:
        begin = self.now
        self.write(push(OUTER, begin))
        self.nested.append((begin, self._block(program, depth), "outer", depth))
        self.write(pop(self.now))

    def _range(self, depth: int, program: list) -> None:
        begin = self.now
        end = self._block(program, depth)
        self.nested.append((begin, end, "tile", depth))
        self._write_range(begin, end)

    def _block(self, program: list, depth: int) -> int:
        self.run(program, depth + 1)
        self.now += 1
        return self.now

    def _write_range(self, begin: int, end: int) -> None:
        self.count += 1
        if end - begin < SPAN_LIMIT and not self.sides[self.count % len(self.sides)]:
            self.main.append(span(TILE, begin, end))
            return
        self.side.append(long_begin(TILE, begin))
        (self.main if self.count % 2 else self.side).append(long_end(TILE, end))


@settings(max_examples=200, deadline=None)
@given(_programs, st.lists(st.booleans(), min_size=1, max_size=5))
def test_a_program_is_shown_as_it_ran(program: list, sides: list[bool]) -> None:
    walk = Walk(sides)
    end = walk.run(program, 0)
    stops = list(walk.open.values())
    wave = Wave(main=walk.main, side=walk.side, end=end, begin=1_000)

    with TemporaryDirectory() as folder:
        timeline = decode([wave], Path(folder), region_log2=14)

    found = slices(timeline)
    own = [(b + 1000, b + 1000 + t, n, d) for n, lane, d, b, t in found if lane == ""]
    assert sorted(own) == sorted(walk.nested)
    assert marks(timeline) == sorted(walk.marks, key=lambda m: m[1])
    tokens = [(b + 1000, b + 1000 + t) for n, lane, _, b, t in found if lane != ""]
    assert {t for t in tokens if t[0] not in stops} == set(walk.tokens)
    assert len(tokens) == len(walk.tokens) + len(stops)
    expected = {"unclosed_slices": len(stops), "stray_ends": walk.strays}
    assert losses(timeline) == {name: count for name, count in expected.items() if count}
    check_lanes(timeline)


def check_lanes(timeline: Timeline) -> None:
    """On each lane, slices nest, and their depth is how many are around them."""
    rows = timeline.slices
    for wave, lane in {(int(r["wave"]), int(r["lane"])) for r in rows}:
        stack: list[int] = []
        before = 0
        for row in rows[(rows["wave"] == wave) & (rows["lane"] == lane)]:
            begin, end = int(row["begin_ticks"]), int(row["begin_ticks"] + row["ticks"])
            assert begin >= before
            before = begin
            del stack[int(row["depth"]) :]
            assert len(stack) == row["depth"]
            assert all(end <= outer for outer in stack)
            stack.append(end)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 40), st.integers(0, 15), st.integers(0, 40), st.booleans()),
        max_size=40,
    )
)
def test_any_words_are_shown_or_counted(words: list[tuple[int, int, int, bool]]) -> None:
    now, main, side = 1_000, [], []
    for step, kind, id_, is_side in words:
        now += step
        tag = kind << 27 | (is_side << 26) | id_
        if kind == 0 and not is_side:
            main.append(span(WHOLE, now - min(id_, now - 1000), now))
        else:
            (side if is_side else main).append(raw(now, tag or 1))

    with TemporaryDirectory() as folder:
        timeline = decode([Wave(main=main, side=side, end=now + 100)], Path(folder))

    check_lanes(timeline)
    kinds = [(kind, side_) for _, kind, _, side_ in words]
    begins = sum(k in (2, 4, 6) or (k == 0 and not s) for k, s in kinds)
    long_begins = sum(k == 11 for k, _ in kinds)
    assert len(timeline.slices) == begins + long_begins
    assert len(timeline.instants) == sum(k == 8 for k, _ in kinds)
    assert (timeline.slices["ns"] >= 0).all()
    assert timeline.losses.torn_words == sum(k in (1, 14, 15) or (k == 0 and s) for k, s in kinds)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 20), st.integers(0, 8))))
def test_first_fit_is_first_fit(rows: list[tuple[int, int, int]]) -> None:
    rows = sorted((group, begin, begin + length) for group, begin, length in rows)
    free: dict[int, list[int]] = {}
    expected = []
    for group, begin, end in rows:
        lanes = free.setdefault(group, [])
        lane = next((i for i, until in enumerate(lanes) if until <= begin), len(lanes))
        lanes[lane : lane + 1] = [end]
        expected.append(lane)
    columns = np.array(rows, np.int64).reshape(-1, 3).T

    found = first_fit(*columns)

    assert found.tolist() == expected


def test_a_hundred_thousand_ranges_at_one_time_are_on_as_many_lanes() -> None:
    begin = np.arange(100_000)

    found = first_fit(np.zeros_like(begin), begin, begin + 100_000)

    assert found.tolist() == begin.tolist()
