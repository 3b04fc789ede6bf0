"""How far the reading of a timeline's parts is, told to whoever waits for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ktrace_cli.model import Flags, Part, PartSource, Timeline
from ktrace_cli.progress import Advance


def with_progress(timeline: Timeline, advance: Advance, passes: int = 1) -> Timeline:
    """Return the same timeline, which tells how far the reading of its parts is.

    Args:
        timeline: any.
        advance: is told after each part.
        passes: how often all parts will be read.
    """
    share = 1 / (max(len(timeline.waves), 1) * passes)
    return replace(timeline, source=_Told(timeline.source, advance, share))


@dataclass(frozen=True)
class _Told:
    """A model.PartSource: another one, and what it tells."""

    source: PartSource
    advance: Advance
    share: float
    """Of one wave."""

    def __call__(self, wanted: Flags | None) -> Iterator[Part]:
        for part in self.source(wanted):
            yield part
            self.advance(len(part.wave_rows) * self.share)
