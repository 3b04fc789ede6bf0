"""In which phase instructions lie, along the control flow, and what markers are made of."""

import re
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from ktrace_cli.annotate.instructions import Payload, event_tag
from ktrace_cli.annotate.instructions import event as asm_event
from ktrace_cli.code_object.reader import read_code_object
from ktrace_cli.kernel_code.inspection import inspect_kernel
from ktrace_cli.kernel_code.machine_code import Instruction, MachineCode
from ktrace_cli.kernel_code.moved import Moved, find_moved
from ktrace_cli.kernel_code.objdump import parse_objdump
from ktrace_cli.kernel_code.phases import PhaseMap, map_phases
from ktrace_cli.trace_file.layout import Kind
from support.disassembling import SAMPLES, listing
from support.machine_code import START, KernelText, annotated, event


def mapped(text: KernelText, *events: object) -> tuple[dict[str, list[str]], PhaseMap]:
    """Return the instructions of each phase, in order, and the map."""
    code, inside = text.code()
    code_object, kernel = annotated(events, inside)
    phases = map_phases(code, code_object, kernel)
    found: dict[str, list[str]] = {}
    for one in code.instructions:
        if one.address in phases.place_by_address:
            found.setdefault(phases.phase_at(one.address), []).append(one.text)
    return found, phases


LOAD, MMA, TILE = event(1, "load"), event(2, "mma"), event(3, "tile", Kind.RANGE)
OUTER = event(4, "outer", Kind.PUSH)
FETCH = event(5, "fetch", Kind.START)


def test_a_phase_lasts_until_the_next_one():
    text = KernelText().add("s_mov_b32 s0, 0").marker(Kind.PHASE, 1).add("s_mov_b32 s1, 1")
    text.marker(Kind.PHASE, 2).add("s_mov_b32 s2, 2").marker(Kind.PHASE_END)
    text.add("s_mov_b32 s3, 3", "s_endpgm")

    found, phases = mapped(text, LOAD, MMA)

    assert found == {
        "": ["s_mov_b32 s0, 0", "s_mov_b32 s3, 3", "s_endpgm"],
        "load": ["s_mov_b32 s1, 1"],
        "mma": ["s_mov_b32 s2, 2"],
    }
    assert [(m.name, m.kind) for m in phases.markers] == [
        ("load", "phase"), ("mma", "phase"), ("phase end", ""),
    ]  # fmt: skip
    assert phases.unreached == ()


def test_ranges_nest_and_a_phase_ends_with_the_range_it_began_in():
    text = KernelText().marker(Kind.PUSH, 4).add("s_mov_b32 s0, 0").marker(Kind.PHASE, 1)
    text.add("s_mov_b32 s1, 1").marker(Kind.RANGE, 3).add("s_mov_b32 s2, 2")
    text.marker(Kind.LONG_END, 3).add("s_mov_b32 s3, 3").marker(Kind.POP)
    text.add("s_mov_b32 s4, 4", "s_endpgm")

    found, _ = mapped(text, LOAD, TILE, OUTER)

    assert found == {
        "outer": ["s_mov_b32 s0, 0"],
        "outer > load": ["s_mov_b32 s1, 1", "s_mov_b32 s3, 3"],
        "outer > load > tile": ["s_mov_b32 s2, 2"],
        "": ["s_mov_b32 s4, 4", "s_endpgm"],
    }


def test_what_a_loop_reaches_in_two_phases_is_ambiguous_and_names_both():
    text = KernelText().add("loop:", "s_mov_b32 s0, 0").marker(Kind.PHASE, 1)
    text.add("s_mov_b32 s1, 1", "s_cbranch_scc1 @loop").marker(Kind.PHASE_END).add("s_endpgm")

    found, phases = mapped(text, LOAD)

    assert found == {
        "outside or load": ["s_mov_b32 s0, 0"],
        "load": ["s_mov_b32 s1, 1", "s_cbranch_scc1 65526"],
        "": ["s_endpgm"],
    }
    assert phases.is_ambiguous(START)
    assert phases.phase_at(START) == "outside or load"


