// Random code: words of no form at all, and words in the form of each encoding with random operations and
// operands.
#pragma once

#include <vector>

#include "driver.hpp"

namespace fuzz {

// Puts pointers where the operands of `random_instructions` look for them: to buffers in s[16:47], v[2:3] and
// v[6:7], small offsets in v0, v1 and v4, a buffer descriptor in s[48:51], numbers in v[8:12].
const std::vector<uint32_t>& prologue();

// Some instructions of one form or of all. Branches are rare: they mostly leave the code.
std::vector<uint32_t> random_instructions(Random& random);

// An ELF with one kernel, `k`, of these words.
struct KernelImage {
  uint32_t machine = 0x4c;  // of e_flags: gfx942
  uint32_t lds_bytes = 0;
  uint32_t private_bytes = 0;
  uint32_t kernarg_bytes = 0;
  uint32_t float_mode = 0xc0;    // of the descriptor's first resource word, bits 12 to 19
  uint16_t more_properties = 0;  // on top of the pointer to the arguments
  uint16_t kernarg_preload = 0;
};
Bytes make_image(const KernelImage& kernel, const std::vector<uint32_t>& words);

}  // namespace fuzz
