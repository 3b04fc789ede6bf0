// How a wave writes its words on gfx90a, gfx942 and gfx950. Knows no name and no note; ktrace.hpp includes
// it.
//
// A wave holds seven scalar registers: the buffer descriptor of its region (4), `whole` (2) and the main
// cursor (1). `whole` is EXEC as KTRACE_WAVE found it, or 0 in a wave that is not recorded, or `eager_whole`
// in one whose words must all be in memory at once. One rule makes every control flow right:
//
//     the cursor changes only while EXEC == whole.
//
// So all lanes hold the same cursor wherever the compiler merges control flow, and reading it from any lane
// is exact. An event with fewer lanes appends to the side stream instead, whose cursor is in memory. EXEC is
// never 0 where code runs, so the same compare finds the wave that is not recorded, and the one that is
// eager: its events all go to the side stream, and are written back there.
//
// With KTRACE_RING there are two more: a main word goes to `(cursor & mask) | base`. Where the launch asked
// for a ring, that is the upper half of the region, again and again; else it is the cursor.
#pragma once

#include "amdgcn_asm.hpp"

namespace ktrace {

// What a function that is not inlined gets, by value: nothing of the kernel's `wave` escapes, so that its
// state stays in registers. It knows neither the newest cursor nor the kernel's unit, so every event goes to
// the side stream and says which unit its id belongs to.
class ref {
 public:
  KTRACE_DEVICE ref(u32x4 region, u32 cursor)
      : m_low(region.x), m_high(region.y), m_size(region.z), m_cursor(cursor) {}

  KTRACE_DEVICE void name_unit() { word<value_tag(KTRACE_VALUE_UNIT)>(static_cast<u32>(unit_key)); }

  template <u32 tag>
  KTRACE_DEVICE void word(u32 bits) {
    word(bits, tag);
  }
  KTRACE_DEVICE void word(u32 bits, u32 tag) {
    u32 slot;
    m_cursor = uniform(m_cursor);
    asm volatile(KTRACE_ASM_PUT_SIDE_(KTRACE_ASM_BITS_, "")
                 : KTRACE_ASM_OUTPUTS_
                 : KTRACE_ASM_INPUTS_(region()), [size] "s"(uniform(m_size)), [bits] "s"(uniform(bits)),
                   [tag] "s"(uniform(tag))
                 : KTRACE_ASM_CLOBBERS_);
  }
  template <u32 tag>
  KTRACE_DEVICE void event() {
    put_event(tag);
  }
  KTRACE_DEVICE void event(u32 tag) { put_event(tag); }
  template <u32 tag>
  KTRACE_DEVICE u32 start() {
    return put_event(tag) >> 3 & KTRACE_TAG_ID_MASK;
  }

  // As in `wave`: undefined where the wave is not recorded, or eager.
  template <u32 id>
  KTRACE_DEVICE u32 range_begin() {
    u32 begin = 0;
    if (is_eager()) {
      name_unit();
      put_event(event_tag(KTRACE_KIND_LONG_BEGIN, id));
      return begin;
    }
    asm volatile(KTRACE_ASM_IF_RECORDED_ KTRACE_ASM_DRAIN_CLOCK_
                 "s_mov_b32 %[begin], vcc_lo\n.Lktrace_done%=:"
                 : [begin] "=&s"(begin)
                 : [size] "s"(uniform(m_size))
                 : KTRACE_ASM_CLOBBERS_);
    return begin;
  }
  template <u32 id, class Values>
  KTRACE_DEVICE void range_end(u32 begin, Values values) {
    if (!is_eager()) {
      name_unit();
      word<event_tag(KTRACE_KIND_LONG_BEGIN, id)>(begin);
    }
    name_unit();
    values.write(*this);
    event<event_tag(KTRACE_KIND_LONG_END, id)>();
  }

 private:
  KTRACE_DEVICE bool is_eager() const { return (uniform(m_high) >> eager_bit & 1) != 0; }
  KTRACE_DEVICE u32 put_event(u32 tag) {
    u32 slot;
    m_cursor = uniform(m_cursor);
    asm volatile(KTRACE_ASM_PUT_SIDE_(KTRACE_ASM_DRAIN_CLOCK_, KTRACE_ASM_IF_EAGER_REF_WRITE_BACK_)
                 : KTRACE_ASM_OUTPUTS_
                 : KTRACE_ASM_INPUTS_(region()), [size] "s"(uniform(m_size)), [tag] "s"(uniform(tag)),
                   [high] "s"(uniform(m_high)), [eager_bit] "i"(eager_bit)
                 : KTRACE_ASM_CLOBBERS_);
    return slot;
  }
  // The lanes agree on every member; a call passes them in vector registers nevertheless.
  KTRACE_DEVICE u32x4 region() const {
    return u32x4{uniform(m_low), uniform(m_high), uniform(m_size), descriptor_format};
  }