def test_branches_of_two_roles_keep_their_phases_apart():
    text = KernelText().add("s_cbranch_scc0 @other").marker(Kind.PHASE, 1).add("s_mov_b32 s0, 0")
    text.marker(Kind.PHASE_END).add("s_branch @end", "other:").marker(Kind.PHASE, 2)
    text.add("s_mov_b32 s1, 1").marker(Kind.PHASE_END).add("end:", "s_endpgm")

    found, phases = mapped(text, LOAD, MMA)

    assert found["load"] == ["s_mov_b32 s0, 0"]
    assert found["mma"] == ["s_mov_b32 s1, 1"]
    assert found[""][-1] == "s_endpgm"
    assert not any(place.is_ambiguous for place in phases.place_by_address.values())


def test_a_start_is_open_until_its_stop_across_phases():
    text = KernelText().marker(Kind.START, 5).add("s_mov_b32 s0, 0").marker(Kind.PHASE, 1)
    text.add("s_mov_b32 s1, 1", "s_or_b32 s8, s4, 0x28000000")
    text.marker(Kind.STOP, setting="s_mov_b32 vcc_hi, s8").add("s_mov_b32 s2, 2", "s_endpgm")

    code, inside = text.code()
    _, phases = mapped(text, LOAD, FETCH)

    opened = [one.text for one in code.within(inside) if one.address in phases.open_by_address]
    plain = [text for text in opened if text.startswith("s_mov_b32 s") and "vcc" not in text]
    assert plain == ["s_mov_b32 s0, 0", "s_mov_b32 s1, 1"]
    assert set(phases.open_by_address.values()) == {("fetch",)}


def test_a_stop_that_is_skipped_without_a_token_leaves_nothing_open():
    # The first time round nothing has been started, and the branch passes the STOP by.
    text = KernelText().add("loop:", "s_cmp_eq_u32 s4, -1", "s_cbranch_scc1 @done1")
    text.add("s_or_b32 s8, s4, 0x28000000").marker(Kind.STOP, setting="s_mov_b32 vcc_hi, s8")
    text.add("s_mov_b32 s0, 0").marker(Kind.START, 5).add("s_cbranch_scc1 @loop", "s_endpgm")

    code, _ = text.code()
    _, phases = mapped(text, FETCH)

    opened = {one.text for one in code.instructions if one.address in phases.open_by_address}
    assert "s_mov_b32 s0, 0" not in opened
    assert "s_endpgm" in opened


def test_markers_that_are_written_otherwise_count_from_their_note():
    text = KernelText().add("s_mov_b32 s0, 0", "s_mov_b32 s1, 1", "s_endpgm")

    found, phases = mapped(text, event(1, "load", Kind.PHASE, START + 4))

    assert found == {"": ["s_mov_b32 s0, 0"], "load": ["s_mov_b32 s1, 1", "s_endpgm"]}
    assert phases.unrecognized == ("load",)


def test_markers_of_annotations_in_python_are_recognized():
    tags = [event_tag(Kind.PHASE, 1), event_tag(Kind.PHASE_END, 0)]
    text = KernelText().add("s_mov_b32 s0, 0")
    for number, (tag, payload) in enumerate(zip(tags, [[Payload("v0", 1)], []], strict=True)):
        written = asm_event("s70", "s[60:61]", "s62", tag, payload)
        lines = [re.sub(r"^\.L|\$\{:uid\}", "", line) for line in written.splitlines()]
        lines = [re.sub(r" \.L(\w+)", r" @\1", line) for line in lines]
        lines = [re.sub(r"ktrace_\w+", rf"\g<0>_{number}", line) for line in lines]
        slow = lines.index(".subsection 1"), lines.index(".previous")
        text.add(*lines[: slow[0]], *lines[slow[1] + 1 :], f"s_mov_b32 s{number + 1}, 1")
        text.slow += lines[slow[0] + 1 : slow[1]]
    text.add("s_endpgm")

    found, phases = mapped(text, LOAD)

    assert found["load"] == ["s_mov_b32 s1, 1"]
    assert found[""] == ["s_mov_b32 s0, 0", "s_mov_b32 s2, 1", "s_endpgm"]
    assert [(marker.name, len(marker.blocks)) for marker in phases.markers] == [
        ("load", 1),
        ("phase end", 1),
    ]
    assert phases.unrecognized == ()


