"""Which class an instruction is of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktrace_cli.kernel_code.instructions import InstructionClass, classify, waited_counters

CASES = {
    "s_nop": ["s_nop 0"],
    "wait_vm": [
        "s_waitcnt vmcnt(0)", "s_waitcnt 0xf70", "s_waitcnt_vscnt null, 0x0",
        "s_wait_loadcnt 0x0", "s_wait_storecnt 0x0", "s_wait_samplecnt 0x0", "s_wait_bvhcnt 0x0",
        "s_waitcnt vmcnt(1) expcnt(0)",
    ],
    "wait_lgkm": [
        "s_waitcnt lgkmcnt(0)", "s_waitcnt 0xc07f", "s_wait_dscnt 0x0", "s_wait_kmcnt 0x0",
    ],
    "wait_vm_lgkm": [
        "s_waitcnt vmcnt(0) lgkmcnt(0)", "s_waitcnt vmcnt(3) & lgkmcnt(0)", "s_waitcnt 0",
        "s_wait_loadcnt_dscnt 0x0", "s_wait_storecnt_dscnt 0x102",
    ],
    "wait_other": [
        "s_waitcnt expcnt(0)", "s_wait_xcnt 0x0", "s_wait_idle", "s_waitcnt_depctr 0xfffe",
        "s_wait_alu 0xfffd", "s_waitcnt 0xcf7f",
    ],
    "barrier": ["s_barrier", "s_barrier_signal -1", "s_barrier_wait 0xffff"],
    "vmem_load": [
        "buffer_load_dwordx4 v[0:3], v4, s[0:3], 0 offen", "global_load_dwordx4 v[0:3], v[4:5]",
        "flat_load_dword v0, v[2:3]", "scratch_load_dword v0, off, s0", "tbuffer_load_format_x v0",
        "image_sample v[0:3], v[0:1], s[0:7], s[8:11]", "global_load_lds_dword v[0:1], off",
        "global_load_b128 v[0:3], v[4:5], off",
    ],
    "vmem_store": ["buffer_store_dword v0", "global_store_dword v[0:1], v2, off",
                   "flat_store_dword v[0:1], v2", "scratch_store_dword off, v0, s0",
                   "image_store v0"],
    "vmem_atomic": ["global_atomic_add v0, v1, s[2:3]", "buffer_atomic_pk_add_f16 v0",
                    "flat_atomic_cmpswap v[0:1], v[2:3]", "image_atomic_add v0"],
    "lds": ["ds_read_b64 v[0:1], v2", "ds_write2_b64 v0, v[1:2], v[3:4]", "ds_bpermute_b32 v0",
            "ds_add_u32 v0, v1", "ds_load_b128 v[0:3], v4", "lds_direct_load v0"],
    "smem": ["s_load_dwordx2 s[0:1], s[2:3], 0x0", "s_buffer_load_dword s0, s[4:7], 0x0",
             "s_buffer_store_dwordx2 vcc, s[12:15], s6", "s_store_dword s0, s[2:3], 0x0",
             "s_memtime vcc", "s_memrealtime s[0:1]", "s_dcache_wb", "s_atomic_add s0"],
    "mfma": ["v_mfma_f32_32x32x8_f16 v[0:15], v[16:17], v[18:19], v[0:15]",
             "v_smfmac_f32_16x16x32_f16 v[0:3]", "v_wmma_f32_16x16x16_f16 v[0:7]",
             "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3]", "v_swmmac_f32_16x16x32_f16 v[0:7]"],
    "valu": ["v_fma_f32 v0, v1, v2, v3", "v_accvgpr_read_b32 v0, a0", "v_mov_b32_e32 v0, 0",
             "v_dot2_f32_f16 v0, v1, v2, v3", "v_readfirstlane_b32 s0, v0"],
    "salu": ["s_mov_b32 s0, 0", "s_cmp_lg_u64 exec, s[2:3]", "s_getreg_b32 s0, hwreg(20)",
             "s_getpc_b64 s[0:1]", "s_and_saveexec_b64 s[0:1], vcc"],
    "branch": ["s_branch 12", "s_cbranch_scc1 65500", "s_setpc_b64 s[30:31]",
               "s_swappc_b64 s[30:31], s[0:1]", "s_call_b64 s[30:31], 4"],
    "message": ["s_endpgm", "s_sendmsg sendmsg(MSG_INTERRUPT)", "s_ttracedata"],
    "other": ["", "; kernel", "s_sleep 1", "s_setprio 1", "buffer_wbl2 sc1", "exp mrt0 v0",
              ".long 0x0"],
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_instructions_have_the_class_of_their_unit(name):
    assert {text: classify(text).value for text in CASES[name]} == dict.fromkeys(CASES[name], name)


def test_every_class_has_an_example():
    assert set(CASES) == {kind.value for kind in InstructionClass}


def test_case_and_surrounding_blanks_do_not_matter():
    assert classify("\tS_WAITCNT VMCNT(0) ") is InstructionClass.WAIT_VM


def test_a_wait_tells_the_counters_that_it_waits_for():
    assert waited_counters("s_waitcnt vmcnt(2) lgkmcnt(0)") == ("vmcnt", "lgkmcnt")
    assert waited_counters("s_wait_loadcnt_dscnt 0x0") == ("loadcnt", "dscnt")
    assert waited_counters("v_mov_b32 v0, 0") == ()


@given(st.text(max_size=60))
def test_any_text_has_a_class(text):
    assert classify(text) in set(InstructionClass)
