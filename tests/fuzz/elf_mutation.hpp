// Damages code objects where it matters: headers, tables, notes, descriptors, relocations, symbols, code.
#pragma once

#include "driver.hpp"

namespace fuzz {

// Changes one to a few things of an ELF file, or cuts or stretches it. Takes any bytes.
void mutate_elf(Bytes& image, Random& random);
// Changes some bytes anywhere.
void mutate_bytes(Bytes& bytes, Random& random);
// The file's executable segment: begin and end within it; an empty range if there is none.
struct Range {
  size_t begin = 0;
  size_t end = 0;
  size_t size() const { return end - begin; }
};
Range code_of(const Bytes& image);

}  // namespace fuzz
