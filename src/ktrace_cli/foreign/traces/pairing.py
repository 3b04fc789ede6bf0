"""Begins and ends of a Perfetto trace to ranges; names and payloads of its events."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from ktrace_cli.foreign.traces.spans import NO_END
from ktrace_cli.importers.perfetto_packets import BEGIN, END, INSTANT, Event

_PAYLOAD = re.compile(
    r"(?P<name>.*?) ?\((?:start_payload=(?P<start>[^,()]*)(?:, end_payload=[^()]*)?"
    r"|payload=(?P<payload>[^()]*)|end_payload=[^()]*)\)(?: \[duration=0\])?"
)
_EMPTY = " [duration=0]"


def pair(
    events: Sequence[Event], times: Sequence[int], losses: Counter[str]
) -> Iterator[tuple[int, int]]:
    """Yield the row of each range and mark, and the end of a range: NO_END if it has none.

    An end ends the last begin of its track.
    """
    open_: dict[int, list[int]] = {}
    for row in sorted(range(len(times)), key=times.__getitem__):
        event = events[row]
        if event.kind == BEGIN:
            open_.setdefault(event.track, []).append(row)
        elif event.kind == INSTANT:
            yield row, times[row]
        elif event.kind != END:
            losses["unshown_records"] += 1
        elif stack := open_.get(event.track):
            yield stack.pop(), times[row]
        else:
            losses["stray_ends"] += 1
    for stack in open_.values():
        for row in stack:
            yield row, NO_END


def named(event: Event) -> tuple[str, int | float | None]:
    """Return name and payload of an event; some tools put the payload into the name."""
    told = _PAYLOAD.fullmatch(event.name)
    name = told["name"] if told else event.name.removesuffix(_EMPTY)
    values = (event.arguments.get(key) for key in ("payload", "payload_val", "value"))
    payload = next((v for v in values if isinstance(v, (int, float))), None)
    if payload is None and told:
        payload = _number(told["payload"] or told["start"] or "")
    return name or "(no name)", payload


def _number(text: str) -> int | float | None:
    try:
        return int(text, 0)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return None
