"""What each kernel of kernels/patterns.hip must record, told by a scalar model on the host.

A story is what happens in one wave, in order: strings, and `Either` where both sides of a divergent
branch run and the hardware may take them in any order. `told` makes the same strings from what was
recorded; `agrees` compares.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ktrace_cli.trace_file.layout import Kind
from support.trace_buffer import Event, Value, WaveTrace

Lanes = Any  # numpy arrays: thread numbers of a wave's active lanes, or their inputs


@dataclass(frozen=True)
class Either:
    """The arms of a divergent branch that some lane takes."""

    arms: tuple[tuple[str, ...], ...]


Story = list[str | Either]


def either(*arms: Sequence[str]) -> Either:
    return Either(tuple(tuple(arm) for arm in arms if arm))


def nested_loops(_threads: Lanes, _values: Lanes, n: int) -> Story:
    story: Story = []
    for i in range(n):
        story += [f"mark outer {i}", "mark inner 0", "mark inner 1", "mark inner 2"]
    return [*story, f"mark end {n}"]


def wave_specialised(threads: Lanes, _values: Lanes, n: int) -> Story:
    if threads[0] < 128:
        story = ["group producer", *(f"mark produce {i}" for i in range(n))]
    else:
        story = ["group consumer", *(f"mark consume {i}" for i in range(n + 1))]
    return [*story, f"mark end {n}"]


def odd_lanes(_threads: Lanes, values: Lanes, _n: int) -> Story:
    odd = ["mark odd 2"] if (values & 1).any() else []
    return ["mark begin 1", *odd, "mark end 3"]


def both_arms(_threads: Lanes, values: Lanes, n: int) -> Story:
    story: Story = []
    for i in range(n):
        bits = values >> i & 1
        taken = [f"mark then {i}", f"mark then end {i}"] if bits.any() else []
        other = [f"mark else {i}", f"mark else end {i}"] if not bits.all() else []
        story += [f"mark begin {i}", either(taken, other), f"mark end {i}"]
    return story


def trip_counts(_threads: Lanes, values: Lanes, n: int) -> Story:
    return [*(f"mark trip {i}" for i in range(int((values % 7).max()))), f"mark end {n}"]


def return_before(_threads: Lanes, values: Lanes, n: int) -> Story:
    if (values & 1).all():
        return []
    return ["mark begin 1", *(f"mark trip {i}" for i in range(n)), "mark end 3"]


def return_after(_threads: Lanes, values: Lanes, n: int) -> Story:
    if (values & 1).all():
        return ["mark begin 1"]
    return ["mark begin 1", "mark left 2", *(f"mark trip {i}" for i in range(n))]


HELPER = (
    "push helper 5",
    "start helper load 6",
    "range helper loop 2.5",
    "mark deeper 7",
    "stop helper load 6",
    "pop",
)


def noinline_function(_threads: Lanes, values: Lanes, n: int) -> Story:
    story: Story = ["mark begin 1"]
    for i in range(n):
        story += [f"mark trip {i}", *HELPER]
    if (values & 1).any():
        story += HELPER
    return [*story, "mark end 3"]


def break_and_continue(_threads: Lanes, values: Lanes, n: int) -> Story:
    story: Story = []
    looping = np.ones(len(values), bool)
    for i in range(8):
        if not looping.any():
            break
        story.append(f"mark trip {i}")
        looping &= (values & 15) != i
        goes_on = looping & ((values ^ i) & 16 != 0)
        falls = looping & ~goes_on
        story.append(
            either(
                [f"mark continue {i}"] if goes_on.any() else [],
                [f"mark fall {i}"] if falls.any() else [],
            )
        )
    return [*story, f"mark end {n}"]


def switch_in_wave_branch(threads: Lanes, values: Lanes, n: int) -> Story:
    if not threads[0] & 64:
        return ["mark other 5", f"mark end {n}"]
    cases = [
        [f"mark {name} {case}"] if (values & 3 == case).any() else []
        for case, name in enumerate(["zero", "one", "two"])
    ]
    return [either(*cases), "mark joined 4", f"mark end {n}"]


def ranges_left_early(_threads: Lanes, values: Lanes, n: int) -> Story:
    story: Story = []
    for i in range(6):
        stays = values & 7 != i
        story += [f"range rest {i}"] if stays.any() else []
        story.append(f"range trip {i}")
    return [*story, f"mark end {n}"]


def tokens(_threads: Lanes, _values: Lanes, n: int) -> Story:
    story: Story = []
    for i in range(n):
        stop = [f"stop load {i - 2}"] if i >= 2 else []
        story += [f"start load {i}", *stop, f"range tile {i}"]
    return story


def tokens_of_some_lanes(_threads: Lanes, values: Lanes, n: int) -> Story:
    odd = bool((values & 1).any())
    return [
        *(["start odd 1"] if odd else []),
        f"mark between {n}",
        *(["stop odd 1"] if odd else []),
        f"mark end {n}",
    ]


def begins_again(_threads: Lanes, values: Lanes, n: int) -> Story:
    odd = ["mark odd 1"] if (values & 1).any() else []
    even = ["mark even 2"] if not (values & 1).all() else []
    return [*(f"range trip {i}" for i in range(n)), either(odd, even)]


def payloads(threads: Lanes, _values: Lanes, n: int) -> Story:
    quarter = 0.25 * n
    return [
        f"mark bool {n > 2} {n > 200}",
        "mark small -3 200 -300 60000 97",
        "mark int -5 2147483648",
        f"mark long {-6 - n} {0x123456789ABCDEF0 + n} -7 8",
        f"mark float {quarter!r} -0.5",
        f"mark double {quarter / 3!r} 1e+300",
        "push push 1",
        "phase phase 2 3",
        "phase_end",
        "pop",
        "range range 4",
        "anchor",
        f"mark first lane {threads[0]}",
    ]


def long_spans(_threads: Lanes, values: Lanes, n: int) -> Story:
    odd = ["range odd 4"] if (values & 1).any() else []
    return ["range short 1", "range long 2", *odd, "range around 3", f"mark end {n}"]


MODELS: dict[str, Callable[[Lanes, Lanes, int], Story]] = {
    model.__name__: model
    for model in (
        nested_loops,
        wave_specialised,
        odd_lanes,
        both_arms,
        trip_counts,
        return_before,
        return_after,
        noinline_function,
        break_and_continue,
        switch_in_wave_branch,
        ranges_left_early,
        tokens,
        tokens_of_some_lanes,
        begins_again,
        payloads,
        long_spans,
    )
}


def told(wave: WaveTrace, names: dict[tuple[int, int], str], kernel_unit: int) -> list[str]:
    """Tell what `wave` recorded; asserts that ranges and tokens find their begin."""
    story = []
    begun: dict[int, list[Event]] = {}
    started: dict[int, Event] = {}

    def text(kind: str, event: Event, values: Sequence[Value]) -> str:
        name = names[event.unit or kernel_unit, event.id]
        return " ".join([kind, name, *(f"{value!r}" for value in values)])

    for event in wave.merged():
        match event.kind:
            case Kind.POP | Kind.PHASE_END | Kind.ANCHOR:
                story.append(event.kind.name.lower())
            case Kind.LONG_BEGIN:
                begun.setdefault(event.id, []).append(event)
            case Kind.LONG_END:
                begin = begun[event.id].pop()
                story.append(text("range", event, [*begin.values, *event.values]))
            case Kind.START:
                started[event.number] = event
                story.append(text("start", event, event.values))
            case Kind.STOP:
                start = started.pop(event.id)
                story.append(text("stop", start, start.values))
            case _:
                story.append(text(event.kind.name.lower(), event, event.values))
    assert not any(begun.values())
    return story


def agrees(story: Sequence[str | Either], recorded: Sequence[str]) -> bool:
    """Whether `recorded` is `story` with the arms of each branch in some order."""
    if not story:
        return not recorded
    first, rest = story[0], story[1:]
    if isinstance(first, str):
        return bool(recorded) and recorded[0] == first and agrees(rest, recorded[1:])
    for arms in itertools.permutations(first.arms):
        flat = list(itertools.chain(*arms))
        if list(recorded[: len(flat)]) == flat and agrees(rest, recorded[len(flat) :]):
            return True
    return False
