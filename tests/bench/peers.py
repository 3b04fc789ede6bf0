"""What other tools need for the same events: `python tests/bench/peers.py PEER --waves N EVENTS`.

PEER is `flydsl` (its decoder and its Perfetto encoder, as its `collect` runs them), `ktrace` (what
`ktrace decode --from flydsl` does with the same buffer) or `builder` (the perfetto package's
TraceProtoBuilder). EVENTS is what the recording of support.make_recording
was made with; of its waves the first N are taken. Prints `<events> <CPU seconds> <what>` for each
step.
"""

import argparse
import gzip
import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from ktrace_cli.export.formats import choose_target  # noqa: E402
from ktrace_cli.export.write import Looks, write_timeline  # noqa: E402
from ktrace_cli.foreign.source import Source, Tool, read_foreign  # noqa: E402
from ktrace_cli.trace_file import layout  # noqa: E402
from ktrace_cli.trace_file.layout import Kind  # noqa: E402
from support.foreign.flydsl_peer import load_flydsl  # noqa: E402
from support.make_recording import Shape, Template, dispatch_words, name_of  # noqa: E402

MARK, PUSH, POP, START, STOP = range(5)
"""FlyDSL's kinds."""
EVENTS_PER_WAVE = 255
CYCLES_PER_TICK = 21  # of the 100 MHz clock


@dataclass(frozen=True)
class Events:
    """The same events for each wave, at other times; spans are pushes and pops."""

    kind: NDArray[np.int64]
    id: NDArray[np.int64]
    opens: NDArray[np.int64]
    """Of a stop: its start's number in the wave."""
    payload: NDArray[np.int64]
    """-1: none."""
    ticks: NDArray[np.int64]
    """Shape (waves, events), of 10 ns."""