  u32 m_low;     // address of the region
  u32 m_high;    // and `eager_bit`
  u32 m_size;    // of the region; 0: the wave is not recorded
  u32 m_cursor;  // the kernel's at the call: side words stop there. It also chains the asm blocks
};

// In a namespace of this unit alone: its events' ids are of this unit, so the linker must never pair a
// function that takes a `wave` with a caller from another one.
namespace {

class wave {
 public:
  KTRACE_DEVICE explicit wave(sink target) : m_region{0, 0, 0, descriptor_format} {
    if (target.control != nullptr) {
      begin(target);
    }
    // Where the compiler would merge these into vector registers, this keeps them scalar; elsewhere it is
    // nothing.
    m_region = u32x4{uniform(m_region.x), uniform(m_region.y), uniform(m_region.z), descriptor_format};
    m_whole = uniform(m_whole);
#ifdef KTRACE_RING
    m_mask = uniform(m_mask);
    m_base = uniform(m_base);
#endif
  }
  KTRACE_DEVICE ~wave() { finish(); }
  wave(const wave&) = delete;
  wave& operator=(const wave&) = delete;

#ifdef KTRACE_RING
  KTRACE_DEVICE ref side() const { return ref(m_region, m_base != 0 ? u32{KTRACE_REGION_HEADER} : m_cursor); }
#else
  KTRACE_DEVICE ref side() const { return ref(m_region, m_cursor); }
#endif
  KTRACE_DEVICE void name_unit() {}  // ids are of the kernel's unit

  // A word that is known already: a payload before its event.
  template <u32 tag>
  KTRACE_DEVICE void word(u32 bits) {
    u32 slot;
    m_cursor = uniform(m_cursor);
    asm volatile(KTRACE_ASM_PUT_WORD_
                 : KTRACE_ASM_OUTPUTS_
                 : KTRACE_ASM_INPUTS_OF_WAVE_, [bits] "s"(uniform(bits)), [tag] "i"(tag)
                 : KTRACE_ASM_CLOBBERS_);
  }
  KTRACE_DEVICE void word(u32 bits, u32 tag) {
    u32 slot;
    m_cursor = uniform(m_cursor);
    asm volatile(KTRACE_ASM_PUT_WORD_
                 : KTRACE_ASM_OUTPUTS_
                 : KTRACE_ASM_INPUTS_OF_WAVE_, [bits] "s"(uniform(bits)), [tag] "s"(uniform(tag))
                 : KTRACE_ASM_CLOBBERS_);
  }

  template <u32 tag>
  KTRACE_DEVICE void event() {
    u32 slot;
    m_cursor = uniform(m_cursor);
    asm volatile(KTRACE_ASM_PUT_EVENT_("", "")
                 : KTRACE_ASM_OUTPUTS_
                 : KTRACE_ASM_INPUTS_OF_WAVE_, [tag] "i"(tag)
                 : KTRACE_ASM_CLOBBERS_);
  }
  KTRACE_DEVICE void event(u32 tag) {
    u32 slot;
    m_cursor = uniform(m_cursor);
    asm volatile(KTRACE_ASM_PUT_EVENT_("", "")
                 : KTRACE_ASM_OUTPUTS_
                 : KTRACE_ASM_INPUTS_OF_WAVE_, [tag] "s"(uniform(tag))
                 : KTRACE_ASM_CLOBBERS_);
  }
  // Also returns where its word went, as a word number. A number past 26 bits needs no mask but in a ring:
  // nothing that the wave writes after it finds room. A dropped side word's number would reach the kind, so
  // that one is masked.
  template <u32 tag>
  KTRACE_DEVICE u32 start() {
    u32 slot;
    m_cursor = uniform(m_cursor);
    asm volatile(
        KTRACE_ASM_PUT_EVENT_(KTRACE_ASM_MAIN_NUMBER_,
                              "s_lshr_b32 %[slot], %[slot], 3\n\ts_and_b32 %[slot], %[slot], %[id_mask]\n")
        : KTRACE_ASM_OUTPUTS_
        : KTRACE_ASM_INPUTS_OF_WAVE_, [tag] "i"(tag), [id_mask] "i"(KTRACE_TAG_ID_MASK)
        : KTRACE_ASM_CLOBBERS_);
    return slot;
  }

