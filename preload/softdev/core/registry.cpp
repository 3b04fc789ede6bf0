// Memory that the HIP layer gave out or was told about.
#include <sys/mman.h>
#include <unistd.h>

#include "core/machine.hpp"

namespace ktrace::softdev {

namespace {

uint64_t page_size() {
  static const auto size = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return size;
}

// What mmap is asked for: whole pages and one that nobody may touch, so that running over the end is noticed.
size_t mapped_size(size_t size) {
  const uint64_t page = page_size();
  return static_cast<size_t>((size + page - 1) / page * page + page);
}

uint64_t address_of(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

bool is_owned(MemoryKind kind) { return kind != MemoryKind::host_registered && kind != MemoryKind::adopted; }

}  // namespace

MemoryRegistry::~MemoryRegistry() {
  for (const auto& [base, allocation] : m_by_base) {
    if (is_owned(allocation.kind)) {
      munmap(reinterpret_cast<void*>(base), mapped_size(allocation.size));
    }
  }
}

bool MemoryRegistry::insert(uint64_t base, size_t size, MemoryKind kind, int device) {
  const std::lock_guard lock(m_mutex);
  const auto next = m_by_base.lower_bound(base);
  const bool overlaps_next = next != m_by_base.end() && next->first - base < size;
  bool overlaps_previous = false;
  if (next != m_by_base.begin()) {
    const Allocation& previous = std::prev(next)->second;
    overlaps_previous = base - previous.base < previous.size;
  }
  if (overlaps_next || overlaps_previous) {
    return false;
  }
  m_by_base.emplace(base, Allocation{base, size, kind, device, m_next_serial++});
  m_generation.fetch_add(1, std::memory_order_release);
  return true;
}

void* MemoryRegistry::allocate(size_t size, MemoryKind kind, int device) {
  if (size == 0 || size > SIZE_MAX / 2) {
    return nullptr;
  }
  const size_t total = mapped_size(size);
  void* pointer =
      mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pointer == MAP_FAILED) {
    return nullptr;
  }
  const size_t page = static_cast<size_t>(page_size());
  mprotect(static_cast<char*>(pointer) + total - page, page, PROT_NONE);
  while (!insert(address_of(pointer), size, kind, device)) {
    // The program unmapped memory that it had registered, and the system gave its addresses to us.
    forget_overlapped(address_of(pointer), total);
  }
  return pointer;
}

void MemoryRegistry::forget_overlapped(uint64_t base, size_t size) {
  const std::lock_guard lock(m_mutex);
  for (auto entry = m_by_base.begin(); entry != m_by_base.end();) {
    const Allocation& range = entry->second;
    const bool overlaps = range.base < base + size && base < range.base + range.size;
    entry = overlaps ? m_by_base.erase(entry) : std::next(entry);
  }
  m_generation.fetch_add(1, std::memory_order_release);
}

bool MemoryRegistry::release(void* pointer) {
  size_t total = 0;
  {
    const std::lock_guard lock(m_mutex);
    const auto found = m_by_base.find(address_of(pointer));
    if (found == m_by_base.end() || !is_owned(found->second.kind)) {
      return false;
    }
    total = mapped_size(found->second.size);
    m_by_base.erase(found);
    m_generation.fetch_add(1, std::memory_order_release);
  }
  munmap(pointer, total);
  return true;
}

bool MemoryRegistry::adopt(void* pointer, size_t size, MemoryKind kind, int device) {
  return pointer && size && insert(address_of(pointer), size, kind, device);
}

bool MemoryRegistry::abandon(void* pointer) {
  const std::lock_guard lock(m_mutex);
  const auto found = m_by_base.find(address_of(pointer));
  if (found == m_by_base.end() || is_owned(found->second.kind)) {
    return false;
  }
  m_by_base.erase(found);
  m_generation.fetch_add(1, std::memory_order_release);
  return true;
}

std::optional<Allocation> MemoryRegistry::find(const void* pointer) const {
  const uint64_t address = address_of(pointer);
  const std::lock_guard lock(m_mutex);
  auto above = m_by_base.upper_bound(address);
  if (above == m_by_base.begin()) {
    return std::nullopt;
  }
  const Allocation& allocation = std::prev(above)->second;
  if (address - allocation.base >= allocation.size) {
    return std::nullopt;
  }
  return allocation;
}

std::optional<Allocation> MemoryRegistry::nearest(const void* pointer) const {
  const uint64_t address = address_of(pointer);
  const std::lock_guard lock(m_mutex);
  const auto above = m_by_base.upper_bound(address);
  std::optional<Allocation> result;
  uint64_t distance = UINT64_MAX;
  if (above != m_by_base.end()) {
    result = above->second;
    distance = above->first - address;
  }
  if (above != m_by_base.begin()) {
    const Allocation& below = std::prev(above)->second;
    const uint64_t end = below.base + below.size;
    if (address < end || address - end <= distance) {
      result = below;
    }
  }
  return result;
}

std::vector<Allocation> MemoryRegistry::allocations() const {
  const std::lock_guard lock(m_mutex);
  std::vector<Allocation> result;
  for (const auto& entry : m_by_base) {
    result.push_back(entry.second);
  }
  return result;
}

size_t MemoryRegistry::allocated_bytes() const {
  const std::lock_guard lock(m_mutex);
  size_t total = 0;
  for (const auto& entry : m_by_base) {
    const Allocation& allocation = entry.second;
    if (allocation.kind == MemoryKind::device || allocation.kind == MemoryKind::managed) {
      total += allocation.size;
    }
  }
  return total;
}

}  // namespace ktrace::softdev