def test_calls_return_and_long_jumps_are_followed():
    text = KernelText().add("s_swappc_b64 s[30:31], s[0:1]", "s_getpc_b64 s[4:5]")
    text.add("s_add_u32 s4, s4, 0x10", "s_addc_u32 s5, s5, 0", "s_setpc_b64 s[4:5]")
    text.add("s_mov_b32 s9, 9", "s_mov_b32 s0, 0", "s_setpc_b64 s[40:41]")

    found, phases = mapped(text)

    assert "s_mov_b32 s0, 0" in found[""]
    assert "s_mov_b32 s9, 9" not in found[""]
    assert phases.unreached == (START + 20,)
    assert phases.unknown_jumps == (START + 28,)


def test_a_kernel_whose_code_is_missing_has_no_phase():
    code_object, kernel = annotated([LOAD], range(0x9000, 0x9100))
    code = MachineCode("test", (Instruction(START, 4, "s_endpgm"),))

    found = inspect_kernel(code, code_object, kernel)

    assert found.phases == ()
    assert found.notices == ("its code is not in this file, or was not disassembled",)


@given(
    st.lists(st.sampled_from(["push", "pop", "phase", "range", "loop", "end", "x"]), max_size=30)
)
def test_any_nesting_of_markers_comes_to_an_end(steps):
    text, first = KernelText().add("start:"), "start"
    for number, step in enumerate(steps):
        if step == "loop":
            text.add(f"loop{number}:", "s_nop 0", f"s_cbranch_scc1 @{first}")
            first = f"loop{number}"
        elif step == "x":
            text.add("s_mov_b32 s0, 0")
        else:
            kinds = {"push": Kind.PUSH, "pop": Kind.POP, "phase": Kind.PHASE, "range": Kind.RANGE}
            text.marker(kinds.get(step, Kind.LONG_END), 3 if step in ("range", "end") else 4)
    text.add("s_endpgm")

    found, phases = mapped(text, LOAD, TILE, OUTER)

    assert phases.unreached == ()
    assert "s_endpgm" in [line for lines in found.values() for line in lines]


ANY_LINE = st.sampled_from(
    [
        "s_cmp_lg_u64 exec, s[2:3]", "s_cmp_eq_u64 s[2:3], 0", "s_cmp_le_i32 s4, 0", "s_nop 0",
        "s_cmp_eq_u32 s4, 0", "s_memtime vcc", "s_mov_b32 vcc_hi, 0x30000001", "s_endpgm",
        "s_or_b32 vcc_hi, vcc_hi, 0x80300000", "s_mov_b32 vcc_hi, s8", "s_setpc_b64 s[4:5]",
        "s_getpc_b64 s[4:5]", "s_add_u32 s4, s4, 0x10", "s_buffer_store_dwordx2 vcc, s[12:15], s6",
        "s_or_b32 s8, s4, 0x28000000", "s_bitcmp0_b32 exec_lo, 0", "s_dcache_wb", "", "s_branch x",
    ]
)  # fmt: skip
ANY_BRANCH = st.builds(
    "{} {}".format, st.sampled_from(["s_cbranch_scc1", "s_branch"]), st.integers(0, 0x1FFFF)
)
NEAR_BRANCH = st.builds("s_cbranch_scc1 {}".format, st.integers(0, 12))


@given(st.lists(st.one_of(ANY_LINE, NEAR_BRANCH, ANY_BRANCH), min_size=1, max_size=40))
def test_any_instructions_are_inspected_without_an_exception(lines):
    text = KernelText().add(*lines)
    code, inside = text.code()
    code_object, kernel = annotated([LOAD, TILE, FETCH], inside)

    found = inspect_kernel(code, code_object, kernel)

    counted = sum(phase.instructions for phase in found.phases)
    assert counted <= found.instructions <= len(lines)


def test_a_push_in_a_loop_that_nothing_pops_is_not_followed_for_ever():
    text = KernelText().add("loop:").marker(Kind.PUSH, 4).add("s_cbranch_scc1 @loop", "s_endpgm")

    found, phases = mapped(text, OUTER)

    assert list(found) == ["many phases or outside"]
    assert all(place.is_ambiguous for place in phases.place_by_address.values())


def gemm():
    code_object = read_code_object((SAMPLES / "gemm" / "gemm.gfx942.co").read_bytes())
    code = parse_objdump(listing("gemm.gfx942.co"), "llvm-objdump")
    return code, code_object, code_object.kernels[0]


