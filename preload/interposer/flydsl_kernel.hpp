// Kernels that FlyDSL has compiled with its own in-kernel tracer, and where things are in its buffer.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "code_object.hpp"
#include "elf_image.hpp"

namespace ktrace {

// FlyDSL's kernels have no note: their descriptor asks for what hardly any other compiler asks for, and their
// code reads the clock and stores by the scalar unit. Nothing is looked at without FLYDSL_KTRACE_ENABLE.
bool may_be_of_flydsl(const ElfImage& image);
// Appends them to `out->kernels`.
void find_flydsl_kernels(const ElfImage& image, const Metadata& metadata, CodeObject* out);

inline constexpr std::uint64_t flydsl_slot = 32;  // bytes
inline constexpr std::uint64_t flydsl_region_slots = 256;

// src/ktrace_cli/foreign/flydsl/layout.py says the same.
struct FlydslLayout {
  explicit FlydslLayout(std::uint64_t size /* bytes */);

  std::uint64_t size = 0;
  std::uint64_t partitions = 1;
  std::uint64_t regions = 0;  // waves that fit

  std::uint64_t header_slots() const { return 8 * (partitions + 1); }
  std::uint64_t header_bytes() const { return header_slots() * flydsl_slot; }
  // How many bytes from the begin on were written to, and how many waves asked for a region.
  struct Used {
    std::uint64_t bytes = 0;
    std::uint64_t waves = 0;
  };
  Used used(const std::vector<std::uint8_t>& header) const;

 private:
  std::uint64_t capacity(std::uint64_t partition) const;
};

}  // namespace ktrace
