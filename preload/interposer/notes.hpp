// The records of an ELF note area, whichever of the two alignments its writer used.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "elf_image.hpp"

namespace ktrace {

struct Note {
  std::string owner;
  std::uint32_t type = 0;
  Bytes descriptor;
  std::uint64_t address = 0;  // of the descriptor in the loaded object
};

// Notes up to the first one that cannot be right; `damaged` is set if there was one.
std::vector<Note> read_notes(const NoteArea& area, bool* damaged);

}  // namespace ktrace
