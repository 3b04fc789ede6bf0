// A set of numbers, of which those in use are often close together. Knows no track.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

namespace ktrace::encode {

class TrackSet {
 public:
  // Return whether it was not there yet.
  bool add(std::uint64_t number) {
    std::uint64_t& bits = m_pages[number / page_bits][number % page_bits / word_bits];
    const std::uint64_t bit = std::uint64_t{1} << number % word_bits;
    const bool is_new = (bits & bit) == 0;
    bits |= bit;
    return is_new;
  }

 private:
  static constexpr std::uint64_t word_bits = 64, page_bits = 4 * word_bits;

  std::unordered_map<std::uint64_t, std::array<std::uint64_t, page_bits / word_bits>> m_pages;
};

}  // namespace ktrace::encode
