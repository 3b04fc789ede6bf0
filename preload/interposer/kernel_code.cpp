#include "kernel_code.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>

namespace ktrace {
namespace {

constexpr std::uint64_t descriptor_size = 64;          // of a kernel, in .rodata
constexpr std::uint64_t descriptor_entry_offset = 16;  // i64, from the descriptor to the code
constexpr std::string_view descriptor_suffix = ".kd";

}  // namespace

std::string kernel_of_descriptor(const std::string& symbol) {
  const std::size_t length = descriptor_suffix.size();
  if (symbol.size() <= length || symbol.compare(symbol.size() - length, length, descriptor_suffix) != 0)
    return "";
  return symbol.substr(0, symbol.size() - length);
}

KernelCode::KernelCode(const ElfImage& image) : m_image(image), m_symbols(image.symbols()) {
  for (const ElfSymbol& symbol : m_symbols) {
    m_symbol_by_name.emplace(symbol.name, &symbol);
    if (symbol.is_function) m_functions.push_back(&symbol);
  }
  std::sort(m_functions.begin(), m_functions.end(), [](const ElfSymbol* a, const ElfSymbol* b) {
    return std::tie(a->address, a) < std::tie(b->address, b);
  });
}

// The descriptor says where a kernel begins. Its end is its symbol's, or the next function's begin.
std::optional<CodeRange> KernelCode::of(const std::string& descriptor) const {
  const auto found = m_symbol_by_name.find(descriptor);
  std::int64_t entry = 0;
  if (found == m_symbol_by_name.end() ||
      !m_image.at_address(found->second->address, descriptor_size).read(descriptor_entry_offset, &entry))
    return std::nullopt;
  const std::uint64_t begin = found->second->address + static_cast<std::uint64_t>(entry);
  auto next = std::lower_bound(
      m_functions.begin(), m_functions.end(), begin,
      [](const ElfSymbol* symbol, std::uint64_t address) { return symbol->address < address; });
  for (; next != m_functions.end() && (*next)->address == begin; ++next)
    if ((*next)->size > 0) return CodeRange{begin, begin + (*next)->size};
  return CodeRange{begin, next == m_functions.end() ? ~std::uint64_t{0} : (*next)->address};
}

std::vector<std::string> KernelCode::descriptors() const {
  std::vector<std::string> names;
  for (const ElfSymbol& symbol : m_symbols)
    if (!kernel_of_descriptor(symbol.name).empty() && m_symbol_by_name.at(symbol.name) == &symbol)
      names.push_back(symbol.name);
  return names;
}

}  // namespace ktrace
