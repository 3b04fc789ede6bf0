"""What the formats of rocprofv3 have in common: kernels, calls, copies, allocations as slices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktrace_cli.importers.builder import Builder, joined_by_correlation
from ktrace_cli.importers.host_trace import HostTrack, Kind
from ktrace_cli.importers.registers import halved

Ints = NDArray[np.int64]

_LARGEST = (1 << 63) - 1
_COPY = "MEMORY_COPY_"
_MARKER = "MARKER"


@dataclass(frozen=True)
class Agent:
    """A device as a file tells of it."""

    name: str
    target: str
    """gfx950; "" if it is not known."""
    is_gpu: bool = True


def make_agent(number: object, target: str = "", *, is_gpu: bool = True) -> Agent:
    """Return an agent that is called by its number."""
    return Agent(f"agent {number}" + (f" · {target}" if target else ""), target, is_gpu)


@dataclass(frozen=True)
class Rows:
    """What all records have, column by column."""

    processes: Sequence[int]
    """Rows of HostTrace.processes."""
    names: Sequence[str]
    begin_ns: Ints
    end_ns: Ints
    correlation: Ints
    """0 or less: none."""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    """Arguments."""


@dataclass(frozen=True)
class Registers:
    """What a file says of the registers of each kernel."""

    vector: Ints
    accumulation: Ints


@dataclass
class Run:
    """One file or group of files while it is read."""

    builder: Builder
    _calls: list[tuple[Ints, Ints]] = field(default_factory=list)
    """Rows and correlation ids."""
    _work: list[tuple[Ints, Ints]] = field(default_factory=list)

    def add_kernels(
        self,
        rows: Rows,
        agents: Sequence[Agent],
        queues: Sequence[str],
        registers: Registers | None,
    ) -> None:
        """Add kernels, each on the track of its queue."""
        tracks = self._tracks(rows, queues, agents)
        added = self._add(Kind.KERNEL, rows, tracks, [n.removesuffix(".kd") for n in rows.names])
        self._work.append((added, rows.correlation))
        if registers is not None:
            self._tell_registers(added, registers, [agent.target for agent in agents])

    def add_calls(self, rows: Rows, threads: Sequence[int], domains: Sequence[str]) -> None:
        """Add calls of an API and markers, each on the track of its thread."""
        tracks = [
            self.builder.track(HostTrack(process, f"thread {thread}", thread=thread))
            for process, thread in zip(rows.processes, threads, strict=True)
        ]
        added = self._add(Kind.CALL, rows, tracks, rows.names)
        # Markers have correlation ids, too, but launch nothing.
        launches = np.array([not domain.startswith(_MARKER) for domain in domains], np.bool_)
        self._calls.append((added[launches], rows.correlation[launches]))
        self.builder.text_argument("Domain", added, domains)

    def add_copies(
        self, rows: Rows, sources: Sequence[Agent], destinations: Sequence[Agent]
    ) -> None:
        """Add copies on the track of the device that they go to, else come from."""
        agents = [
            destination if destination.is_gpu else source
            for source, destination in zip(sources, destinations, strict=True)
        ]
        tracks = self._tracks(rows, ["copies"] * len(agents), agents)
        added = self._add(Kind.COPY, rows, tracks, [n.removeprefix(_COPY) for n in rows.names])
        self._work.append((added, rows.correlation))

    def add_allocations(self, rows: Rows, agents: Sequence[Agent], what: Sequence[str]) -> None:
        """Add allocations of memory on tracks that are named `what`."""
        added = self._add(Kind.SPAN, rows, self._tracks(rows, what, agents), rows.names)
        self._work.append((added, rows.correlation))

    def join(self) -> None:
        """Add arrows from calls to what they launched."""
        for calls, call_keys in self._calls:
            for work, work_keys in self._work:
                flows = joined_by_correlation(calls, call_keys, work, work_keys)
                self.builder.flow(flows["source"], flows["destination"])

    def _tracks(self, rows: Rows, names: Sequence[str], agents: Sequence[Agent]) -> list[int]:
        return [
            self.builder.track(HostTrack(process, name, agent.name, target=agent.target))
            for process, name, agent in zip(rows.processes, names, agents, strict=True)
        ]

    def _add(self, kind: Kind, rows: Rows, tracks: Sequence[int], names: Sequence[str]) -> Ints:
        added = self.builder.add(
            kind,
            {
                "track": np.array(tracks, np.int64),
                "name": self.builder.texts(names),
                "begin_ns": rows.begin_ns,
                "end_ns": rows.end_ns,
                "correlation": rows.correlation,
            },
        )
        for name, values in rows.numbers.items():
            self.builder.argument(name, added, values)
        is_known = rows.correlation > 0
        self.builder.argument("Correlation_Id", added[is_known], rows.correlation[is_known])
        return added

    def _tell_registers(self, rows: Ints, registers: Registers, targets: Sequence[str]) -> None:
        repairs, stored = self.builder.repairs, registers.vector
        repairs["unknown_devices"] += sum(not target for target in targets)
        is_half = halved(targets, registers.accumulation) & (stored > 0)
        repairs["doubled_registers"] += int(is_half.sum())
        self.builder.argument("VGPR_Count", rows, np.where(is_half, 2 * stored, stored))
        self.builder.argument("VGPR_Count_in_file", rows[is_half], stored[is_half])
        self.builder.argument("Accum_VGPR_Count", rows, registers.accumulation)


def whole_numbers(values: Sequence[Any], missing: int = 0) -> Ints:
    """Return numbers as a column; what is none, or does not fit, is `missing`."""
    is_number = [isinstance(v, int) and not isinstance(v, bool) for v in values]
    kept = [
        v if ok and abs(v) <= _LARGEST else missing for v, ok in zip(values, is_number, strict=True)
    ]
    return np.array(kept, np.int64)
