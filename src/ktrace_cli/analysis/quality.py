"""How far a summary can be trusted: what is missing, how good the clocks are, what is modelled."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from ktrace_cli.model import Losses, Timeline

if TYPE_CHECKING:
    from ktrace_cli.analysis.tracing_cost import TracingCost

_UNPAIRED = ("unclosed_slices", "stray_ends", "stray_values", "overwritten_begins")
_SAID_BY_ITSELF = {"dropped_words", "truncated_waves", "overwritten_words", *_UNPAIRED}


@dataclass(frozen=True)
class ClockQuality:
    """How well one device's clock was tied to the host's."""

    device: int
    method: str
    residual_ns: float
    skew_ns_by_xcc: tuple[tuple[int, float], ...]
    """How far each XCC's clock was ahead of the lowest one's: taken out of all times."""

    @property
    def largest_skew_ns(self) -> float:
        """Between any two XCCs."""
        skews = [skew for _, skew in self.skew_ns_by_xcc]
        return max(skews) - min(skews) if skews else 0.0


@dataclass(frozen=True)
class Quality:
    """What to know before believing a number."""

    dropped_words: int
    truncated_waves: int
    """Their region was full."""
    unpaired: int
    """Events and payloads that lack what belongs to them."""
    overwritten_words: int
    other_losses: int
    """How many more kinds of loss there are."""
    clocks: tuple[ClockQuality, ...]
    is_modelled: bool
    """Times of any device are modelled, not measured."""
    percentile_error: float
    """Largest, as a part of a percentile; 0: exact."""
    tracing_cost: TracingCost | None = None
    """An estimate; None: no selftest was named."""

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing."""
        counts = (self.dropped_words, self.truncated_waves, self.unpaired, self.overwritten_words)
        return not (any(counts) or self.other_losses)


def judge(timeline: Timeline, percentile_error: float) -> Quality:
    """Collect what is known of a timeline's quality."""
    losses = timeline.losses
    return Quality(
        dropped_words=int(losses.dropped_words),
        truncated_waves=int(losses.truncated_waves),
        unpaired=sum(int(getattr(losses, name)) for name in _UNPAIRED),
        overwritten_words=int(losses.overwritten_words),
        other_losses=_others(losses),
        clocks=tuple(
            ClockQuality(fit.device, fit.method, round(fit.residual_ns, 3), fit.skew_by_xcc)
            for fit in timeline.clocks
        ),
        is_modelled=any(device.is_software for device in timeline.devices),
        percentile_error=round(percentile_error, 6),
    )


def _others(losses: Losses) -> int:
    names = [field.name for field in fields(losses) if field.name not in _SAID_BY_ITSELF]
    return sum(bool(getattr(losses, name)) for name in names)
