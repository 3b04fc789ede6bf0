// The instructions of an event on gfx90a, gfx942 and gfx950, and readings of the hardware. Knows no C++
// state; the rules that make them right are in amdgcn.hpp.
#pragma once

namespace ktrace {

using u32x4 = u32 __attribute__((ext_vector_type(4)));

// Scalar wherever the compiler can prove it; one v_readfirstlane where it cannot.
KTRACE_DEVICE u32 uniform(u32 value) {
  return static_cast<u32>(__builtin_amdgcn_readfirstlane(static_cast<int>(value)));
}
KTRACE_DEVICE u64 uniform(u64 value) {
  return u64{uniform(static_cast<u32>(value >> 32))} << 32 | uniform(static_cast<u32>(value));
}

KTRACE_DEVICE u64 active_lanes() { return __builtin_amdgcn_read_exec(); }

// Mask 0 or none: with any other mask clang 19 also drops the order of volatile asm and of memory accesses
// across the barrier, the user's own included, and MFMA still leaves its phase. The empty statement is for
// clang 19, whose scheduler frees memory twice where debug information (-g) follows a barrier directly.
KTRACE_DEVICE void fence() {
#ifndef KTRACE_NO_SCHED_BARRIER
  __builtin_amdgcn_sched_barrier(0);
  asm volatile("");
#endif
}

struct clocks {
  u64 memtime;
  u64 realtime;
};

// Scalar accesses with no other instruction between them may be replayed together (XNACK), so none may write
// what one before it reads. LLVM minds that for its own; blocks that begin or end with one keep their
// distance.
#define KTRACE_ASM_APART_ "s_nop 0\n\t"

// One block, so that nothing gets between the two readings.
KTRACE_DEVICE clocks read_clocks() {
  clocks now;
  asm volatile(KTRACE_ASM_APART_ "s_memtime %0\n\ts_memrealtime %1\n\ts_waitcnt lgkmcnt(0)"
               : "=&s"(now.memtime), "=&s"(now.realtime)::"memory");
  return now;
}

KTRACE_DEVICE u32 hardware_id() { return __builtin_amdgcn_s_getreg(4 | 31 << 11); }
KTRACE_DEVICE u32 xcc_id() {
#ifdef __gfx90a__
  return 0;  // has no such register: one die is one device
#else
  return __builtin_amdgcn_s_getreg(20 | 31 << 11);
#endif
}

// ---- Building blocks of an event. VCC is the only scratch: its halves have names, those of an operand have
// not. Operands: region, whole, cursor, slot (scratch; where a word goes), side_cursor (offset in the
// header), and with KTRACE_RING mask and base.

// The slow path goes to the end of the section, so that the fast path has one branch that is not taken. A
// branch reaches 128 KiB; past that the assembler says "branch size exceeds simm16", and KTRACE_INLINE_COLD
// helps at the price of one taken branch per event.
#ifdef KTRACE_INLINE_COLD
#define KTRACE_ASM_OUT_OF_LINE_ "\ts_branch .Lktrace_done%=\n"
#define KTRACE_ASM_BACK_ ""
#else
#define KTRACE_ASM_OUT_OF_LINE_ ".subsection 1\n"
#define KTRACE_ASM_BACK_ "\ts_branch .Lktrace_done%=\n.previous\n"
#endif

#define KTRACE_ASM_CHECK_ "s_cmp_lg_u64 exec, %[whole]\n\ts_cbranch_scc1 .Lktrace_cold%=\n\t"
#define KTRACE_ASM_IF_RECORDED_ "s_cmp_eq_u32 %[size], 0\n\ts_cbranch_scc1 .Lktrace_done%=\n\t"  // of a `ref`
#ifdef KTRACE_RING
#define KTRACE_ASM_STORE_                                                           \
  "s_and_b32 %[slot], %[cursor], %[mask]\n\ts_or_b32 %[slot], %[slot], %[base]\n\t" \
  "s_buffer_store_dwordx2 vcc, %[region], %[slot]\n\t"
#else
#define KTRACE_ASM_STORE_ "s_buffer_store_dwordx2 vcc, %[region], %[cursor]\n\t"
#endif
#ifdef KTRACE_RING  // 26 bits from bit 3 on
#define KTRACE_ASM_MAIN_NUMBER_ "s_bfe_u32 %[slot], %[cursor], 0x1a0003\n\t"
#else
#define KTRACE_ASM_MAIN_NUMBER_ "s_lshr_b32 %[slot], %[cursor], 3\n\t"
#endif
#define KTRACE_ASM_ADVANCE_ "s_add_u32 %[cursor], %[cursor], 8\n"
#define KTRACE_ASM_COLD_                                            \
  KTRACE_ASM_OUT_OF_LINE_                                           \
  ".Lktrace_cold%=:\n\ts_cmp_eq_u64 %[whole], 0\n\ts_cbranch_scc1 " \
  ".Lktrace_done%=\n\t"
#define KTRACE_ASM_END_ KTRACE_ASM_BACK_ ".Lktrace_done%=:"

// Documented, but it waits for every LDS and scalar memory operation in flight.
#define KTRACE_ASM_DRAIN_CLOCK_ "s_memtime vcc\n\ts_waitcnt lgkmcnt(0)\n\t"
#ifdef KTRACE_POLL_CLOCK
// Waits for this reading alone. No reading has an upper half of ~0; a lower half of ~0 has not landed yet or
// is real, and is drained to be sure. Not yet tried on hardware.
#define KTRACE_ASM_CLOCK_                                                                          \
  "s_mov_b64 vcc, -1\n\ts_memtime vcc\n.Lktrace_poll%=:\n\ts_cmp_eq_u32 vcc_hi, -1\n\t"            \
  "s_cbranch_scc1 .Lktrace_poll%=\n\ts_cmp_eq_u32 vcc_lo, -1\n\ts_cbranch_scc1 .Lktrace_drain%=\n" \
  ".Lktrace_landed%=:\n\t"
#define KTRACE_ASM_CLOCK_COLD_ \
  "\ts_branch .Lktrace_done%=\n.Lktrace_drain%=:\n\ts_waitcnt lgkmcnt(0)\n\ts_branch .Lktrace_landed%=\n"
#else
#define KTRACE_ASM_CLOCK_ KTRACE_ASM_DRAIN_CLOCK_
#define KTRACE_ASM_CLOCK_COLD_ ""
#endif

// Take a place in the side stream. Nothing is in flight afterwards, so VCC may be written again.
#define KTRACE_ASM_TAKE_SLOT_                                                                  \
  "s_buffer_load_dword %[slot], %[region], %[side_cursor]\n\ts_waitcnt lgkmcnt(0)\n\t"         \
  "s_sub_u32 vcc_lo, %[slot], 8\n\ts_buffer_store_dword vcc_lo, %[region], %[side_cursor]\n\t" \
  "s_waitcnt lgkmcnt(0)\n\t"
// A side word never overwrites a main word. It is dropped by an offset that the descriptor's bounds check
// refuses.
#define KTRACE_ASM_BOUND_ "s_cmp_lt_i32 %[slot], %[cursor]\n\ts_cselect_b32 %[slot], -16, %[slot]\n\t"
#define KTRACE_ASM_SIDE_SLOT_OF_REF_ KTRACE_ASM_TAKE_SLOT_ KTRACE_ASM_BOUND_
#ifdef KTRACE_RING  // a ring's main words are never below its side words; without one, `base` is 0
#define KTRACE_ASM_SIDE_SLOT_                                                     \
  KTRACE_ASM_TAKE_SLOT_                                                           \
  "s_cmp_eq_u32 %[base], 0\n\ts_cselect_b32 vcc_lo, %[cursor], %[first_word]\n\t" \
  "s_cmp_lt_i32 %[slot], vcc_lo\n\ts_cselect_b32 %[slot], -16, %[slot]\n\t"
#else
#define KTRACE_ASM_SIDE_SLOT_ KTRACE_ASM_SIDE_SLOT_OF_REF_
#endif
#define KTRACE_ASM_SIDE_STORE_ "s_buffer_store_dwordx2 vcc, %[region], %[slot]\n\t"

// Scalar stores stay in the scalar cache until they are written back, and the end of a kernel does not do it.
#define KTRACE_ASM_WRITE_BACK_ "s_waitcnt lgkmcnt(0)\n\ts_dcache_wb\n\ts_waitcnt lgkmcnt(0)\n"
// With KTRACE_CONTROL_EAGER the record must be in memory before the code goes on, which may be its last step.
#define KTRACE_ASM_IF_EAGER_WRITE_BACK_ \
  "s_cmp_eq_u64 %[whole], %[eager]\n\ts_cbranch_scc0 .Lktrace_done%=\n\t" KTRACE_ASM_WRITE_BACK_

// Move an "s" operand. From LLVM 22 on it may be a vector register nevertheless: LLVM drops the readfirstlane
// of a value that it knows to be the same in all lanes, also where a vector instruction computed it. The
// assembler sees which.
#define KTRACE_ASM_MOVE_(to, operand)                                                                   \
  ".set .Lktrace_vector, 0\n.irpc letter, " operand                                                     \
  "\n.ifc \\letter, v\n.set .Lktrace_vector, 1\n.endif\n.endr\n"                                        \
  ".if .Lktrace_vector\n\tv_readfirstlane_b32 " to ", " operand "\n.else\n\ts_mov_b32 " to ", " operand \
  "\n.endif\n\t"
#define KTRACE_ASM_BITS_ KTRACE_ASM_MOVE_("vcc_lo", "%[bits]")
#define KTRACE_ASM_TAG_ KTRACE_ASM_MOVE_("vcc_hi", "%[tag]")
// Two instructions, since one cannot hold two constants of 32 bits.
#define KTRACE_ASM_SIDE_BIT_ "s_or_b32 vcc_hi, vcc_hi, %[side_bit]\n\t"
#define KTRACE_ASM_SIDE_TAG_ KTRACE_ASM_TAG_ KTRACE_ASM_SIDE_BIT_

// Whole events. The second half of each is the slow path.
#define KTRACE_ASM_PUT_WORD_                                                                                \
  KTRACE_ASM_CHECK_ KTRACE_ASM_BITS_ KTRACE_ASM_TAG_ KTRACE_ASM_STORE_ KTRACE_ASM_ADVANCE_ KTRACE_ASM_COLD_ \
      KTRACE_ASM_SIDE_SLOT_ KTRACE_ASM_BITS_ KTRACE_ASM_SIDE_TAG_ KTRACE_ASM_SIDE_STORE_ KTRACE_ASM_END_
#define KTRACE_ASM_PUT_EVENT_(after_store, after_side_store)                                             \
  KTRACE_ASM_CHECK_ KTRACE_ASM_CLOCK_ KTRACE_ASM_TAG_ KTRACE_ASM_STORE_ after_store KTRACE_ASM_ADVANCE_  \
      KTRACE_ASM_COLD_ KTRACE_ASM_SIDE_SLOT_ KTRACE_ASM_DRAIN_CLOCK_ KTRACE_ASM_SIDE_TAG_                \
          KTRACE_ASM_SIDE_STORE_ after_side_store KTRACE_ASM_IF_EAGER_WRITE_BACK_ KTRACE_ASM_CLOCK_COLD_ \
              KTRACE_ASM_END_
// The wait keeps it apart from the access that follows.
#define KTRACE_ASM_PUT_LONG_BEGIN_                                                   \
  KTRACE_ASM_SIDE_SLOT_ KTRACE_ASM_BITS_ KTRACE_ASM_SIDE_TAG_ KTRACE_ASM_SIDE_STORE_ \
      "s_waitcnt lgkmcnt(0)\n\t"
#define KTRACE_ASM_BEGIN_SPAN_                                                                             \
  KTRACE_ASM_CHECK_ KTRACE_ASM_CLOCK_                                                                      \
      "s_mov_b32 %[slot], vcc_lo\n" KTRACE_ASM_COLD_                                                       \
      "s_cmp_eq_u64 %[whole], %[eager]\n\ts_cbranch_scc1 .Lktrace_eager%=\n\t" KTRACE_ASM_DRAIN_CLOCK_     \
      "s_mov_b32 %[slot], vcc_lo\n\ts_branch .Lktrace_done%=\n.Lktrace_eager%=:\n\t" KTRACE_ASM_TAKE_SLOT_ \
      "s_cmp_lt_i32 %[slot], %[first_word]\n\ts_cselect_b32 %[slot], -16, "                                \
      "%[slot]\n\t" KTRACE_ASM_DRAIN_CLOCK_ KTRACE_ASM_SIDE_TAG_ KTRACE_ASM_SIDE_STORE_                    \
          KTRACE_ASM_WRITE_BACK_ KTRACE_ASM_CLOCK_COLD_ KTRACE_ASM_END_
#define KTRACE_ASM_PUT_SPAN_                                                                              \
  KTRACE_ASM_CHECK_ KTRACE_ASM_CLOCK_                                                                     \
      "s_sub_u32 vcc_hi, vcc_lo, %[bits]\n\ts_cmp_ge_u32 vcc_hi, %[limit]\n\ts_cbranch_scc1 "             \
      ".Lktrace_long%=\n\t"                                                                               \
      "s_or_b32 vcc_hi, vcc_hi, %[span_tag]\n.Lktrace_put%=:\n\t" KTRACE_ASM_STORE_                       \
          KTRACE_ASM_ADVANCE_ KTRACE_ASM_COLD_                                                            \
      "s_cmp_eq_u64 %[whole], %[eager]\n\ts_cbranch_scc1 .Lktrace_eager%=\n\t" KTRACE_ASM_PUT_LONG_BEGIN_ \
      ".Lktrace_eager%=:\n\t" KTRACE_ASM_SIDE_SLOT_ KTRACE_ASM_DRAIN_CLOCK_                               \
      "s_mov_b32 vcc_hi, %[end_tag]\n\t" KTRACE_ASM_SIDE_BIT_                                             \
          KTRACE_ASM_SIDE_STORE_ KTRACE_ASM_IF_EAGER_WRITE_BACK_                                          \
      "s_branch .Lktrace_done%=\n"                                                                        \
      ".Lktrace_long%=:\n\t" KTRACE_ASM_PUT_LONG_BEGIN_ KTRACE_ASM_DRAIN_CLOCK_                           \
      "s_mov_b32 vcc_hi, %[end_tag]\n\ts_branch .Lktrace_put%=\n" KTRACE_ASM_CLOCK_COLD_ KTRACE_ASM_END_
#define KTRACE_ASM_PUT_SIDE_(clock_half, after_side_store)                             \
  KTRACE_ASM_IF_RECORDED_ KTRACE_ASM_SIDE_SLOT_OF_REF_ clock_half KTRACE_ASM_SIDE_TAG_ \
      KTRACE_ASM_SIDE_STORE_ after_side_store KTRACE_ASM_APART_ "\n.Lktrace_done%=:"
#define KTRACE_ASM_IF_EAGER_REF_WRITE_BACK_ \
  "s_bitcmp1_b32 %[high], %[eager_bit]\n\ts_cbranch_scc0 .Lktrace_done%=\n\t" KTRACE_ASM_WRITE_BACK_

#define KTRACE_ASM_OUTPUTS_ [cursor] "+s"(m_cursor), [slot] "=&s"(slot)
#define KTRACE_ASM_FIELD_(name) [name] "i"(__builtin_offsetof(ktrace_wave_header, name))
#define KTRACE_ASM_INPUTS_(descriptor) \
  [region] "s"(descriptor), KTRACE_ASM_FIELD_(side_cursor), [side_bit] "i"(KTRACE_TAG_SIDE)
#define KTRACE_ASM_INPUTS_OF_WAVE_ \
  KTRACE_ASM_INPUTS_(m_region), [whole] "s"(m_whole), [eager] "i"(eager_whole)KTRACE_ASM_RING_INPUTS_
#ifdef KTRACE_RING
#define KTRACE_ASM_RING_INPUTS_ \
  , [mask] "s"(m_mask), [base] "s"(m_base), [first_word] "i"(KTRACE_REGION_HEADER)
#else
#define KTRACE_ASM_RING_INPUTS_
#endif
#define KTRACE_ASM_CLOBBERS_ "vcc", "scc", "memory"

static constexpr u32 descriptor_format =
    0x00027000;  // word 3 of a raw buffer; scalar accesses check only the size
// `whole` of a wave with KTRACE_CONTROL_EAGER: no EXEC in practice, so that every event takes the slow path,
// and a literal of 32 bits. If EXEC ever is, that event is a main word, which is right, but not eager.
static constexpr u64 eager_whole = 0x5a3c96e1;
// The same for a `ref`: a bit in the upper half of the address (cache swizzle) that scalar accesses ignore.
static constexpr u32 eager_bit = 30;

}  // namespace ktrace
