#include "sizing.hpp"

#include <algorithm>
#include <initializer_list>

namespace ktrace {
namespace {

constexpr std::uint64_t target_size = std::uint64_t{64} << 20;  // bytes of one dispatch's buffer
constexpr std::uint64_t fewest_words = 64;
constexpr std::uint64_t most_words = 8192;

std::uint32_t log2_of(std::uint64_t power) { return static_cast<std::uint32_t>(__builtin_ctzll(power)); }

std::uint64_t power_of_two_from(std::uint64_t value) {
  std::uint64_t power = 1;
  while (power < value) power *= 2;
  return power;
}

// Nearest on a linear scale: 96 is as near to 64 as to 128, and gets 128.
std::uint64_t nearest_power_of_two(std::uint64_t value) {
  const std::uint64_t above = power_of_two_from(value);
  const std::uint64_t below = above / 2;
  return above == value || above - value <= value - below ? above : below;
}

// Grids are at most 2^96 workgroups in theory; what does not fit into 63 bits never ends anyway.
std::uint64_t saturating_product(std::initializer_list<std::uint64_t> factors) {
  std::uint64_t product = 1;
  for (const std::uint64_t factor : factors)
    if (__builtin_mul_overflow(product, factor, &product)) product = ~std::uint64_t{0} >> 1;
  const bool is_zero = std::find(factors.begin(), factors.end(), 0u) != factors.end();
  return is_zero ? 0 : std::min(product, ~std::uint64_t{0} >> 1);
}

std::uint64_t words_of_region(std::uint64_t waves, const Config& config, std::uint32_t attempted_words) {
  if (config.words != 0) return config.words;
  // With little memory, smaller regions for all waves are worth more than large ones for a few.
  const std::uint64_t words = std::min(target_size, config.memory / 4) / sizeof(ktrace_word);
  const std::uint64_t by_rule =
      std::clamp(nearest_power_of_two(words / std::max<std::uint64_t>(waves, 1)), fewest_words, most_words);
  return std::max(by_rule, power_of_two_from(std::min(attempted_words, largest_words)));
}

std::uint64_t passing_blocks(std::uint32_t count, const AxisFilter& axis) {
  const std::uint64_t hi = std::min(axis.hi, count);
  return axis.lo >= hi ? 0 : (hi - axis.lo + axis.stride_mask) / (std::uint64_t{axis.stride_mask} + 1);
}

// Only waves that pass the filters ask for a slot; how many pass a filter of XCCs, nobody knows before.
std::uint64_t claiming_waves(const Shape& shape, const Config& config) {
  const std::uint64_t expected = config.xcc_mask == all_numbers ? expected_waves(shape, config) : 0;
  return expected > 0 ? expected : wave_count(shape);
}

}  // namespace

std::uint32_t waves_per_block(const Shape& shape) {
  const std::uint64_t lanes = saturating_product({shape.block.x, shape.block.y, shape.block.z});
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>((lanes + KTRACE_WAVE_SIZE - 1) / KTRACE_WAVE_SIZE, ~0u));
}

std::uint64_t wave_count(const Shape& shape) {
  return saturating_product({shape.grid.x, shape.grid.y, shape.grid.z, waves_per_block(shape)});
}

Layout choose_layout(const Shape& shape, const Config& config, std::uint32_t attempted_words) {
  const std::uint64_t waves =
      config.mode == SlotMode::claim ? claiming_waves(shape, config) : wave_count(shape);
  Layout layout;
  layout.mode = config.mode == SlotMode::claim ? KTRACE_MODE_CLAIM : KTRACE_MODE_DIRECT;
  layout.may_claim = config.mode != SlotMode::direct;
  layout.region_log2 = log2_of(words_of_region(waves, config, attempted_words) * sizeof(ktrace_word));
  constexpr std::uint64_t most_slots = 0xffffffffu;
  layout.wave_slots = static_cast<std::uint32_t>(std::min(waves, most_slots));
  if (waves <= most_slots && layout.buffer_size() <= config.memory) return layout;
  if (!layout.may_claim) {
    layout.wave_slots = 0;
    return layout;
  }
  // Half of the budget, so that the next launch finds something while this one is copied back.
  const Layout half = claim_layout(layout, config.memory / 2);
  return half.wave_slots > 0 ? half : claim_layout(layout, config.memory);
}

std::uint32_t control_flags(const Config& config, const ktrace_kernel_note& kernel) {
  if (config.hang_ms > 0) return KTRACE_CONTROL_EAGER;
  const bool is_ring = config.full == WhenFull::ring && (kernel.flags & KTRACE_KERNEL_RING) != 0;
  return is_ring ? KTRACE_CONTROL_RING : 0;
}

Layout claim_layout(const Layout& wanted, std::uint64_t capacity) {
  Layout layout = wanted;
  layout.mode = KTRACE_MODE_CLAIM;
  const std::uint64_t room =
      capacity > KTRACE_CONTROL_SIZE ? (capacity - KTRACE_CONTROL_SIZE) >> layout.region_log2 : 0;
  layout.wave_slots = static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted.wave_slots, room));
  return layout;
}

std::uint64_t expected_waves(const Shape& shape, const Config& config) {
  if (config.xcc_mask != all_numbers) return 0;
  const std::uint32_t count = waves_per_block(shape);
  std::uint64_t waves = 0;
  for (std::uint32_t wave = 0; wave < std::min(count, 31u); ++wave) waves += (config.wave_mask >> wave) & 1;
  if (count > 31 && (config.wave_mask >> 31) != 0) waves += count - 31;
  return saturating_product({passing_blocks(shape.grid.x, config.blocks[0]),
                             passing_blocks(shape.grid.y, config.blocks[1]),
                             passing_blocks(shape.grid.z, config.blocks[2]), waves});
}

ktrace_control make_control(const Shape& shape, const Layout& layout, const Config& config,
                            std::uint64_t dispatch, std::uint64_t regions) {
  ktrace_control control{};
  control.magic = KTRACE_CONTROL_MAGIC;
  control.abi_version = KTRACE_ABI_VERSION;
  control.mode = layout.mode;
  control.flags = layout.flags;
  control.dispatch = static_cast<std::uint32_t>(dispatch);
  control.regions = regions;
  control.region_log2 = layout.region_log2;
  control.wave_slots = layout.wave_slots;
  const std::uint32_t grid[3] = {shape.grid.x, shape.grid.y, shape.grid.z};
  const std::uint32_t block[3] = {shape.block.x, shape.block.y, shape.block.z};
  for (int axis = 0; axis < 3; ++axis) {
    control.grid[axis] = grid[axis];
    control.block[axis] = block[axis];
    control.block_lo[axis] = config.blocks[axis].lo;
    control.block_hi[axis] = config.blocks[axis].hi;
    control.block_stride_mask[axis] = config.blocks[axis].stride_mask;
  }
  control.waves_per_block = waves_per_block(shape);
  control.wave_mask = config.wave_mask;
  control.xcc_mask = config.xcc_mask;
  return control;
}

}  // namespace ktrace
