"""Count what markers cost and write docs/reference/cost-model.md.

`python -m device_api.cost_model`, in tests/, rewrites the page with the compilers at hand; sections
of compilers that are not there stay. test_cost_model.py compares the page with what is measured.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from device_api.assembly import Instruction, Listing, Way, kinds, lgkm_waits, metadata
from device_api.build import ENABLE, HEADERS, INCLUDE
from support.compile_kernel import TARGETS, Compiler, compilers_for

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cost-model.md"
PIPELINED = (Path(__file__).parent / "kernels" / "pipelined.hip").read_text()
HERE = ("s_nop", "13")  # marks the loop that is measured

# What is measured: the name in the table, and the marker itself.
MARKERS = {
    "`MARK`, `PUSH`, `POP`, `PHASE`, `GROUP`": 'KTRACE_MARK(t, "x");',
    "… with a 32-bit payload": 'KTRACE_MARK(t, "x", i);',
    "… with a 64-bit payload": 'KTRACE_MARK(t, "x", static_cast<long>(i));',
    "… with a float made by a vector instruction": 'KTRACE_MARK(t, "x", f * 0.5f);',
    "`PUSH` and `POP`": 'KTRACE_PUSH(t, "x"); KTRACE_POP(t);',
    "`RANGE`": 'KTRACE_RANGE(t, "x");',
    "… with a 32-bit payload ": 'KTRACE_RANGE(t, "x", i);',
    "`START`": 'KTRACE_START(t, token, "x");',
    "`START` and `STOP`": 'KTRACE_START(t, token, "x"); KTRACE_STOP(t, token);',
    "`ANCHOR`": "KTRACE_ANCHOR(t);",
}
LOOP = (
    HEADERS
    + """
