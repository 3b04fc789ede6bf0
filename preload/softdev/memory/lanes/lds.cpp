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

int64_t step_of(const Progression& steps) { return static_cast<int32_t>(steps.step); }

// The active lanes, which are known to be inside; those of lanes that are off need not be.
class PatternPlaces {
 public:
  PatternPlaces(Wave& wave, const LdsPattern& pattern, uint32_t begin)
      : m_lowest(wave.workgroup->lds.data() + static_cast<uint32_t>(begin + pattern.low)),
        m_pattern(pattern) {}
  uint8_t* at(unsigned lane) const { return m_lowest + (m_pattern.offsets[lane] - m_pattern.low); }

 private:
  uint8_t* const m_lowest;
  const LdsPattern& m_pattern;
};

// `begin` is the pattern's base with the instruction's offset.
template <typename Move>
void move_pattern(Wave& wave, const LdsPattern& pattern, uint32_t begin, uint32_t* rows) {
  const PatternPlaces places(wave, pattern, begin);
  const bool is_regular = pattern.is_regular && Move::size % 4 == 0;
  if (is_regular && static_cast<Layout>(pattern.layouts[0]) == Layout::run) {
    for (unsigned first = 0; first < lanes; first += group_lanes) {
      Move::move_run(rows + first, places.at(first), whole_group);
    }
  } else if (is_regular) {
    for (unsigned first = 0; first < lanes; first += group_lanes) {
      Move::move_together(rows + first, places.at(first), whole_group);
    }
  } else {
    for_each_group(pattern.exec, [&](unsigned first, uint32_t active) {
      const auto layout =
          Move::size % 4 == 0 ? static_cast<Layout>(pattern.layouts[first / group_lanes]) : Layout::anyhow;
      move_group<Move>(layout, rows + first, active, [&](unsigned lane) { return places.at(first + lane); });
    });
  }
}

// All lanes' bytes if they lie side by side; else null.
template <typename Move>
uint8_t* find_run(Wave& wave, const uint32_t* at, uint32_t offset) {
  const uint32_t begin = at[0] + offset;
  std::vector<uint8_t>& lds = wave.workgroup->lds;
  return uint64_t{begin} + uint64_t{lanes} * Move::size <= lds.size() ? lds.data() + begin : nullptr;
}

template <typename Move>
bool access_progression(Wave& wave, const uint32_t* at, uint32_t offset, uint32_t* rows) {
  Progression steps;
  uint8_t* origin = nullptr;
  if (find_progression(wave, at, Move::size, steps)) {
    origin = lds_origin(wave, steps, offset, Move::size);
  }
  if (!origin) {
    return false;
  }
  move_progression<Move>(wave.exec(), rows, origin, step_of(steps));
  finish_lds(wave, lds_conflicts<dwords_of<Move>>(wave, steps));
  return true;
}

// Some lanes, or lanes that are not side by side.
template <typename Move>
void access_scattered(Wave& wave, const Inst& inst, uint32_t* rows) {
  const uint64_t exec = wave.exec();
  const uint32_t* at = wave.vgpr(inst.vaddr);
  const uint32_t offset = lds_offset(inst);
  if (!exec) {
    finish_lds(wave);
    return;
  }
  if (access_progression<Move>(wave, at, offset, rows)) {
    return;
  }
  const LdsPattern& pattern = lds_pattern(wave, {at, dwords_of<Move>});
  const uint32_t begin = lds_base(wave, at) + offset;
  if (is_inside(wave, pattern, begin, Move::size)) {
    move_pattern<Move>(wave, pattern, begin, rows);
  } else {
    for_each_lane(exec, [&](unsigned lane) {
      Move::move(rows, lane, lds_memory(wave, inst, at[lane] + offset, Move::size, lane));
    });
  }
  finish_lds(wave, pattern.extra);
}

template <typename Move>
void access(Wave& wave, const Inst& inst) {
  uint32_t* rows = wave.vgpr(Move::writes_memory ? inst.vdata : inst.dst);
  const uint32_t* at = wave.vgpr(inst.vaddr);
  if (wave.exec() == all_lanes && is_run<Move::size>(at)) {
    if (uint8_t* run = find_run<Move>(wave, at, lds_offset(inst))) {
      move_run<Move>(rows, run);
      finish_lds(wave);
      return;
    }
  }
  access_scattered<Move>(wave, inst, rows);
}

// The operands of ds_read2* and ds_write2*: two accesses, offsets in units of the element, or of 64 elements.
struct Two {
  Two(const Inst& inst, unsigned unit, uint32_t* rows0, uint32_t* rows1)
      : offset{(lds_offset(inst) & 255) * unit, (lds_offset(inst) >> 8) * unit}, rows{rows0, rows1} {}
  uint32_t offset[2];
  uint32_t* rows[2];
};

