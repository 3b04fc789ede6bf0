"""Tracks of other tools' traces: processes, threads, devices with their queues."""

from __future__ import annotations

from dataclasses import dataclass, field

from ktrace_cli.export.protobuf import message, number, text
from ktrace_cli.importers.host_trace import HostTrace

_EXPLICIT_ORDER, _NEVER_MERGE = 3, 2
_BOOTTIME, _REALTIME = 6, 1
_FIRST_ALIAS = 1 << 22
"""Linux has no process of this id or above."""
_MOST = 1 << 31
"""Ids in a trace are 32 bits with a sign."""


def calendar_packet(ns: int, sequence: int) -> bytes:
    """Tell that the trace's clock and the calendar (UTC) are the same."""
    clocks = [message(1, number(1, clock), number(2, ns)) for clock in (_BOOTTIME, _REALTIME)]
    return message(1, number(10, sequence), message(6, *clocks))


@dataclass
class Trees:
    """All tracks of a merged trace but those of our recordings."""

    next_uuid: int = 1
    descriptors: list[bytes] = field(default_factory=list)
    titles: dict[tuple[int, int], str] = field(default_factory=dict)
    """By scope and process id: see merged_scopes."""
    _aliases: dict[tuple[int, int], int] = field(default_factory=dict)
    _processes: dict[tuple[int, int, str], int] = field(default_factory=dict)
    _threads: set[tuple[int, int]] = field(default_factory=set)
    _groups: dict[tuple[int, str], int] = field(default_factory=dict)
    _names: set[tuple[int, str]] = field(default_factory=set)
    _ranks: dict[int, int] = field(default_factory=dict)

    def pid(self, scope: int, pid: int) -> int:
        """Return the id that a process is shown with: two scopes may use one; 0 stays 0."""
        if not 0 < pid < _MOST:
            return 0
        if (scope, pid) not in self._aliases:
            taken = set(self._aliases.values())
            others = sum(alias >= _FIRST_ALIAS for alias in taken)
            self._aliases[scope, pid] = _FIRST_ALIAS + others if pid in taken else pid
        return self._aliases[scope, pid]

    @property
    def renumbered(self) -> int:
        """How many processes are not shown with their own id."""
        return sum(alias >= _FIRST_ALIAS for alias in self._aliases.values())

    def process(self, scope: int, pid: int, name: str) -> int:
        """Return the track of a process; one that is a recording's, too, is called as there."""
        name = self.titles.get((scope, pid)) or name or ("process" if pid else "unknown process")
        key = (scope, pid, "" if pid else name)
        if key not in self._processes:
            shown = self.pid(scope, pid)
            told = message(3, number(1, shown), text(6, self.called(scope, pid, name)))
            self._processes[key] = self._describe(told if shown else text(2, name))
        return self._processes[key]

    def called(self, scope: int, pid: int, name: str) -> str:
        """Return a process's name, with its own id if it is shown with another one."""
        return name if self.pid(scope, pid) in (0, pid) else f"{name} (pid {pid})"

    def known_process(self, scope: int, pid: int) -> int:
        """Return the track of a process if it has one, else 0."""
        return self._processes.get((scope, pid, ""), 0) if self.pid(scope, pid) else 0

    def has_thread(self, pid: int, thread: int) -> bool:
        """Tell whether a thread has a track: a viewer would show a second one on the first."""
        return (pid, thread) in self._threads

    def thread(self, process: int, pid: int, thread: int, name: str) -> int:
        """Return the track of a thread, which has none so far."""
        self._threads.add((pid, thread))
        self._names.add((process, name))
        # A viewer shows the number, too.
        own = name.removeprefix(f"thread {thread}").strip(" ()") or "thread"
        what = message(4, number(1, pid), number(2, thread), text(5, own))
        return self._describe(number(5, process), what)

    def group(self, parent: int, name: str) -> int:
        """Return the track that stands for several others."""
        if (parent, name) not in self._groups:
            self._groups[parent, name] = self.leaf(parent, name)
        return self._groups[parent, name]

    def leaf(self, parent: int, name: str) -> int:
        """Return a new track below another one."""
        self._names.add((parent, name))
        rank = self._ranks[parent] = self._ranks.get(parent, 0) + 1
        return self._describe(
            text(2, name),
            number(5, parent),
            number(11, _EXPLICIT_ORDER),
            number(12, rank),
            number(15, _NEVER_MERGE),
        )

    def is_used(self, parent: int, name: str) -> bool:
        """Tell whether there is a track of this name."""
        return (parent, name) in self._names

    def _describe(self, *fields: bytes) -> int:
        uuid = self.next_uuid
        self.next_uuid += 1
        self.descriptors.append(message(1, message(60, number(1, uuid), *fields)))
        return uuid


@dataclass
class Places:
    """The tracks of one trace."""

    trees: Trees
    trace: HostTrace
    scope: int
    _uuids: dict[tuple[int, int], int] = field(default_factory=dict)

    def track(self, row: int, lane: int = 0) -> int:
        """Return the track for a row of HostTrace.tracks and one of its lanes."""
        if (row, lane) not in self._uuids:
            self._uuids[row, lane] = self._make(row, lane)
        return self._uuids[row, lane]

    def _make(self, row: int, lane: int) -> int:
        track = self.trace.tracks[row]
        process = self.trace.processes[track.process]
        parent = self.trees.process(self.scope, process.pid, process.name)
        pid = self.trees.pid(self.scope, process.pid)
        shown = track.name + (f" ({lane + 1})" if lane else "")
        # Some tools tell pthread's ids, which are addresses.
        is_thread = pid > 0 and 0 < track.thread < _MOST and not lane
        if is_thread and not self.trees.has_thread(pid, track.thread):
            return self.trees.thread(parent, pid, track.thread, shown)
        if track.device:
            parent = self.trees.group(parent, track.device)
        if self.trees.is_used(parent, shown):
            shown += f" · {self.trace.format}"
        return self.trees.leaf(parent, shown)
