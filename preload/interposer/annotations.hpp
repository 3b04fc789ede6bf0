// What the notes of a code object say: where it is annotated, and which kernels it has.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "elf_image.hpp"
#include "ktrace/format.h"
#include "metadata.hpp"

namespace ktrace {

struct KernelNote {
  ktrace_kernel_note note;
  std::uint64_t pc;               // absolute, in the loaded object's addresses
  bool lies_in_a_kernel = false;  // set by who knows where kernels lie
};

struct Annotations {
  std::vector<KernelNote> kernels;
  std::map<std::uint64_t, std::string> shared_units;  // why a unit's event ids mean nothing, by its key
  Metadata metadata;                                  // of all notes together
  bool has_metadata = false;                          // and some of it could be read
  bool has_damaged_metadata = false;
  bool is_damaged = false;  // a note of ours, or the list of notes
};

Annotations read_annotations(const ElfImage& image);

// Whether there is a note of ours, or one that cannot be read: a look at all others that costs little.
bool may_be_annotated(const ElfImage& image);

}  // namespace ktrace
