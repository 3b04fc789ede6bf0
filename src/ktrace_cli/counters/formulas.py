"""The one table of formulas: what counters mean on each target, and who says so."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

SDK: Final = "rocprofiler-sdk, counter_defs.yaml"
COMPUTE: Final = "rocprof-compute 3.5.0 (rocm-systems aa5dfb98)"
_HIT: Final = f"{SDK}: L2CacheHit"
_COUNTED: Final = f"{SDK}: the counter's own description"


class Unit:
    """What a figure is given in."""

    SHARE: Final = "share"
    BYTES: Final = "bytes"
    COUNT: Final = "count"


_OPERATORS: Final[Mapping[type[ast.operator], Callable[[float, float], float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


@dataclass(frozen=True)
class Formula:
    """How a figure comes from counters."""

    text: str
    """Of names of counters, numbers and + - * /."""
    source: str
    bound: str = ""
    """Why the figure is a lower bound; "" if it is exact."""
    bound_if_zero: str = ""
    """A counter: the figure is exact unless this is 0 in every dispatch."""

    @cached_property
    def needs(self) -> tuple[str, ...]:
        """The counters in it, in their order."""
        names = [node.id for node in ast.walk(self._tree) if isinstance(node, ast.Name)]
        return tuple(sorted(set(names), key=self.text.index))

    @cached_property
    def _tree(self) -> ast.expr:
        return ast.parse(self.text, mode="eval").body

    def value(self, counters: Mapping[str, float]) -> float | None:
        """Compute the figure of one dispatch; None where it would be 0 / 0 or below 0."""
        try:
            result = _evaluate(self._tree, counters)
        except ZeroDivisionError:
            return None
        return result if result >= 0 else None


def _evaluate(node: ast.expr, counters: Mapping[str, float]) -> float:
    if isinstance(node, ast.BinOp):
        left, right = _evaluate(node.left, counters), _evaluate(node.right, counters)
        return _OPERATORS[type(node.op)](left, right)
    if isinstance(node, ast.Name):
        return counters[node.id]
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return float(node.value)
    raise AssertionError(f"a formula holds {ast.dump(node)}")


@dataclass(frozen=True)
class Metric:
    """One figure of a dispatch. Of its formulas the first whose counters are there is used."""

    key: str
    title: str
    unit: str
    formulas: tuple[Formula, ...]


def _hits() -> Metric:
    own = Formula("TCC_HIT_sum / (TCC_HIT_sum + TCC_MISS_sum)", _HIT)
    derived = Formula("L2CacheHit / 100", _HIT)
    return Metric("l2_hit_rate", "L2 hit rate", Unit.SHARE, (own, derived))


def _common(prefix: str) -> tuple[Metric, ...]:
    """Return what all targets have; only the name of the interface to memory differs."""
    read, write = f"{prefix}_RDREQ", f"{prefix}_WRREQ"
    written = Formula(
        f"({write}_sum - {write}_64B_sum) * 32 + {write}_64B_sum * 64", f"{SDK}: WRITE_SIZE"
    )
    return (
        Metric("l2_requests", "L2 requests", Unit.COUNT, (Formula("TCC_REQ_sum", _COUNTED),)),
        Metric(
            "reads_32b", "32-byte reads, of all reads", Unit.SHARE,
            (Formula(f"{read}_32B_sum / {read}_sum", _COUNTED),),
        ),
        Metric(
            "reads_from_dram", "reads that reach DRAM", Unit.SHARE,
            (Formula(f"{read}_DRAM_sum / {read}_sum", _COUNTED),),
        ),
        Metric(
            "written_bytes", "bytes written", Unit.BYTES,
            (written, Formula("WRITE_SIZE * 1024", f"{SDK}: WRITE_SIZE")),
        ),
        Metric(
            "writes_64b", "64-byte writes, of all writes", Unit.SHARE,
            (Formula(f"{write}_64B_sum / {write}_sum", _COUNTED),),
        ),
        Metric(
            "l2_atomics", "atomics in L2", Unit.COUNT, (Formula("TCC_ATOMIC_sum", _COUNTED),)
        ),
        Metric(
            "memory_atomics", "atomics to memory", Unit.COUNT,
            (Formula(f"{prefix}_ATOMIC_sum", _COUNTED),),
        ),
    )  # fmt: skip


def _fetched(*formulas: Formula) -> Metric:
    return Metric("fetched_bytes", "bytes fetched", Unit.BYTES, formulas)


_FETCH_SIZE: Final = f"{SDK}: FETCH_SIZE"
_BUBBLE: Final = (
    "TCC_BUBBLE_sum * 128 + (TCC_EA0_RDREQ_sum - TCC_BUBBLE_sum - TCC_EA0_RDREQ_32B_sum) * 64"
    " + TCC_EA0_RDREQ_32B_sum * 32"
)
_SIZES: Final = (
    "TCC_EA0_RDREQ_128B_sum * 128 + TCC_EA0_RDREQ_64B_sum * 64 + TCC_EA0_RDREQ_32B_sum * 32"
)
_NO_BUBBLES: Final = (
    "TCC_BUBBLE, which counts reads of 128 bytes on gfx942, stays 0 on gfx950: such reads are"
    " taken for 64 bytes, so it is up to twice as much; count TCC_EA0_RDREQ_128B_sum,"
    " TCC_EA0_RDREQ_64B_sum and TCC_EA0_RDREQ_32B_sum"
)
_DERIVED: Final = (
    "FETCH_SIZE of ROCm before 10.0 takes reads of 128 bytes for 64 bytes on gfx950, so it may be"
    " up to twice as much"
)
_GFX90A: Final = (
    _hits(),
    _fetched(
        Formula(
            "TCC_EA_RDREQ_32B_sum * 32 + (TCC_EA_RDREQ_sum - TCC_EA_RDREQ_32B_sum) * 64",
            _FETCH_SIZE,
        ),
        Formula("FETCH_SIZE * 1024", _FETCH_SIZE),
    ),
    *_common("TCC_EA"),
)
_GFX942: Final = (
    _hits(),
    _fetched(Formula(_BUBBLE, _FETCH_SIZE), Formula("FETCH_SIZE * 1024", _FETCH_SIZE)),
    *_common("TCC_EA0"),
)
_GFX950: Final = (
    _hits(),
    _fetched(
        Formula(_SIZES, COMPUTE),
        Formula(_BUBBLE, _FETCH_SIZE, _NO_BUBBLES, "TCC_BUBBLE_sum"),
        Formula("FETCH_SIZE * 1024", _FETCH_SIZE, _DERIVED),
    ),
    *_common("TCC_EA0"),
)  # fmt: skip
METRICS_BY_TARGET: Final[Mapping[str, tuple[Metric, ...]]] = {
    "gfx90a": _GFX90A,
    "gfx940": _GFX942,
    "gfx941": _GFX942,
    "gfx942": _GFX942,
    "gfx950": _GFX950,
}

# Passes of `ktrace pmc -- PROGRAM`. A formula's counters share one, as runs are not alike; of the
# L2 cache (TCC) at most four, as its instances have no more counters of their own.
MOST_OF_L2: Final = 4
PASSES_BY_TARGET: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "gfx90a": (
        ("TCC_HIT_sum", "TCC_MISS_sum", "TCC_REQ_sum", "TCC_ATOMIC_sum"),
        ("TCC_EA_RDREQ_sum", "TCC_EA_RDREQ_32B_sum", "TCC_EA_RDREQ_DRAM_sum"),
        ("TCC_EA_WRREQ_sum", "TCC_EA_WRREQ_64B_sum", "TCC_EA_ATOMIC_sum"),
    ),
    "gfx942": (
        ("TCC_HIT_sum", "TCC_MISS_sum", "TCC_REQ_sum", "TCC_ATOMIC_sum"),
        (
            "TCC_EA0_RDREQ_sum", "TCC_EA0_RDREQ_32B_sum", "TCC_BUBBLE_sum",
            "TCC_EA0_RDREQ_DRAM_sum",
        ),
        ("TCC_EA0_WRREQ_sum", "TCC_EA0_WRREQ_64B_sum", "TCC_EA0_ATOMIC_sum"),
    ),
    "gfx950": (
        ("TCC_HIT_sum", "TCC_MISS_sum", "TCC_REQ_sum", "TCC_ATOMIC_sum"),
        (
            "TCC_EA0_RDREQ_sum", "TCC_EA0_RDREQ_32B_sum", "TCC_EA0_RDREQ_64B_sum",
            "TCC_EA0_RDREQ_128B_sum",
        ),
        ("TCC_EA0_WRREQ_sum", "TCC_EA0_WRREQ_64B_sum", "TCC_EA0_ATOMIC_sum"),
    ),
}  # fmt: skip


def target_by_counters(names: frozenset[str]) -> str:
    """Guess a target by the counters that only it has; "" if nothing tells."""
    if any(name.startswith("TCC_EA0_RDREQ_128B") for name in names):
        return "gfx950"
    if any(name.startswith("TCC_EA0_") for name in names):
        return "gfx942"
    return "gfx90a" if any(name.startswith("TCC_EA_") for name in names) else ""