extern "C" __global__ void k(int* out, unsigned n, float f KTRACE_PARAM) {{
  KTRACE_WAVE(t);
  [[maybe_unused]] ktrace::token token = ktrace::no_token;
  if ({condition}) {{
    _Pragma("clang loop unroll(disable)") for (unsigned i = 0; i < n; ++i) {{
      asm volatile("s_nop 13");
      {marker}
    }}
  }}
  KTRACE_MARK(t, "after");
  out[0] = static_cast<int>(token) + static_cast<int>(f);
}}
"""
)
UNIFORM, SPECIALISED = "n != 7", "threadIdx.x < 128"
RING = "-DKTRACE_RING"
PLAIN = (
    HEADERS + 'extern "C" __global__ void k(int* out KTRACE_PARAM) { KTRACE_WAVE(t); out[0] = 1; }'
)


@dataclass(frozen=True)
class MarkerCost:
    """One marker in a loop: what it adds to an iteration, and to the kernel."""

    name: str
    instructions: int
    smem: int
    nops: int
    waits: int  # lgkmcnt(0)
    not_recorded: int
    partly_active: int
    eager: int  # in a wave whose words are written back at once
    ring: int  # compiled with KTRACE_RING
    specialised: int  # in a wave-specialised branch
    specialised_valu: int  # in the whole kernel
    sgpr: int
    vgpr: int
    specialised_vgpr: int


@dataclass(frozen=True)
class LoopCost:
    """One build of the pipelined loop, per iteration."""

    name: str
    instructions: int
    salu: int
    valu: int
    full_by_markers: int
    full_by_compiler: int
    partial: int
    made_full: int
    drained: int
    mfma: str  # after each marker, up to the next one
    sgpr: int
    vgpr: int
    occupancy: int


@dataclass(frozen=True)
class KernelCost:
    """KTRACE_WAVE alone: instructions of the whole kernel, and registers."""

    plain: int
    enabled: int
    plain_sgpr: int
    sgpr: int
    plain_vgpr: int
    vgpr: int
    ring: int
    ring_sgpr: int


def compilers() -> Iterator[Compiler]:
    for target in TARGETS:
        yield from compilers_for(target)


def title_of(compiler: Compiler) -> str:
    version = re.search(r"clang version (\d+\.\d+\.\d+)", compiler.version)
    assert version
    return f"{compiler.target}, clang {version[1]}"


def kernel_cost(compiler: Compiler) -> KernelCost:
    plain, enabled, ring = (
        compiler.hip_assembly(PLAIN, "-O3", *options, includes=[INCLUDE]).read_text()
        for options in ((), (ENABLE,), (ENABLE, RING))
    )
    before, after = metadata(plain, "k"), metadata(enabled, "k")
    return KernelCost(
        len(Listing(plain, "k").main),
        len(Listing(enabled, "k").main),
        before["sgpr"],
        after["sgpr"],
        before["vgpr"],
        after["vgpr"],
        len(Listing(ring, "k").main),
        metadata(ring, "k")["sgpr"],
    )


def marker_costs(compiler: Compiler) -> list[MarkerCost]:
    return [_marker_cost(compiler, name, marker) for name, marker in MARKERS.items()]


def _marker_cost(compiler: Compiler, name: str, marker: str) -> MarkerCost:
    added = {way: _added(compiler, marker, UNIFORM, way) for way in Way}
    recorded = added[Way.RECORDED]
    ring = _added(compiler, marker, UNIFORM, Way.RECORDED, RING)
    special = _added(compiler, marker, SPECIALISED, Way.RECORDED)
    uniform_registers = _added_registers(compiler, marker, UNIFORM)
    special_registers = _added_registers(compiler, marker, SPECIALISED)
    return MarkerCost(
        name.strip(),
        sum(recorded.values()),
        recorded["smem"],
        recorded["nop"],
        recorded["full waits"],
        sum(added[Way.NOT_RECORDED].values()),
        sum(added[Way.PARTLY_ACTIVE].values()),
        sum(added[Way.EAGER].values()),
        sum(ring.values()),
        sum(special.values()),
        _added_valu(compiler, marker, SPECIALISED),
        uniform_registers["sgpr"],
        uniform_registers["vgpr"],
        special_registers["vgpr"],
    )


def _loop(compiler: Compiler, marker: str, condition: str, *options: str) -> str:
    source = LOOP.format(marker=marker, condition=condition)
    return compiler.hip_assembly(source, "-O3", ENABLE, *options, includes=[INCLUDE]).read_text()


def _added(
    compiler: Compiler, marker: str, condition: str, way: Way, *options: str
) -> dict[str, int]:
    """Count by kind what `marker` adds to one iteration."""
    counts = []
    for body in (marker, ""):
        text = _loop(compiler, body, condition, *options)
        listing = Listing(text, "k")
        cycle = listing.longest_cycle(listing.find(*HERE), way)
        full, partial = lgkm_waits(cycle)
        by_kind = dict.fromkeys(("salu", "smem", "nop", "valu", "wait", "vmem"), 0)
        by_kind.update(kinds(cycle))
        by_kind["full waits"] = full
        by_kind["wait"] -= full
        assert partial == 0
        counts.append(by_kind)
    with_marker, without = counts
    return {kind: with_marker[kind] - without[kind] for kind in with_marker}


def _added_valu(compiler: Compiler, marker: str, condition: str) -> int:
    """Count the vector instructions that `marker` adds to the whole kernel, slow paths apart."""
    texts = (_loop(compiler, marker, condition), _loop(compiler, "", condition))
    with_marker, without = (kinds(Listing(text, "k").main)["valu"] for text in texts)
    return with_marker - without


def _added_registers(compiler: Compiler, marker: str, condition: str) -> dict[str, int]:
    with_marker = metadata(_loop(compiler, marker, condition), "k")
    without = metadata(_loop(compiler, "", condition), "k")
    return {name: with_marker[name] - without[name] for name in with_marker}


LOOPS: dict[str, tuple[str, ...]] = {
    "without ktrace": ("-DMARKERS=0",),
    "0 markers": (ENABLE, "-DMARKERS=0"),
    "2 markers": (ENABLE, "-DMARKERS=2"),
    "4 markers": (ENABLE, "-DMARKERS=4"),
    "2 `RANGE`s": (ENABLE, "-DMARKERS=0", "-DRANGES"),
    "4 markers, `KTRACE_NO_SCHED_BARRIER`": (ENABLE, "-DMARKERS=4", "-DKTRACE_NO_SCHED_BARRIER"),
    "4 markers, `KTRACE_POLL_CLOCK`": (ENABLE, "-DMARKERS=4", "-DKTRACE_POLL_CLOCK"),
}


def loop_costs(compiler: Compiler) -> list[LoopCost]:
    costs = []
    for name, options in LOOPS.items():
        text = compiler.hip_assembly(PIPELINED, "-O3", *options, includes=[INCLUDE]).read_text()
        listing = Listing(text, "pipelined")
        cycle = listing.longest_cycle(listing.find("v_mfma"))
        assert kinds(cycle)["mfma"] == 32
        full, partial = lgkm_waits(cycle)
        own = len([1 for before, one in _pairs(cycle) if _is_own(before, one)])
        made_full, drained = _drained(cycle)
        registers = metadata(text, "pipelined")
        costs.append(
            LoopCost(
                name,
                len(cycle),
                kinds(cycle)["salu"],
                kinds(cycle)["valu"],
                own,
                full - own,
                partial,
                made_full,
                drained,
                ", ".join(map(str, mfma_groups(cycle))),
                registers["sgpr"],
                registers["vgpr"],
                registers["occupancy"],
            )
        )
    return costs


def mfma_groups(cycle: list[Instruction]) -> list[int]:
    """Count the MFMAs from each reading of the clock to the next; the largest group is first."""
    groups = [0]
    for one in cycle:
        if one.opcode == "s_memtime":
            groups.append(0)
        groups[-1] += one.kind == "mfma"
    before, *after = groups
    if not after:
        return [before]
    after[-1] += before
    return max(after[i:] + after[:i] for i in range(len(after)))


def _pairs(cycle: list[Instruction]) -> list[tuple[Instruction, Instruction]]:
    return list(zip([cycle[-1], *cycle], cycle, strict=False))


def _is_own(before: Instruction, one: Instruction) -> bool:
    """Whether `one` is a marker's wait for its clock."""
    return one.kind == "wait" and before.opcode == "s_memtime"


