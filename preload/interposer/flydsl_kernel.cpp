#include "flydsl_kernel.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "kernel_code.hpp"

namespace ktrace {
namespace {

constexpr std::uint64_t descriptor_size = 64;
constexpr std::uint64_t properties_offset = 56;              // u16: kernel_code_properties
constexpr std::uint16_t wanted_properties = 0x1c;            // queue_ptr, kernarg_segment_ptr, dispatch_id
constexpr std::size_t largest_image = std::size_t{4} << 20;  // theirs hold one kernel
constexpr std::uint32_t scalar_memory = 0xfffc0000u;         // of a scalar memory instruction: its operation
constexpr std::uint32_t s_memrealtime = 0xc0940000u;
constexpr std::uint32_t s_buffer_store_dwordx4 = 0xc0680000u;

constexpr std::uint64_t most_partitions = 256;
constexpr std::uint64_t least_waves = 96;  // of the last partition
constexpr std::size_t cursor_stride = 256;

bool is_wanted() {
  const char* text = std::getenv("FLYDSL_KTRACE_ENABLE");
  return text && *text && std::strcmp(text, "0") != 0;
}

bool has_properties(const ElfImage& image, const ElfSymbol& descriptor) {
  std::uint16_t properties = 0;
  return image.at_address(descriptor.address, descriptor_size).read(properties_offset, &properties) &&
         (properties & wanted_properties) == wanted_properties;
}

bool has_code(const ElfImage& image, const CodeRange& code) {
  constexpr std::uint64_t step = 1 << 12;
  bool reads_clock = false, stores = false;
  for (std::uint64_t at = code.begin; at < code.end && !(reads_clock && stores); at += step) {
    const std::uint64_t length = std::min(step, code.end - at);
    const Bytes bytes = image.at_address(at, length);
    for (std::size_t offset = 0; offset + 4 <= bytes.size; offset += 4) {
      std::uint32_t word = 0;
      bytes.read(offset, &word);
      reads_clock |= (word & scalar_memory) == s_memrealtime;
      stores |= (word & scalar_memory) == s_buffer_store_dwordx4;
    }
    if (bytes.size < length) break;
  }
  return reads_clock && stores;
}

const ElfSymbol* find_symbol(const std::vector<ElfSymbol>& symbols, const std::string& name) {
  for (const ElfSymbol& symbol : symbols)
    if (symbol.name == name) return &symbol;
  return nullptr;
}

}  // namespace

bool may_be_of_flydsl(const ElfImage& image) {
  if (!is_wanted() || image.file().size > largest_image || image.is_relocatable()) return false;
  const std::vector<ElfSymbol> symbols = image.symbols();
  return std::any_of(symbols.begin(), symbols.end(), [&](const ElfSymbol& symbol) {
    return !kernel_of_descriptor(symbol.name).empty() && has_properties(image, symbol);
  });
}

void find_flydsl_kernels(const ElfImage& image, const Metadata& metadata, CodeObject* out) {
  if (!may_be_of_flydsl(image)) return;
  const std::vector<ElfSymbol> symbols = image.symbols();
  const KernelCode codes(image);
  for (const KernelMetadata& one : metadata.kernels) {
    const ElfSymbol* const descriptor = find_symbol(symbols, one.symbol);
    const std::optional<CodeRange> code = codes.of(one.symbol);
    if (!descriptor || !code || one.arguments.empty() || !has_properties(image, *descriptor)) continue;
    const KernelArgument& last = one.arguments.back();
    if (last.size != 8 || last.value_kind != "global_buffer" || !has_code(image, *code)) continue;
    auto kernel = std::make_unique<Kernel>();
    kernel->code_object = out;
    kernel->metadata = one;
    kernel->is_of_flydsl = true;
    kernel->note.flags = KTRACE_KERNEL_PLACEHOLDER;  // the host passes the buffer's address itself
    kernel->trace_index = static_cast<std::uint32_t>(one.arguments.size() - 1);
    kernel->trace_offset = last.offset;
    out->kernels.push_back(std::move(kernel));
  }
}

FlydslLayout::FlydslLayout(std::uint64_t bytes) : size(bytes) {
  const std::uint64_t slots = bytes / flydsl_slot;
  for (partitions = most_partitions;; partitions /= 2) {
    const std::uint64_t left = slots > header_slots() ? slots - header_slots() : 0;
    regions = (left + flydsl_region_slots - 1) / flydsl_region_slots;
    if (partitions == 1 || capacity(partitions - 1) >= least_waves) return;
  }
}

std::uint64_t FlydslLayout::capacity(std::uint64_t partition) const {
  return regions > partition ? (regions - partition + partitions - 1) / partitions : 0;
}

FlydslLayout::Used FlydslLayout::used(const std::vector<std::uint8_t>& header) const {
  Used used;
  std::uint64_t last = 0;  // region, from 1
  for (std::uint64_t p = 0; p < partitions; ++p) {
    const std::size_t at = (static_cast<std::size_t>(p) + 1) * cursor_stride;
    std::uint32_t waves = 0;
    if (at + sizeof waves > header.size()) break;
    std::memcpy(&waves, header.data() + at, sizeof waves);
    used.waves += waves;
    const std::uint64_t held = std::min<std::uint64_t>(waves, capacity(p));
    if (held > 0) last = std::max(last, (held - 1) * partitions + p + 1);
  }
  used.bytes = std::min(size, header_bytes() + last * flydsl_region_slots * flydsl_slot);
  return used;
}

}  // namespace ktrace
