// LDS (DS) instructions: reads and writes.
#include "memory/lanes/lds.hpp"

#include <cstring>

#include "memory/lanes/table.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

void lds_fault(const Wave& wave, const Inst& inst, uint64_t address, unsigned size, unsigned lane) {
  fault(wave, inst, "LDS access out of range: %u bytes at 0x%llx of %zu allocated, lane %u", size,
        static_cast<unsigned long long>(address), wave.workgroup->lds.size(), lane);
}

namespace {

template <typename Move>
constexpr unsigned dwords_of = (Move::size + 3) / 4;

// What an instruction does at its addresses: once, or, ds_read2* and ds_write2*, twice.
template <unsigned count>
struct Moves {
  uint32_t offset[count];
  uint32_t* rows[count];
};

template <typename MoveOfLane>
struct One {
  using Move = MoveOfLane;
  static Moves<1> moves(Wave& wave, const Inst& inst) {
    return {{lds_offset(inst)}, {wave.vgpr(Move::writes_memory ? inst.vdata : inst.dst)}};
  }
};

// Two offsets in units of the element, or of 64 elements.
template <typename MoveOfLane, unsigned unit>
struct Two {
  using Move = MoveOfLane;
  static Moves<2> moves(Wave& wave, const Inst& inst) {
    const uint32_t offsets = lds_offset(inst);
    return {{(offsets & 255) * unit, (offsets >> 8) * unit},
            {wave.vgpr(Move::writes_memory ? inst.vdata : inst.dst),
             wave.vgpr(Move::writes_memory ? inst.vdata2 : inst.dst + Move::size / 4)}};
  }
};

// The active lanes, which are known to be inside; those of lanes that are off need not be.
class PatternPlaces {
 public:
  // `begin` is the pattern's base with the instruction's offset.
  PatternPlaces(Wave& wave, const LdsPattern& pattern, uint32_t begin)
      : m_lowest(wave.workgroup->lds.data() + static_cast<uint32_t>(begin + pattern.low)),
        m_pattern(pattern) {}
  uint8_t* at(unsigned lane) const { return m_lowest + (m_pattern.offsets[lane] - m_pattern.low); }