def _drained(cycle: list[Instruction]) -> tuple[int, int]:
    """Follow LDS operations in flight around the loop.

    Returns:
        How many of the compiler's partial waits find done, because of a marker, what they would
        have left in flight; and how many LDS operations in flight the markers' waits drain.
    """
    made_full = drained = 0
    flying = untraced = 0  # with and without the markers' waits
    for is_counted in (False, True):  # the second time around the loop
        for before, one in _pairs(cycle):
            if one.kind == "lds":
                flying, untraced = flying + 1, untraced + 1
            found = re.search(r"lgkmcnt\((\d+)\)", one.operands) if one.kind == "wait" else None
            if found and _is_own(before, one):
                drained += flying * is_counted
                flying = 0
            elif found:
                left = int(found[1])
                made_full += (left > 0 and flying < min(untraced, left)) * is_counted
                flying, untraced = min(flying, left), min(untraced, left)
    return made_full, drained


# ---- the page


def section_of(compiler: Compiler) -> str:
    """Measure, and write one section of the page."""
    kernel = kernel_cost(compiler)
    lines = [
        f"## {title_of(compiler)}",
        "",
        f"`KTRACE_WAVE` alone: {kernel.plain} instructions become {kernel.enabled} (most of them"
        " run once, and only if the wave is recorded), SGPRs"
        f" {kernel.plain_sgpr} → {kernel.sgpr}, VGPRs {kernel.plain_vgpr} → {kernel.vgpr}; with"
        f" `KTRACE_RING` {kernel.ring} instructions and {kernel.ring_sgpr} SGPRs.",
        "",
        "| marker | instructions | SMEM | `s_nop` | `lgkmcnt(0)` | not recorded | partly active"
        " | eager | `KTRACE_RING` | in a wave branch | VALU there | SGPR | VGPR | VGPR there |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for marker in marker_costs(compiler):
        name, *numbers = vars(marker).values()
        signed = [f"{number:+d}" if number else "0" for number in numbers[-3:]]
        lines.append(f"| {name} | {' | '.join(map(str, [*numbers[:-3], *signed]))} |")
    lines += [
        "",
        "| pipelined loop | instructions | SALU | VALU | `lgkmcnt(0)` of markers"
        " | … of the compiler | partial waits"
        " | made full | LDS drained | MFMA after each marker | SGPR | VGPR"
        " | waves/SIMD |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [f"| {' | '.join(map(str, vars(loop).values()))} |" for loop in loop_costs(compiler)]
    return "\n".join([*lines, ""])


def sections_of(page: str) -> dict[str, str]:
    """Split the page's measured part by title."""
    parts = re.split(r"^(?=## gfx)", page, flags=re.MULTILINE)[1:]
    return {part.split("\n", 1)[0][3:]: part.rstrip("\n") + "\n" for part in parts}


def write_page() -> None:
    page = PAGE.read_text()
    sections = sections_of(page)
    for compiler in compilers():
        title = title_of(compiler)
        # A newer compiler replaces the older one of its kind.
        family = title.split(".")[0]
        sections = {t: s for t, s in sections.items() if t.split(".")[0] != family}
        sections[title] = section_of(compiler)
    introduction = re.split(r"^## gfx", page, maxsplit=1, flags=re.MULTILINE)[0]
    PAGE.write_text(introduction + "\n".join(sections[title] for title in sorted(sections)))


if __name__ == "__main__":
    write_page()
