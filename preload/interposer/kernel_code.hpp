// Where the code of each kernel of a code object lies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "elf_image.hpp"

namespace ktrace {

struct CodeRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

class KernelCode {
 public:
  explicit KernelCode(const ElfImage& image);

  // By the symbol of its descriptor, "name.kd".
  std::optional<CodeRange> of(const std::string& descriptor) const;
  // The symbols of all descriptors, in the order of the tables.
  std::vector<std::string> descriptors() const;

 private:
  const ElfImage& m_image;
  std::vector<ElfSymbol> m_symbols;
  std::unordered_map<std::string, const ElfSymbol*> m_symbol_by_name;
  std::vector<const ElfSymbol*> m_functions;  // by address
};

// "name" of "name.kd"; "" for what is no descriptor.
std::string kernel_of_descriptor(const std::string& symbol);

}  // namespace ktrace