def test_the_gemm_samples_phases_have_the_mix_that_its_listing_shows():
    code, code_object, kernel = gemm()

    found = inspect_kernel(code, code_object, kernel)

    mixes = {
        phase.label: {kind.value: number for kind, number in phase.mix.items()}
        for phase in found.phases
    }
    # Counted by hand between the addresses 0x2128 and 0x21f0 of the listing.
    assert mixes["mma > k_tile"] == {
        "s_nop": 1, "wait_lgkm": 2, "lds": 6, "mfma": 8, "valu": 5, "salu": 3,
    }  # fmt: skip
    assert mixes["wait"] == {"wait_lgkm": 1, "barrier": 1}
    assert (mixes["store"]["vmem_store"], mixes["round"]["vmem_load"]) == (32, 8)
    assert mixes["round"]["lds"] == 4
    (load,) = found.overlapping
    assert (load.label, load.instructions) == ("load", 24)


def test_every_instruction_of_the_gemm_sample_is_counted_once():
    code, code_object, kernel = gemm()

    found = inspect_kernel(code, code_object, kernel)

    assert sum(phase.instructions for phase in found.phases) == found.instructions == 540
    assert (found.marker_instructions, found.slow_instructions) == (161, 482)
    fast_and_own = found.instructions + found.marker_instructions
    assert fast_and_own == len(code.within(kernel.code))
    # All else in the section is the markers' slow paths, and a branch behind each of three spans
    # that nothing reaches.
    assert len(code.instructions) - fast_and_own == found.slow_instructions + 3


def test_markers_of_the_gemm_sample_have_the_instructions_of_the_cost_model():
    found = inspect_kernel(*gemm())

    cost = {marker.name: marker for marker in found.markers}
    assert (cost["wait"].instructions, cost["wait"].waits) == (7, 1)
    assert (cost["stored"].blocks, cost["stored"].instructions) == (2, 13)
    assert {name for name in cost if not cost[name].kind} == {"stop", "phase end", "wave"}


def moved_in(lines: list[tuple[str, int]], text: KernelText, *events: object) -> tuple[Moved, ...]:
    """Find what was moved where instructions of a text have source lines."""
    code, inside = text.code()
    line_of = dict(lines)
    with_lines = MachineCode(
        "test",
        tuple(
            Instruction(one.address, 4, one.text, "/src/k.hip", line_of.get(one.text, 0), "k")
            for one in code.instructions
        ),
    )
    code_object, kernel = annotated(events, inside)
    phases = map_phases(with_lines, code_object, kernel)
    own = [one for one in with_lines.instructions if one.address in phases.place_by_address]
    return find_moved(own, phases, code_object.events)


def test_an_instruction_of_a_phases_line_outside_of_it_was_moved():
    text = KernelText().add("v_mov_b32 v0, 0", "v_mov_b32 v9, 9").marker(Kind.PHASE, 1)
    text.add("v_mov_b32 v1, 1", "v_mov_b32 v2, 2").marker(Kind.PHASE, 2)
    text.add("v_mov_b32 v3, 3", "v_mov_b32 v4, 4", "s_endpgm")
    lines = [("v_mov_b32 v9, 9", 5), ("v_mov_b32 v1, 1", 11), ("v_mov_b32 v2, 2", 14),
             ("v_mov_b32 v0, 0", 12), ("v_mov_b32 v3, 3", 21), ("v_mov_b32 v4, 4", 13)]  # fmt: skip

    found = moved_in(lines, text, event(1, "load", line=10), event(2, "mma", line=20))

    assert found == (
        Moved("load", "/src/k.hip", 12, "", 1),
        Moved("load", "/src/k.hip", 13, "mma", 1),
    )


def test_where_nothing_moved_nothing_is_found():
    text = KernelText().marker(Kind.PHASE, 1).add("v_mov_b32 v1, 1").marker(Kind.PHASE_END)
    text.add("v_mov_b32 v2, 2", "s_endpgm")

    found = moved_in(
        [("v_mov_b32 v1, 1", 11), ("v_mov_b32 v2, 2", 30)], text, event(1, "load", line=10)
    )

    assert found == ()


def test_the_classes_of_the_whole_gemm_listing_are_those_of_its_mnemonics():
    code, _, _ = gemm()

    kinds = Counter(one.kind.value for one in code.instructions)

    assert kinds["mfma"] == sum("v_mfma" in line for line in listing("gemm.gfx942.co"))
    assert kinds["lds"] == sum("\tds_" in line for line in listing("gemm.gfx942.co"))
    assert sum(kinds.values()) == len(code.instructions) == 1186