def read_events(wanted: int, waves: int) -> Events:
    """Return what the first waves of the recording's first dispatches write."""
    rng = np.random.default_rng(1)
    template = Template(max(1, wanted // Shape().waves), rng)
    clocks, begin = [], 21_000
    while sum(map(len, clocks)) < waves:
        words, end = dispatch_words(template, Shape().waves_per_dispatch, begin, rng)
        clocks.append(words)
        begin = int(end.max()) // 21 * 21 + 2_100
    return _events(template, np.concatenate(clocks)[:waves])


def _events(template: Template, words: NDArray[np.void]) -> Events:
    rows: list[tuple[int, int, int, int]] = []  # kind, id, opens, payload
    columns = []
    clock = words["clock"].astype(np.int64)
    number_of_word: dict[int, int] = {}
    first_word = layout.REGION_HEADER // layout.WORD.itemsize
    value = -1
    for at, (kind, ident) in enumerate(zip(template.kinds, template.ids, strict=True)):
        number_of_word[first_word + at] = len(rows)
        if kind == Kind.VALUE:
            value = at
            continue
        payload = int(clock[0, value]) if value >= 0 else -1
        value = -1
        if kind == Kind.RANGE:
            duration = words["tag"][:, at].astype(np.int64) & (1 << layout.SPAN_ID_SHIFT) - 1
            rows += [(PUSH, ident, 0, payload), (POP, 0, 0, -1)]
            columns += [clock[:, at] - duration, clock[:, at]]
            continue
        opens = number_of_word[ident] if kind == Kind.STOP else 0
        rows.append((_KINDS[kind], 0 if kind == Kind.STOP else ident, opens, payload))
        columns.append(clock[:, at])
    ticks = np.stack(columns, axis=1) // CYCLES_PER_TICK
    kinds, ids, opened, payloads = (
        np.array(column, np.int64) for column in zip(*rows, strict=True)
    )
    return Events(kinds, ids, opened, payloads, ticks)


_KINDS = {
    Kind.MARK: MARK,
    Kind.PUSH: PUSH,
    Kind.POP: POP,
    Kind.START: START,
    Kind.STOP: STOP,
}
_WAVE = np.dtype(
    [("attempted", "<u4"), ("wave", "<u4"), ("dispatch", "<u8"), ("queue", "<u8"), ("xy", "<u4", 2)]
)
_EVENT = np.dtype(
    [("ts", "<u8"), ("payload", "<u8"), ("hw", "<u4"), ("xcc", "<u4"), ("packed", "<u4"),
     ("start", "<u4")]
)  # fmt: skip


def flydsl_buffer(events: Events) -> bytes:
    """Return the events as the device leaves them in FlyDSL's buffer."""
    waves, count = events.ticks.shape
    if count > EVENTS_PER_WAVE:
        sys.exit(f"FlyDSL holds {EVENTS_PER_WAVE} events a wave, not {count}")
    regions = np.zeros((waves, EVENTS_PER_WAVE + 1), _EVENT)
    heads = regions[:, 0].view(_WAVE)
    index = np.arange(waves)
    heads["attempted"], heads["wave"], heads["xy"][:, 0] = count, index % 4, index // 4
    heads["dispatch"] = 1 + index // Shape().waves_per_dispatch
    # A span's word comes when it ends; FlyDSL writes its push when it begins.
    order = np.argsort(events.ticks, axis=1, kind="stable")
    place = np.argsort(order, axis=1)
    kind, payload = events.kind[order], events.payload[order]
    body = regions[:, 1 : count + 1]
    body["ts"] = np.take_along_axis(events.ticks, order, 1)
    body["payload"] = np.maximum(payload, 0)
    has_payload = (payload >= 0).astype(np.int64)
    body["packed"] = events.id[order] | kind << 24 | has_payload << 27 | has_payload << 31
    first = index[:, None] * (EVENTS_PER_WAVE + 1) + 1
    opened = np.take_along_axis(place, events.opens[order], 1)
    body["start"] = np.where(kind == STOP, first + opened, 0)
    body["hw"] = ((index % 4) << 4 | (index // 32 % 16) << 8)[:, None]
    body["xcc"] = (index // 4 % 8)[:, None]
    return regions.tobytes()


def run_flydsl(events: Events) -> None:
    modules = load_flydsl()
    if modules is None:
        sys.exit("flydsl is not installed")
    decoder, encoder = modules
    content = flydsl_buffer(events)
    names = {name_of(number): number for number in range(32)}
    records, overflowed = timed(
        "decode_records", events, lambda: decoder.decode_records(content, first_slot=0)
    )
    if overflowed or len(records) != events.ticks.size:
        sys.exit(f"FlyDSL read {len(records)} of {events.ticks.size} events")
    timeline = timed("build_timeline", events, lambda: encoder.build_timeline(records, names))
    unclosed = [s for s in timeline["slices"] if s["name"].endswith("(unclosed)")]
    if unclosed:
        sys.exit(f"FlyDSL did not close {len(unclosed)} ranges")
    trace = timed("encode_pftrace", events, lambda: encoder.encode_pftrace(timeline))
    timed("gzip.compress", events, lambda: gzip.compress(trace, mtime=0))
    timed("summarize", events, lambda: encoder.summarize(records, names))


def run_ktrace(events: Events) -> None:
    """Decode FlyDSL's buffer as `ktrace decode` does, without the start of a process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "buffer.bin"
        path.write_bytes(flydsl_buffer(events))
        (path.with_name("buffer.bin.names.json")).write_text(
            json.dumps({name_of(number): number for number in range(32)})
        )
        target = choose_target(path, path.with_suffix(".pftrace.gz"), None, may_replace=True)
        source = Source(Tool.FLYDSL)

        def decode() -> int:
            timeline = read_foreign(path, Tool.FLYDSL, source).timeline
            write_timeline(timeline, target, Looks())
            return int(timeline.waves["words"].sum())

        decode()  # libraries are loaded by the first one
        timed("buffer to .pftrace.gz", events, decode)


def run_builder(events: Events) -> None:
    """Encode events one by one, as a script would that has decoded them already."""
    from perfetto.trace_builder.proto_builder import TraceProtoBuilder

    kinds = {MARK: 3, PUSH: 1, START: 1, POP: 2, STOP: 2}  # TrackEvent.Type
    rows = list(zip(events.kind.tolist(), events.id.tolist(), events.payload.tolist(), strict=True))
    times = (events.ticks * 10).tolist()

    def build() -> bytes:
        builder = TraceProtoBuilder()
        for track, of_wave in enumerate(times, 1):
            for (kind, ident, payload), ns in zip(rows, of_wave, strict=True):
                packet = builder.add_packet()
                packet.timestamp = ns
                packet.trusted_packet_sequence_id = 1
                event = packet.track_event
                event.type = kinds[kind]
                event.track_uuid = track
                if kind not in (POP, STOP):
                    event.name = name_of(ident)
                if payload >= 0:
                    argument = event.debug_annotations.add()
                    argument.name, argument.int_value = "value", payload
        return bytes(builder.serialize())

    trace = timed("TraceProtoBuilder", events, build)
    timed("gzip.compress", events, lambda: gzip.compress(trace, mtime=0))


def timed(what: str, events: Events, work: Callable[[], Any]) -> Any:
    begin = time.process_time()
    result = work()
    sys.stdout.write(f"{events.ticks.size} {time.process_time() - begin:.6f} {what}\n")
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=["flydsl", "ktrace", "builder"])
    parser.add_argument("--waves", type=int, default=1_024)
    parser.add_argument("events", type=int)
    options = parser.parse_args()
    events = read_events(options.events, options.waves)
    runs = {"flydsl": run_flydsl, "ktrace": run_ktrace, "builder": run_builder}
    runs[options.peer](events)


if __name__ == "__main__":
    main()
