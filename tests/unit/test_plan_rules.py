"""Rules of `ktrace plan`: each fires on its own evidence, and on nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktrace_cli.analysis.imbalance import Imbalance, Spread
from ktrace_cli.analysis.results import KernelSummary
from ktrace_cli.errors import KtraceError
from ktrace_cli.planning.evidence import NextStep, read_stalls
from ktrace_cli.planning.findings import Finding, KernelEvidence
from ktrace_cli.planning.resources import Code
from ktrace_cli.planning.rules import RULES, find

LOAD = "global_load_dwordx4 v[0:3], v[8:9], off"
WAIT_VM = "s_waitcnt vmcnt(0)"
WAIT_LDS = "s_waitcnt lgkmcnt(0)"
READ = "ds_read_b128 v[4:7], v10"
WRITE = "ds_write_b128 v10, v[4:7]"
MFMA = "v_mfma_f32_32x32x16_bf16 v[16:31], v[0:3], v[4:7], v[16:31]"
SCALED = "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[0:3], v20, v21 op_sel:[0]"
ADD = "v_add_f32_e32 v1, v2, v3"
BACK = "s_cbranch_scc1 {}"
Row = tuple[str, int]
"""An instruction and its stall."""


def document(*rows: Row, latency: int = 1000, **more: Any) -> dict[str, Any]:
    """What `ktrace hotspots --json` writes of instructions of 4 bytes from address 0."""
    stall = sum(cycles for _, cycles in rows)
    return {
        "kernel": "gemm",
        "arch": "gfx950",
        "totals": {"hit": len(rows), "latency": latency, "stall": stall, "idle": 0},
        "by_class": [],
        "by_source": [],
        "by_instruction": [
            {"text": text, "address": 4 * n, "hit": 1, "latency": cycles, "stall": cycles,
             "idle": 0, "source": [f"/home/me/k.py:{n}"], "phase": "mma"}
            for n, (text, cycles) in enumerate(rows)
        ],
        "padding": [],
        "occupancy": {"next_step": None, "waves_per_simd": 2, "unknown": []},
        **more,
    }  # fmt: skip


def found(*rows: Row, **more: Any) -> list[Finding]:
    stalls = read_stalls(document(*rows, **more), Path("x.json"))
    return find(KernelEvidence("gemm", stalls=stalls))


def rules(findings: Sequence[Finding]) -> list[str]:
    return [one.rule for one in findings]


def loop(*rows: Row) -> list[Row]:
    """A loop over these rows: the branch goes back to the first."""
    return [*rows, (BACK.format(0x10000 - len(rows) - 1), 0)]


def test_loads_that_their_own_loop_waits_for() -> None:
    (finding,) = found(*loop((LOAD, 40), (WAIT_VM, 300), (MFMA, 0)))

    assert (finding.rule, finding.match.priority.value) == ("loads_in_matrix_loop", "HIGH")
    assert finding.match.where == "phase mma, k.py:1, 0x4 `s_waitcnt vmcnt(0)`"
    assert finding.match.evidence == (
        "1 load and 1 wait for memory in a loop with 1 matrix instruction stall for 340 cycles:"
        " 34.0 % of the traced cycles"
    )
    assert finding.match.gain == (
        "at most 34.0 % of the traced cycles, if all of this wait goes away"
    )


@pytest.mark.parametrize(
    "rows",
    [
        [(LOAD, 40), (WAIT_VM, 300), (MFMA, 0)],  # no loop
        loop((LOAD, 40), (WAIT_VM, 300), (ADD, 0)),  # no matrix instruction
        loop((WAIT_VM, 300), (MFMA, 0)),  # no load
        loop((LOAD, 0), (WAIT_VM, 5), (MFMA, 0)),  # no stall to speak of
    ],
)
def test_other_loads_are_no_finding(rows: list[Row]) -> None:
    assert rules(found(*rows)) == []


def test_four_loads_in_a_row() -> None:
    three = [(LOAD, 50)] * 3

    assert rules(found(*three, (LOAD, 50))) == ["back_to_back_loads"]
    assert rules(found(*three)) == []
    assert rules(found(*three[:2], (MFMA, 0), *three[:2])) == []


def test_lds_that_is_waited_for_right_behind_its_read() -> None:
    close = [(READ, 0), (WAIT_LDS, 50), (MFMA, 0)]
    far = [(READ, 0), *[(ADD, 0)] * 5, (WAIT_LDS, 50), (MFMA, 0)]

    (finding,) = found(*close)

    assert (finding.rule, finding.match.priority.value) == ("lds_just_before_use", "MED")
    assert rules(found(*far)) == []
    assert rules(found((READ, 0), (WAIT_LDS, 50), (ADD, 0))) == []


def test_a_wait_for_anything_but_a_close_read_of_an_operand_is_no_finding() -> None:
    other, accumulator = "ds_read_b128 v[80:83], v10", "ds_read_b128 a[4:7], v10"
    of_accumulators = MFMA.replace("v[4:7]", "a[4:7]")
    counted = "s_waitcnt lgkmcnt(1)"

    assert rules(found((WRITE, 0), (WAIT_LDS, 50), (MFMA, 0))) == []
    assert rules(found((other, 0), (WAIT_LDS, 50), (MFMA, 0))) == []
    assert rules(found((other, 0), (READ, 0), (counted, 50), (MFMA, 0))) == []
    assert rules(found((READ, 0), (other, 0), (counted, 50), (MFMA, 0))) == ["lds_just_before_use"]
    assert rules(found((accumulator, 0), (WAIT_LDS, 50), (of_accumulators, 0))) == [
        "lds_just_before_use"
    ]


def test_scales_that_come_last() -> None:
    scale, other = "buffer_load_ubyte v20, v1, s[0:3], 0 offen", "buffer_load_ubyte v40, v1, s[0:3]"

    assert rules(found((scale, 0), (WAIT_VM, 50), (SCALED, 0))) == ["scale_loads_too_late"]
    assert rules(found((other, 0), (WAIT_VM, 50), (SCALED, 0))) == []
    assert rules(found((scale, 0), *[(ADD, 0)] * 16, (WAIT_VM, 50), (SCALED, 0))) == []
    assert rules(found((scale, 0), (WAIT_LDS, 50), (WAIT_VM, 0), (SCALED, 0))) == []


def test_barriers_and_padding() -> None:
    pad = [{"after": "v_mfma", "before": "v_exp_f32", "stall": 60}]

    findings = found(("s_barrier", 20), ("s_nop 7", 60), padding=pad)

    assert rules(findings) == ["padding", "waits_at_barriers"]
    assert "the most, 60 cycles, between v_mfma and v_exp_f32" in findings[0].match.evidence
    assert [one.match.priority.value for one in findings] == ["MED", "LOW"]


def test_a_line_that_is_set_aside_is_named_last() -> None:
    source = {"path": "/home/me/k.py", "line": 257, "stall": 60, "set_aside": "it is the decorator"}

    findings = found(("s_barrier", 100), by_source=[source])

    assert rules(findings) == ["waits_at_barriers", "artefact"]
    assert findings[1].match.where == "k.py:257"
    assert findings[1].match.evidence == "60.0 % of the stall: it is the decorator"


@pytest.mark.parametrize(
    ("used", "most", "stall", "priority"),
    [(180, 168, 500, "MED"), (180, 168, 100, "LOW"), (242, 168, 500, None)],
)
def test_an_occupancy_step_must_be_within_reach(
    used: int, most: int, stall: int, priority: str | None
) -> None:
    needs = [{"name": "vgpr", "used": used, "most": most}]
    step = {"waves_per_simd": 3, "needs": needs}
    occupancy = {"next_step": step, "waves_per_simd": 2, "unknown": ["LDS"]}

    findings = found((ADD, stall), occupancy=occupancy)

    assert [one.match.priority.value for one in findings] == ([priority] if priority else [])
    if findings:
        assert findings[0].match.evidence.startswith(
            "3 instead of 2 waves per SIMD need at most 168 VGPRs (12 fewer); waves stall for"
        )
        assert findings[0].match.evidence.endswith("not known: LDS")


def test_a_kernel_of_which_no_workgroup_fits_has_no_step_to_compare() -> None:
    needs = [{"name": "lds", "used": 70_000, "most": 65_536}]
    step = {"waves_per_simd": 1, "needs": needs}

    findings = found((ADD, 500), occupancy={"next_step": step, "waves_per_simd": 0, "unknown": []})

    assert findings == []


def test_the_code_of_a_recording_tells_a_step_without_stalls() -> None:
    step = NextStep(4, 3, (("lds", 24576, 20480),), (), "of the traced build")

    (finding,) = find(KernelEvidence("gemm", traced=Code("gemm", "gfx942", step)))

    assert (finding.rule, finding.match.priority.value) == ("occupancy_step", "LOW")
    assert finding.match.evidence == (
        "4 instead of 3 waves per SIMD need at most 20,480 B of LDS (4,096 fewer); of the"
        " traced build; how much its waves wait is not known"
    )


def summary(*, tail: float, xcd: float, workgroup: float, units: int = 8) -> KernelSummary:
    levels = {"xcd": xcd, "workgroup": workgroup}
    uneven = tuple(
        Imbalance(level, units, 1000.0, int(1000 * ratio), ratio, None)  # type: ignore[arg-type]
        for level, ratio in levels.items()
    )
    values: dict[str, Any] = dict.fromkeys(KernelSummary.__dataclass_fields__)
    values |= {"name": "gemm", "dispatches": 4, "imbalance": uneven}
    return KernelSummary(**{**values, "tail": Spread(5000.0, 6000, 2, tail)})


def test_tails_and_uneven_units_of_a_recording() -> None:
    uneven = summary(tail=0.2, xcd=1.25, workgroup=2.0)
    even = summary(tail=0.01, xcd=1.05, workgroup=1.2)
    one_xcd = summary(tail=0.01, xcd=1.25, workgroup=1.2, units=1)

    findings = find(KernelEvidence("gemm", summary=uneven))

    assert rules(findings) == ["uneven_workgroups", "tail", "slow_xcd"]
    assert findings[2].match.evidence == (
        "the slowest of 8 XCDs takes 1.25 times the mean: 1.25 us to 1 us"
    )
    assert findings[1].match.evidence.endswith("20.0 % of the time of 4 launches")
    assert find(KernelEvidence("gemm", summary=even)) == []
    assert find(KernelEvidence("gemm", summary=one_xcd)) == []


def test_bad_verdicts_of_counters_are_findings_and_good_ones_are_not() -> None:
    verdict = {"is_good": False, "text": "scattered", "reason": "40 %", "source": "rule of thumb"}
    counters = {"name": "gemm", "verdicts": [verdict, {**verdict, "is_good": True}]}

    (finding,) = find(KernelEvidence("gemm", counters=counters))

    assert finding.rule == "memory"
    assert finding.match.evidence == "40 %: scattered (rule of thumb)"


def test_no_rule_fires_without_evidence_and_each_has_a_source() -> None:
    assert find(KernelEvidence("gemm")) == []
    assert all(rule.source and rule.cause and rule.fix for rule in RULES)
    assert len({rule.key for rule in RULES}) == len(RULES) == 12


_JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@given(st.sampled_from(sorted(document())), _JSON)
def test_damaged_documents_are_read_or_refused(key: str, value: object) -> None:
    damaged = {**document((LOAD, 3), (BACK.format(0xFFFE), 1)), key: value}

    try:
        stalls = read_stalls(damaged, Path("x.json"))
    except KtraceError as problem:
        why = problem.why
    else:
        why = ""
        find(KernelEvidence("gemm", stalls=stalls))
    assert not why or "`ktrace hotspots --json`" in why
