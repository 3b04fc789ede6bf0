"""The inputs of a merge, each with the name by which the user knows it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ktrace_cli.importers.host_trace import HostTrace
from ktrace_cli.model import Timeline


@dataclass(frozen=True)
class RecordingInput:
    """A recording of ktrace."""

    given: Path
    """What the user named: the file, or a folder that it is in."""
    path: Path
    timeline: Timeline

    @property
    def is_modelled(self) -> bool:
        """Whether its times are a software device's."""
        devices = self.timeline.devices
        return bool(devices) and all(device.is_software for device in devices)

    @property
    def host(self) -> str:
        """Name of the host; "" if it is not known."""
        process = self.timeline.process
        return process.host if process and not self.is_modelled else ""

    @property
    def pid(self) -> int:
        """Process id; 0 if it is not known."""
        return self.timeline.process.pid if self.timeline.process else 0

    @property
    def boot_ns(self) -> int | None:
        """When the host booted, in nanoseconds of its calendar; None if it has none."""
        process = self.timeline.process
        if process is None or not process.realtime_ns or not process.boottime_ns:
            return None
        return process.realtime_ns - process.boottime_ns

    @property
    def span(self) -> tuple[int, int] | None:
        """From its process's begin to its last dispatch's end, on its own clock."""
        process, dispatches = self.timeline.process, self.timeline.dispatches
        if not len(dispatches):
            return (process.boottime_ns, process.boottime_ns) if process else None
        first = int(dispatches["launched_ns"].min())
        if process is not None:
            first = min(first, process.boottime_ns)
        last = max(int(dispatches["completed_ns"].max()), int(dispatches["end_ns"].max()))
        return first, last


@dataclass(frozen=True)
class TraceInput:
    """A trace of another tool."""

    given: Path
    """What the user named: the file, or a folder that it is in."""
    trace: HostTrace

    @property
    def host(self) -> str:
        """Name of the host; "" if it is not known."""
        return next((p.host for p in self.trace.processes if p.host), "")

    @property
    def likely_host(self) -> str:
        """Name of the host; else of its folder, which rocprofv3 calls like the host by default."""
        return self.host or self.trace.path.parent.name

    @property
    def span(self) -> tuple[int, int] | None:
        """From its first slice's begin to its last one's end, on its own clock."""
        slices = self.trace.slices
        if not len(slices):
            return None
        return int(slices["begin_ns"].min()), int(slices["end_ns"].max())