template <typename Move>
bool access_two_progressions(Wave& wave, const uint32_t* at, const Two& two) {
  Progression steps;
  if (!find_progression(wave, at, Move::size, steps)) {
    return false;
  }
  uint8_t* const first = lds_origin(wave, steps, two.offset[0], Move::size);
  uint8_t* const second = lds_origin(wave, steps, two.offset[1], Move::size);
  if (!first || !second) {
    return false;
  }
  const uint64_t exec = wave.exec();
  move_progression<Move>(exec, two.rows[0], first, step_of(steps));
  move_progression<Move>(exec, two.rows[1], second, step_of(steps));
  finish_lds(wave, 2 * lds_conflicts<dwords_of<Move>>(wave, steps));
  return true;
}

template <typename Move>
void access_two_scattered(Wave& wave, const Inst& inst, const Two& two) {
  const uint64_t exec = wave.exec();
  if (!exec) {
    finish_lds(wave);
    return;
  }
  if (access_two_progressions<Move>(wave, wave.vgpr(inst.vaddr), two)) {
    return;
  }
  const uint32_t* at = wave.vgpr(inst.vaddr);
  const LdsPattern& pattern = lds_pattern(wave, {at, dwords_of<Move>});
  const uint32_t base = lds_base(wave, at);
  if (is_inside(wave, pattern, base + two.offset[0], Move::size) &&
      is_inside(wave, pattern, base + two.offset[1], Move::size)) {
    move_pattern<Move>(wave, pattern, base + two.offset[0], two.rows[0]);
    move_pattern<Move>(wave, pattern, base + two.offset[1], two.rows[1]);
  } else {
    const LdsAddresses addresses(wave, inst);
    for_each_lane(exec, [&](unsigned lane) {
      for (unsigned k = 0; k < 2; ++k) {
        const uint32_t address = addresses.at[lane] + two.offset[k];
        Move::move(two.rows[k], lane, lds_memory(wave, inst, address, Move::size, lane));
      }
    });
  }
  finish_lds(wave, 2 * pattern.extra);
}

template <typename Move>
void access_two(Wave& wave, const Inst& inst, const Two& two) {
  const uint32_t* at = wave.vgpr(inst.vaddr);
  if (wave.exec() == all_lanes && is_run<Move::size>(at)) {
    uint8_t* const first = find_run<Move>(wave, at, two.offset[0]);
    uint8_t* const second = find_run<Move>(wave, at, two.offset[1]);
    if (first && second) {
      move_run<Move>(two.rows[0], first);
      move_run<Move>(two.rows[1], second);
      finish_lds(wave);
      return;
    }
  }
  access_two_scattered<Move>(wave, inst, two);
}

template <unsigned bytes, unsigned unit>
void read_two(Wave& wave, const Inst& inst) {
  using Move = LoadLane<bytes, false, Half::whole>;
  access_two<Move>(wave, inst, {inst, unit, wave.vgpr(inst.dst), wave.vgpr(inst.dst + bytes / 4)});
}

template <unsigned bytes, unsigned unit>
void write_two(Wave& wave, const Inst& inst) {
  using Move = StoreLane<bytes, Half::whole>;
  access_two<Move>(wave, inst, {inst, unit, wave.vgpr(inst.vdata), wave.vgpr(inst.vdata2)});
}

void no_operation(Wave& wave, const Inst&) { finish_lds(wave); }

Handler access_handler(uint16_t op) {
  switch (op) {
    case 13:
      return access<StoreLane<4, Half::whole>>;
    case 14:
      return write_two<4, 4>;
    case 15:
      return write_two<4, 256>;
    case 20:
      return no_operation;
    case 30:
      return access<StoreLane<1, Half::whole>>;
    case 31:
      return access<StoreLane<2, Half::whole>>;
    case 54:
      return access<LoadLane<4, false, Half::whole>>;
    case 55:
      return read_two<4, 4>;
    case 56:
      return read_two<4, 256>;
    case 57:
      return access<LoadLane<1, true, Half::whole>>;
    case 58:
      return access<LoadLane<1, false, Half::whole>>;
    case 59:
      return access<LoadLane<2, true, Half::whole>>;
    case 60:
      return access<LoadLane<2, false, Half::whole>>;
    case 77:
      return access<StoreLane<8, Half::whole>>;
    case 78:
      return write_two<8, 8>;
    case 79:
      return write_two<8, 512>;
    case 84:
      return access<StoreLane<1, Half::high>>;
    case 85:
      return access<StoreLane<2, Half::high>>;
    case 86:
      return access<LoadLane<1, false, Half::low>>;
    case 87:
      return access<LoadLane<1, false, Half::high>>;
    case 88:
      return access<LoadLane<1, true, Half::low>>;
    case 89:
      return access<LoadLane<1, true, Half::high>>;
    case 90:
      return access<LoadLane<2, false, Half::low>>;
    case 91:
      return access<LoadLane<2, false, Half::high>>;
    case 118:
      return access<LoadLane<8, false, Half::whole>>;
    case 119:
      return read_two<8, 8>;
    case 120:
      return read_two<8, 512>;
    case 222:
      return access<StoreLane<12, Half::whole>>;
    case 223:
      return access<StoreLane<16, Half::whole>>;
    case 254:
      return access<LoadLane<12, false, Half::whole>>;
    case 255:
      return access<LoadLane<16, false, Half::whole>>;
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