  // Changes nothing but the side stream of an eager wave, where what is open must be known. Its result is
  // undefined there and where the wave is not recorded, and then not used.
  template <u32 id>
  KTRACE_DEVICE u32 range_begin() const {
    u32 begin;
    asm volatile(KTRACE_ASM_BEGIN_SPAN_
                 : [slot] "=&s"(begin)
                 : KTRACE_ASM_INPUTS_(m_region), [whole] "s"(m_whole), [eager] "i"(eager_whole),
                   [first_word] "i"(KTRACE_REGION_HEADER), [tag] "i"(event_tag(KTRACE_KIND_LONG_BEGIN, id))
                 : KTRACE_ASM_CLOBBERS_);
    return begin;
  }

  // Half of a span word is its end, so that both streams are in the order of their clocks. One that does not
  // fit, or ends with fewer lanes, becomes two words; its begin goes to the side stream, where an old clock
  // does no harm.
  template <u32 id, class Values>
  KTRACE_DEVICE void range_end(u32 begin, Values values) {
    values.write(*this);
    u32 slot;
    m_cursor = uniform(m_cursor);
    asm volatile(
        KTRACE_ASM_PUT_SPAN_
        : KTRACE_ASM_OUTPUTS_
        : KTRACE_ASM_INPUTS_OF_WAVE_, [bits] "s"(uniform(begin)), [limit] "i"(KTRACE_SPAN_LIMIT),
          [span_tag] "i"(KTRACE_TAG_SPAN | id << KTRACE_SPAN_ID_SHIFT),
          [tag] "i"(event_tag(KTRACE_KIND_LONG_BEGIN, id)), [end_tag] "i"(event_tag(KTRACE_KIND_LONG_END, id))
        : KTRACE_ASM_CLOBBERS_);
  }

 private:
  KTRACE_DEVICE void begin(sink target) {
    // The constant address space: scalar loads, also where the kernel's own stores come first.
    const auto& control = *(const __attribute__((address_space(4))) ktrace_control*)target.control;
    const u32 block[3] = {__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
                          __builtin_amdgcn_workgroup_id_z()};
    const u32 item = uniform(__builtin_amdgcn_workitem_id_x()) +
                     control.block[0] * (uniform(__builtin_amdgcn_workitem_id_y()) +
                                         control.block[1] * uniform(__builtin_amdgcn_workitem_id_z()));
    const u32 wave_in_block = item / KTRACE_WAVE_SIZE;
    const u32 xcc = xcc_id();
    // No short circuit: one branch, and the loads may be merged. A load behind the branch made LLVM 22 give
    // the kernel's own loops more registers.
    const u32 flags = control.flags;
    bool recorded = control.magic == KTRACE_CONTROL_MAGIC & control.abi_version == KTRACE_ABI_VERSION;
    recorded &= (control.wave_mask >> (wave_in_block < 31 ? wave_in_block : 31) &
                 control.xcc_mask >> (xcc & 31) & 1) != 0;
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
      recorded &= block[axis] >= control.block_lo[axis];
      recorded &= block[axis] < control.block_hi[axis];
      recorded &= ((block[axis] - control.block_lo[axis]) & control.block_stride_mask[axis]) == 0;
    }
    if (!recorded) {
      return;
    }
    u32 slot =
        (block[0] + control.grid[0] * (block[1] + control.grid[1] * block[2])) * control.waves_per_block +
        wave_in_block;
    if (control.mode == KTRACE_MODE_CLAIM) {
      slot = claim(target);
    }
    if (slot >= control.wave_slots) {
      return;
    }
    const u64 address = control.regions + (u64{slot} << control.region_log2);
    const u32 size = 1u << control.region_log2;
    const bool is_eager = (flags & KTRACE_CONTROL_EAGER) != 0;
    const u32 high = (static_cast<u32>(address >> 32) & 0xffff) | (is_eager ? 1u << eager_bit : 0);
    m_region = u32x4{uniform(static_cast<u32>(address)), uniform(high), uniform(size), descriptor_format};
    m_whole = is_eager ? eager_whole : active_lanes();
    const u32 side_end = begin_ring(flags, size);
    // A wave that ended may begin again, in a loop or on the other side of a branch: it goes on where it was.
    const u32x4 before = load_state();
    const bool is_new = before.x != KTRACE_WAVE_ENDED | before.w != control.dispatch;
    store<__builtin_offsetof(ktrace_wave_header, state)>(
        u32x4{KTRACE_WAVE_BEGUN, is_new ? side_end - 8 : before.y, 0, control.dispatch});
    if (!is_new) {
      m_cursor = before.z;
      return;
    }
    const clocks now = read_clocks();
    store<__builtin_offsetof(ktrace_wave_header, block)>(u32x4{block[0], block[1], block[2], wave_in_block});
    store<__builtin_offsetof(ktrace_wave_header, hw_id_begin)>(u32x4{hardware_id(), xcc, 0, 0});
    store<__builtin_offsetof(ktrace_wave_header, memtime_begin)>(halves(now.memtime, now.realtime));
    store<__builtin_offsetof(ktrace_wave_header, exec_begin)>(halves(active_lanes(), 0));
    asm volatile(
        KTRACE_ASM_IF_EAGER_WRITE_BACK_ ".Lktrace_done%=:" ::[whole] "s"(m_whole), [eager] "i"(eager_whole)
        : "scc", "memory");
  }

