#include "vector/lanes/dpp.hpp"

#include <array>

#include "vector/lanes/masks.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {
namespace {

constexpr int no_lane = -1;
constexpr int row_size = 16;
constexpr unsigned control_count = 0x200;

// Where lane `lane` reads from, or no_lane; `known` becomes false for a control that no target has.
int source_lane(unsigned control, int lane, bool& known) {
  const int row = lane & ~(row_size - 1);
  const int place = lane & (row_size - 1);
  const int amount = static_cast<int>(control & 15u);
  const auto within_row = [row](int wanted) {
    return wanted >= 0 && wanted < row_size ? row + wanted : no_lane;
  };
  if (control < 0x100) {  // quad_perm
    return (lane & ~3) | static_cast<int>(control >> (2 * (lane & 3)) & 3u);
  }
  if (amount != 0 && (control & ~15u) == 0x100) {
    return within_row(place + amount);  // row_shl
  }
  if (amount != 0 && (control & ~15u) == 0x110) {
    return within_row(place - amount);  // row_shr
  }
  if (amount != 0 && (control & ~15u) == 0x120) {
    return row + ((place - amount) & (row_size - 1));  // row_ror
  }
  if ((control & ~15u) == 0x150) {
    return row + amount;  // row_newbcast
  }
  const int last = static_cast<int>(lanes) - 1;
  switch (control) {
    case 0x130:  // wave_shl
      return lane < last ? lane + 1 : no_lane;
    case 0x134:  // wave_rol
      return (lane + 1) & last;
    case 0x138:  // wave_shr
      return lane - 1;
    case 0x13c:  // wave_ror
      return (lane - 1) & last;
    case 0x140:  // row_mirror
      return row + row_size - 1 - place;
    case 0x141:  // row_half_mirror
      return (lane & ~7) + 7 - (lane & 7);
    case 0x142:  // row_bcast:15, from the last lane of the row before
      return row > 0 ? row - 1 : no_lane;
    case 0x143:  // row_bcast:31, from lane 31 to the upper half of the wave
      return lane >= 32 ? 31 : no_lane;
    default:
      known = false;
      return no_lane;
  }
}

struct Permutation {
  bool known = true;
  std::array<uint8_t, lanes> from{};  // 0 where no lane is
  uint64_t exists = 0;
  bool stays_in_rows = true;
  alignas(64) std::array<uint32_t, row_size> place{};  // in their row, of the lanes of the first one
};

// Whether all rows are permuted as the first one is.
bool permutes_rows_alike(const Permutation& moves) {
  for (unsigned l = 0; l < lanes; ++l) {
    const bool exists = (moves.exists >> l & 1u) != 0;
    const unsigned first = l % row_size;
    if (exists != ((moves.exists >> first & 1u) != 0) ||
        (exists && moves.from[l] != moves.from[first] + l - first)) {
      return false;
    }
  }
  return true;
}

// One permutation per control, worked out when the first DPP instruction runs: reductions execute them by
// the million.
const Permutation& permutation(unsigned control) {
  static const auto& table = *[] {
    auto* const all = new std::array<Permutation, control_count>;  // never destroyed
    for (unsigned c = 0; c < control_count; ++c) {
      Permutation& entry = (*all)[c];
      for (unsigned l = 0; l < lanes; ++l) {
        const int from = source_lane(c, static_cast<int>(l), entry.known);
        entry.from[l] = static_cast<uint8_t>(from == no_lane ? 0 : from);
        entry.exists |= uint64_t{from != no_lane} << l;
      }
      entry.stays_in_rows = permutes_rows_alike(entry);
      for (unsigned l = 0; l < row_size; ++l) {
        entry.place[l] = entry.from[l] % row_size;
      }
    }
    return all;
  }();
  return table[control & (control_count - 1)];
}

// `from` and `to` do not overlap.
void gather(const Permutation& moves, const uint32_t* from, uint32_t* to) {
#if defined(__AVX512F__)
  if (moves.stays_in_rows) {
    const __m512i place = _mm512_load_si512(moves.place.data());
    for (unsigned l = 0; l < lanes; l += row_size) {
      const __m512i row = _mm512_load_si512(from + l);
      _mm512_store_si512(to + l, _mm512_maskz_permutexvar_epi32(every_lane, place, row));
    }
    return;
  }
#endif
  for (unsigned l = 0; l < lanes; l += 2) {
    const uint64_t pair = from[moves.from[l]] | uint64_t{from[moves.from[l + 1]]} << 32;
    std::memcpy(to + l, &pair, sizeof pair);  // one store for two lanes
  }
}

uint64_t lanes_of_masks(unsigned row_mask, unsigned bank_mask) {
  uint64_t allowed = 0;
  for (unsigned quad = 0; quad < lanes / 4; ++quad) {
    const bool on = (row_mask >> (quad / 4) & 1u) != 0 && (bank_mask >> (quad % 4) & 1u) != 0;
    allowed |= on ? uint64_t{0xf} << (quad * 4) : 0;
  }
  return allowed;
}

}  // namespace

uint64_t permute_dpp(const Wave& wave, const Inst& inst, const uint32_t* from, uint32_t* to) {
  const Permutation& moves = permutation(inst.dpp_ctrl);
  if (!moves.known) {
    fault(wave, inst, "dpp_ctrl 0x%x is not implemented", unsigned{inst.dpp_ctrl});
  }
  gather(moves, from, to);
  uint64_t valid = moves.exists;
  // A lane that EXEC switches off is no more a source than one beyond the row.
  if (wave.exec() != ~uint64_t{0}) {
    Row active;
    expand_mask(wave.exec(), active);
    Row moved;
    gather(moves, active.at, moved.at);
    valid &= collect_mask(moved);
  }
  if (valid != ~uint64_t{0}) {
    Row mask;
    expand_mask(valid, mask);
    KTRACE_EACH_LANE(l) { to[l] &= mask.at[l]; }
  }
  const uint64_t masked = inst.row_mask == 15 && inst.bank_mask == 15
                              ? ~uint64_t{0}
                              : lanes_of_masks(inst.row_mask, inst.bank_mask);
  return masked & (inst.bound_ctrl ? ~uint64_t{0} : valid);
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
