// Which addresses a kernel may touch: the registry's ranges and whatever else the process has mapped.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <iterator>

#include "core/dispatch.hpp"

namespace ktrace::softdev {

namespace {

constexpr uint64_t null_page_end = 65536;  // addresses below are null pointers with an offset

}  // namespace

const Region* AddressSpace::remember(const Region& region) {
  Region& slot = m_recent[m_next];
  m_next = (m_next + 1) % (sizeof m_recent / sizeof m_recent[0]);
  slot = region;
  return &slot;
}

const Region* AddressSpace::find_slowly(uint64_t address, uint64_t size, bool write) {
  if (m_generation != m_registry.generation()) {
    // Memory came or went while the kernel runs: another thread's doing.
    m_generation = m_registry.generation();
    for (Region& region : m_recent) {
      region = {};
    }
    m_mappings_read = false;
    m_mappings.clear();
  }
  if (address < null_page_end || address + size < address) {
    return nullptr;
  }
  const auto allocation = m_registry.find(reinterpret_cast<const void*>(address));
  if (allocation && address + size <= allocation->base + allocation->size) {
    return remember({allocation->base, allocation->base + allocation->size, true});
  }
  if (const Region* own = find_own(address, size)) {
    return own;
  }
  if (m_foreign_use == Foreign::refused) {
    return nullptr;
  }
  Region mapping = find_mapping(address, size, write);
  if (mapping.end == 0 && !m_mappings_read) {
    learn_mappings(address, size, write);
    mapping = find_mapping(address, size, write);
  }
  if (mapping.end == 0) {
    return nullptr;
  }
  return m_foreign_use == Foreign::noticed ? meet_foreign(mapping, address) : remember(mapping);
}

// Usually one mapping; an access may begin in one and end in the next, which allows something else besides.
// None if they do not allow it.
Region AddressSpace::find_mapping(uint64_t address, uint64_t size, bool write) const {
  Region found{0, address, true};
  while (found.end < address + size) {
    const auto next = std::find_if(m_mappings.begin(), m_mappings.end(), [&](const Region& mapping) {
      return found.end >= mapping.base && found.end < mapping.end && (mapping.writable || !write);
    });
    if (next == m_mappings.end()) {
      return {};
    }
    found = {found.base ? found.base : next->base, next->end, found.writable && next->writable};
  }
  return found;
}

// One mapping is quickly asked for, and is usually all that is needed.
void AddressSpace::learn_mappings(uint64_t address, uint64_t size, bool write) {
  const std::vector<Region> parts = mapping_at(address);
  m_mappings.insert(m_mappings.end(), parts.begin(), parts.end());
  if (find_mapping(address, size, write).end == 0) {
    m_mappings = read_process_map();
    m_mappings_read = true;
  }
}

const Region* AddressSpace::find_own(uint64_t address, uint64_t size) {
  for (const Region& own : m_own) {
    if (address >= own.base && address + size <= own.end) {
      return remember(own);
    }
  }
  return nullptr;
}

// Not remembered: each access is noticed.
const Region* AddressSpace::meet_foreign(const Region& mapping, uint64_t address) {
  m_foreign = address;
  m_foreign_region = mapping;
  return &m_foreign_region;
}

bool AddressSpace::has_met(uint64_t address) const {
  const auto holds = [address](const Region& region) {
    return address >= region.base && address < region.end;
  };
  return std::any_of(std::begin(m_recent), std::end(m_recent), holds) || holds(m_foreign_region) ||
         std::any_of(m_mappings.begin(), m_mappings.end(), holds);
}

std::string AddressSpace::describe(uint64_t address, bool write) const {
  if (address < null_page_end) {
    return "a null pointer";
  }
  const bool refused = m_foreign_use == Foreign::refused;
  for (const Region& mapping : refused ? read_process_map() : m_mappings) {
    if (address < mapping.base || address >= mapping.end) {
      continue;
    }
    if (refused && !m_registry.find(reinterpret_cast<const void*>(address))) {
      return "this memory is neither allocated by HIP nor registered, and KTRACE_SOFT_HOST_MEMORY is 0";
    }
    if (!write || mapping.writable) {
      return write ? "the access runs over the end of what kernels may write"
                   : "the access runs over the end of what is mapped";
    }
    if (mapping.withheld) {
      return "this is a stack, a mapped file, or data of the program or a library: kernels may only read it";
    }
    return "this memory is read-only";
  }
  const auto nearest = m_registry.nearest(reinterpret_cast<const void*>(address));
  if (!nearest) {
    return "nothing is mapped there, and nothing is allocated";
  }
  char text[200];
  const uint64_t end = nearest->base + nearest->size;
  const bool behind = address >= nearest->base;
  const uint64_t distance = behind ? address - end : nearest->base - address;
  std::snprintf(text, sizeof text,
                "nothing is mapped there; the nearest allocation has %zu bytes at 0x%" PRIx64
                ", and this is %" PRIu64 " bytes %s",
                nearest->size, nearest->base, distance, behind ? "past its end" : "before its begin");
  return text;
}

void memory_fault(const Wave& wave, const Inst& inst, uint64_t address, uint64_t size, bool write, int lane) {
  const std::string reason = wave.dispatch->memory.describe(address, write);
  char who[24] = "";
  if (lane >= 0) {
    std::snprintf(who, sizeof who, ", lane %d", lane);
  }
  fault(wave, inst, "memory access fault: %s of %" PRIu64 " bytes at 0x%" PRIx64 "%s: %s",
        write ? "write" : "read", size, address, who, reason.c_str());
}

}  // namespace ktrace::softdev