 private:
  uint8_t* const m_lowest;
  const LdsPattern& m_pattern;
};

// Of whole dwords.
template <typename Move>
inline void move_tiles(const LdsPattern& pattern, const PatternPlaces& places, uint32_t* rows) {
  static_assert(groups == 4 && group_lanes == 16);
  uint8_t* const from[] = {places.at(0), places.at(16), places.at(32), places.at(48)};
  if (static_cast<Layout>(pattern.layouts[0]) == Layout::run) {
    for (unsigned k = 0; k < groups; ++k) {
      Move::move_run(rows + k * group_lanes, from[k], whole_group);
    }
  } else {
    for (unsigned k = 0; k < groups; ++k) {
      Move::move_together(rows + k * group_lanes, from[k], whole_group);
    }
  }
}

template <typename Move>
[[gnu::noinline]] void move_groups(const LdsPattern& pattern, const PatternPlaces& places, uint32_t* rows) {
  for_each_group(pattern.exec, [&](unsigned first, uint32_t active) {
    const auto layout =
        Move::size % 4 == 0 ? static_cast<Layout>(pattern.layouts[first / group_lanes]) : Layout::anyhow;
    move_group<Move>(layout, rows + first, active, [&](unsigned lane) { return places.at(first + lane); });
  });
}

// `base` is that of the lanes. Does nothing and returns false if they are not all inside.
template <typename Move, unsigned count>
[[gnu::always_inline]] inline bool access_pattern(Wave& wave, const LdsPattern& pattern, uint32_t base,
                                                  const Moves<count>& moves) {
  for (const uint32_t offset : moves.offset) {
    if (!is_inside(wave, pattern, base + offset, Move::size)) {
      return false;
    }
  }
  if (pattern.is_tiled && Move::size % 4 == 0) {
    for (unsigned k = 0; k < count; ++k) {
      move_tiles<Move>(pattern, {wave, pattern, base + moves.offset[k]}, moves.rows[k]);
    }
  } else {
    for (unsigned k = 0; k < count; ++k) {
      move_groups<Move>(pattern, {wave, pattern, base + moves.offset[k]}, moves.rows[k]);
    }
  }
  finish_lds(wave, count * pattern.extra);
  return true;
}

// Likewise.
template <typename Move, unsigned count>
inline bool access_progression(Wave& wave, uint64_t exec, const Progression& steps,
                               const Moves<count>& moves) {
  uint8_t* origins[count];
  for (unsigned k = 0; k < count; ++k) {
    origins[k] = lds_origin(wave, exec, steps, moves.offset[k], Move::size);
    if (!origins[k]) {
      return false;
    }
  }
  for (unsigned k = 0; k < count; ++k) {
    move_progression<Move>(exec, moves.rows[k], origins[k], static_cast<int32_t>(steps.step));
  }
  finish_lds(wave, count * lds_conflicts<dwords_of<Move>>(wave, exec, steps));
  return true;
}

// Likewise; all lanes lie side by side.
template <typename Move, unsigned count>
inline bool access_run(Wave& wave, const uint32_t* at, const Moves<count>& moves) {
  const std::vector<uint8_t>& lds = wave.workgroup->lds;
  uint8_t* from[count];
  for (unsigned k = 0; k < count; ++k) {
    const uint32_t begin = at[0] + moves.offset[k];
    if (uint64_t{begin} + uint64_t{lanes} * Move::size > lds.size()) {
      return false;
    }
    from[k] = wave.workgroup->lds.data() + begin;
  }
  move_run<Move>(moves.rows[0], from[0]);  // not in a loop: compilers would unroll the lanes' own instead
  if constexpr (count == 2) {
    move_run<Move>(moves.rows[1], from[1]);
  }
  finish_lds(wave);
  return true;
}

template <typename Move, unsigned count>
void access_lanes(Wave& wave, const Inst& inst, const Moves<count>& moves) {
  const LdsAddresses addresses(wave, inst);
  for_each_lane(wave.exec(), [&](unsigned lane) {
    for (unsigned k = 0; k < count; ++k) {
      const uint32_t address = addresses.at[lane] + moves.offset[k];
      Move::move(moves.rows[k], lane, lds_memory(wave, inst, address, Move::size, lane));
    }
  });
}

// Some lanes, or lanes for which there is no shorter way.
template <typename Access>
[[gnu::noinline]] void access_scattered(Wave& wave, const Inst& inst) {
  using Move = typename Access::Move;
  const auto moves = Access::moves(wave, inst);
  const uint64_t exec = wave.exec();
  if (!exec) {
    finish_lds(wave);
    return;
  }
  const uint32_t* at = wave.vgpr(inst.vaddr);
  Progression steps;
  if (find_progression(wave, at, Move::size, steps) && access_progression<Move>(wave, exec, steps, moves)) {
    return;
  }
  const LdsPattern& pattern = lds_pattern(wave, {at, dwords_of<Move>});
  remember_met(wave, inst, pattern);
  if (!access_pattern<Move>(wave, pattern, lds_base(wave, at), moves)) {
    access_lanes<Move>(wave, inst, moves);
    finish_lds(wave, sizeof moves.offset / sizeof moves.offset[0] * pattern.extra);
  }
}

// All lanes, in a pattern that the instruction may have met before.
template <typename Access>
[[gnu::noinline]] void access_met(Wave& wave, const Inst& inst) {
  using Move = typename Access::Move;
  if constexpr (Move::size % 4 == 0) {
    const uint32_t* at = wave.vgpr(inst.vaddr);
    const LdsPattern* const met = find_met(wave, inst, at, dwords_of<Move>);
    if (met && access_pattern<Move>(wave, *met, at[0] & ~3u, Access::moves(wave, inst))) {
      return;
    }
  }
  access_scattered<Access>(wave, inst);
}

// Whether all lanes' addresses seem to be a progression.
inline bool may_be_steps(const uint32_t* at) {
  return at[lanes - 1] - at[0] == (lanes - 1) * (at[1] - at[0]);
}

template <typename Access>
[[gnu::noinline]] void access_steps(Wave& wave, const Inst& inst) {
  const uint32_t* at = wave.vgpr(inst.vaddr);
  const Progression steps{at[0], at[1] - at[0]};
  if (!is_progression<false>(at, nullptr, steps) ||
      !access_progression<typename Access::Move>(wave, all_lanes, steps, Access::moves(wave, inst))) {
    access_met<Access>(wave, inst);
  }
}

// Each way is a function of its own: the usual ones need no frame.
template <typename Access>
void access(Wave& wave, const Inst& inst) {
  using Move = typename Access::Move;
  const uint32_t* at = wave.vgpr(inst.vaddr);
  if (wave.exec() != all_lanes) {
    access_scattered<Access>(wave, inst);
  } else if (is_run<Move::size>(at)) {
    if (!access_run<Move>(wave, at, Access::moves(wave, inst))) {
      access_scattered<Access>(wave, inst);
    }
  } else if (may_be_steps(at)) {
    access_steps<Access>(wave, inst);
  } else {
    access_met<Access>(wave, inst);
  }
}

template <unsigned bytes, bool is_signed, Half half>
constexpr Handler load = access<One<LoadLane<bytes, is_signed, half>>>;
template <unsigned bytes, Half half>
constexpr Handler store = access<One<StoreLane<bytes, half>>>;
template <unsigned bytes, unsigned unit>
constexpr Handler read_two = access<Two<LoadLane<bytes, false, Half::whole>, unit>>;
template <unsigned bytes, unsigned unit>
constexpr Handler write_two = access<Two<StoreLane<bytes, Half::whole>, unit>>;

void no_operation(Wave& wave, const Inst&) { finish_lds(wave); }

Handler access_handler(uint16_t op) {
  switch (op) {
    case 13:
      return store<4, Half::whole>;
    case 14:
      return write_two<4, 4>;
    case 15:
      return write_two<4, 256>;
    case 20:
      return no_operation;
    case 30:
      return store<1, Half::whole>;
    case 31:
      return store<2, Half::whole>;
    case 54:
      return load<4, false, Half::whole>;
    case 55:
      return read_two<4, 4>;
    case 56:
      return read_two<4, 256>;
    case 57:
      return load<1, true, Half::whole>;
    case 58:
      return load<1, false, Half::whole>;
    case 59:
      return load<2, true, Half::whole>;
    case 60:
      return load<2, false, Half::whole>;
    case 77:
      return store<8, Half::whole>;
    case 78:
      return write_two<8, 8>;
    case 79:
      return write_two<8, 512>;
    case 84:
      return store<1, Half::high>;
    case 85:
      return store<2, Half::high>;
    case 86:
      return load<1, false, Half::low>;
    case 87:
      return load<1, false, Half::high>;
    case 88:
      return load<1, true, Half::low>;
    case 89:
      return load<1, true, Half::high>;
    case 90:
      return load<2, false, Half::low>;
    case 91:
      return load<2, false, Half::high>;
    case 118:
      return load<8, false, Half::whole>;
    case 119:
      return read_two<8, 8>;
    case 120:
      return read_two<8, 512>;
    case 222:
      return store<12, Half::whole>;
    case 223:
      return store<16, Half::whole>;
    case 254:
      return load<12, false, Half::whole>;
    case 255:
      return load<16, false, Half::whole>;
    default:
      return nullptr;
  }
}

}  // namespace

Handler ds_handler(const Inst& inst) {
  for (const auto part : {access_handler, lds_permute_handler, lds_atomic_handler, lds_transpose_handler,
                          lds_exchange_handler}) {
    if (const Handler handler = part(inst.op)) {
      return handler;
    }
  }
  return nullptr;
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