  // Where the side words end: a ring has the upper half of the region for itself.
  KTRACE_DEVICE u32 begin_ring([[maybe_unused]] u32 flags, u32 size) {
#ifdef KTRACE_RING
    if ((flags & KTRACE_CONTROL_RING) != 0) {
      m_cursor = m_base = size / 2;  // so that no main word's number is a side word's
      m_mask = size / 2 - 1;
      return size / 2;
    }
#endif
    return size;
  }

  // Two lanes of one wave must not claim two slots, so the first one asks for all.
  KTRACE_DEVICE static u32 claim(sink target) {
    const u64 lanes = active_lanes();
    u32 slot = 0;
    if (__builtin_amdgcn_mbcnt_hi(static_cast<u32>(lanes >> 32),
                                  __builtin_amdgcn_mbcnt_lo(static_cast<u32>(lanes), 0)) == 0) {
      auto* claimed =
          (__attribute__((address_space(1))) u32*)&const_cast<ktrace_control*>(target.control)->claimed;
      slot = __hip_atomic_fetch_add(claimed, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    }
    return uniform(slot);
  }

  // Where lanes return at different places this runs once for each: the last one wins.
  KTRACE_DEVICE void finish() {
    fence();
    if (m_whole == 0) {
      return;
    }
    const clocks now = read_clocks();
    const u32 cursor = uniform(m_cursor);
    store<__builtin_offsetof(ktrace_wave_header, memtime_end)>(halves(now.memtime, now.realtime));
    const u64 place = u64{xcc_id()} << 32 | hardware_id();
    // EXEC itself cannot be stored.
    asm volatile(
        "s_mov_b64 vcc, exec\n\ts_buffer_store_dwordx2 vcc, %[region], %[exec_end]\n\t"
        "s_buffer_store_dwordx2 %[place], %[region], %[hw_id_end]\n\t"
        "s_buffer_store_dword %[cursor], %[region], %[main_cursor]\n\t"
        "s_buffer_store_dword %[ended], %[region], %[state]\n\t" KTRACE_ASM_WRITE_BACK_ ::[region] "s"(
            m_region),
        [place] "s"(uniform(place)), [cursor] "s"(cursor), [ended] "s"(uniform(u32{KTRACE_WAVE_ENDED})),
        KTRACE_ASM_FIELD_(exec_end), KTRACE_ASM_FIELD_(hw_id_end), KTRACE_ASM_FIELD_(main_cursor),
        KTRACE_ASM_FIELD_(state)
        : "vcc", "memory");
  }

  // state, side_cursor, main_cursor, dispatch
  KTRACE_DEVICE u32x4 load_state() const {
    u32x4 words;
    asm volatile(KTRACE_ASM_APART_ "s_buffer_load_dwordx4 %0, %1, 0\n\ts_waitcnt lgkmcnt(0)"
                 : "=&s"(words)
                 : "s"(m_region)
                 : "memory");
    return words;
  }

  KTRACE_DEVICE static u32x4 halves(u64 first, u64 second) {
    return u32x4{static_cast<u32>(first), static_cast<u32>(first >> 32), static_cast<u32>(second),
                 static_cast<u32>(second >> 32)};
  }
  template <u32 offset>
  KTRACE_DEVICE void store(u32x4 words) {
    words = u32x4{uniform(words.x), uniform(words.y), uniform(words.z), uniform(words.w)};
    asm volatile("s_buffer_store_dwordx4 %0, %1, %2\n\t" KTRACE_ASM_APART_ ::"s"(words), "s"(m_region),
                 "i"(offset)
                 : "memory");
  }

  u32x4 m_region;
  u64 m_whole = 0;
  u32 m_cursor = KTRACE_REGION_HEADER;  // byte offset of the next main word; in a ring, counted on
#ifdef KTRACE_RING
  u32 m_mask = ~0u;
  u32 m_base = 0;
#endif
};

}  // namespace

KTRACE_DEVICE ref side_of(const wave& trace) { return trace.side(); }
KTRACE_DEVICE ref side_of(ref trace) { return trace; }

}  // namespace ktrace
