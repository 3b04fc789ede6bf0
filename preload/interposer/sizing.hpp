// How large a launch's trace buffer is, and which waves get a region of it.
#pragma once

#include <cstdint>

#include "config.hpp"
#include "hip.hpp"
#include "ktrace/format.h"

namespace ktrace {

inline constexpr std::uint32_t words_of_header = KTRACE_REGION_HEADER / sizeof(ktrace_word);

struct Shape {
  Dim3 grid;   // workgroups
  Dim3 block;  // work-items
};

struct Layout {
  std::uint32_t mode = KTRACE_MODE_DIRECT;
  std::uint32_t region_log2 = 0;
  std::uint32_t wave_slots = 0;
  bool may_claim = true;    // else a buffer that is too small is of no use
  std::uint32_t flags = 0;  // ktrace_control_flag

  std::uint64_t region_size() const { return std::uint64_t{1} << region_log2; }
  std::uint64_t regions_size() const { return region_size() * wave_slots; }
  std::uint64_t buffer_size() const { return KTRACE_CONTROL_SIZE + regions_size(); }

  bool is_ring() const { return (flags & KTRACE_CONTROL_RING) != 0; }
  bool is_eager() const { return (flags & KTRACE_CONTROL_EAGER) != 0; }
  // Offsets in a region: side words end where a ring begins.
  std::uint64_t main_begin() const { return is_ring() ? region_size() / 2 : KTRACE_REGION_HEADER; }
  std::uint64_t side_end() const { return is_ring() ? region_size() / 2 : region_size(); }
};

std::uint32_t waves_per_block(const Shape& shape);
std::uint64_t wave_count(const Shape& shape);

// `attempted_words` is the most that a wave of this kernel attempted so far, its header included; 0: not
// known.
Layout choose_layout(const Shape& shape, const Config& config, std::uint32_t attempted_words);

// How waves of a kernel are to write: at once with --hang, which wins over --full ring, for which a kernel
// must have been built.
std::uint32_t control_flags(const Config& config, const ktrace_kernel_note& kernel);

// The same regions for as many waves as fit into `capacity` bytes, in the order in which they start.
Layout claim_layout(const Layout& wanted, std::uint64_t capacity);

// Waves of the grid that pass the filters; 0, not known, with a filter of XCCs: the device alone decides
// where a wave runs.
std::uint64_t expected_waves(const Shape& shape, const Config& config);

ktrace_control make_control(const Shape& shape, const Layout& layout, const Config& config,
                            std::uint64_t dispatch, std::uint64_t regions);

}  // namespace ktrace
