"""What figures mean, each with the number that says so: one table of rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ktrace_cli.counters.kernels import KernelCounters

_SKILL: Final = "FlyDSL's pmc_l2_analyzer: below 5 %"
_OWN: Final = "rule of thumb of ktrace"


@dataclass(frozen=True)
class Verdict:
    """One conclusion."""

    key: str
    is_good: bool
    text: str
    reason: str
    source: str


@dataclass(frozen=True)
class _Rule:
    key: str
    figure: str
    holds: Callable[[float], bool]
    is_good: bool
    text: str
    source: str


_RULES: Final = (
    _Rule(
        "streaming", "l2_hit_rate", lambda v: v < 0.05, True,
        "it streams through L2 without using anything again: if each byte is needed once, there is"
        " no hit rate to gain; if not, tile so that neighbouring workgroups share what they read",
        _SKILL,
    ),
    _Rule(
        "served_by_l2", "l2_hit_rate", lambda v: v >= 0.8, True,
        "L2 serves most of what it asks for", _OWN,
    ),
    _Rule(
        "full_reads", "reads_32b", lambda v: v < 0.05, True,
        "reads from memory are whole", _SKILL,
    ),
    _Rule(
        "scattered_reads", "reads_32b", lambda v: v >= 0.25, False,
        "many reads from memory are of 32 bytes: lanes read scattered or strided addresses", _OWN,
    ),
    _Rule(
        "partial_writes", "writes_64b", lambda v: v < 0.5, False,
        "most writes to memory are of less than 64 bytes: let neighbouring lanes write"
        " neighbouring addresses", _OWN,
    ),
    _Rule(
        "remote_reads", "reads_from_dram", lambda v: v < 0.5, False,
        "most reads do not go to this GPU's own memory: look where the buffers live", _OWN,
    ),
)  # fmt: skip
_ATOMICS: Final = 0.1
_BEST_FETCH, _SAME_FETCH, _OVER_FETCH = 0.95, 1.1, 1.5


def judge(kernel: KernelCounters, over_fetch: float | None) -> list[Verdict]:
    """Return what can be said of a kernel.

    Args:
        kernel: its figures.
        over_fetch: bytes fetched over those that are needed; None if not known.
    """
    verdicts = []
    for rule in _RULES:
        figure = kernel.figure(rule.figure)
        if figure is not None and rule.holds(figure.spread.median):
            reason = f"{figure.metric.title} {100 * figure.spread.median:.1f} %"
            verdicts.append(Verdict(rule.key, rule.is_good, rule.text, reason, rule.source))
    verdicts += _on_atomics(kernel)
    fetched = kernel.figure("fetched_bytes")
    if over_fetch is not None and fetched is not None:
        verdicts += _on_over_fetch(over_fetch, is_bound=bool(fetched.bound))
    return verdicts


def _on_atomics(kernel: KernelCounters) -> list[Verdict]:
    atomics, requests = kernel.figure("l2_atomics"), kernel.figure("l2_requests")
    if atomics is None or requests is None or not requests.spread.median:
        return []
    share = atomics.spread.median / requests.spread.median
    if share < _ATOMICS:
        return []
    text = "atomics are a large part of what L2 does: reduce within the workgroup first"
    reason = f"{100 * share:.1f} % of its requests are atomics"
    return [Verdict("many_atomics", is_good=False, text=text, reason=reason, source=_OWN)]


def _on_over_fetch(ratio: float, *, is_bound: bool) -> list[Verdict]:
    reason = f"it fetches {'at least ' if is_bound else ''}{ratio:.2f} times what is needed"
    if ratio >= _OVER_FETCH:
        text = "bytes are fetched again and again: L2 does not hold them until they are used again"
        return [Verdict("over_fetch", is_good=False, text=text, reason=reason, source=_OWN)]
    if is_bound:
        return []
    if ratio < _BEST_FETCH:
        text = (
            "less is fetched than `--ideal-gb` says: part of it was in a cache before the launch,"
            " or the figure is too large"
        )
        return [Verdict("under_fetch", is_good=False, text=text, reason=reason, source=_OWN)]
    if ratio <= _SAME_FETCH:
        text = "each byte is fetched about once: to be faster it must need less, or wait less"
        return [Verdict("fetched_once", is_good=True, text=text, reason=reason, source=_OWN)]
    return []
