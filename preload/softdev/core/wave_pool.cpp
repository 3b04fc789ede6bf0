// Memory of waves, register files and workgroups, and the clocks of CUs.
#include "core/wave_pool.hpp"

#include <sys/mman.h>

#include <cstring>
#include <new>
#include <utility>

#include "core/compute_unit.hpp"

namespace ktrace::softdev {

namespace {

// Files do not start at the same place of a page: the first rows, which all waves use, would otherwise meet
// in the same sets of the host's caches.
constexpr size_t apart = 272;  // dwords: 17 lines
constexpr size_t file_dwords = WavePool::rows * lanes + apart;
constexpr size_t slab_files = 64;
constexpr size_t slab_bytes = slab_files * file_dwords * sizeof(uint32_t);

// Of one kind of registers, of which the first is `rows`.
void clear_rows(uint32_t* rows, uint32_t from, uint32_t to) {
  if (from < to) {
    std::memset(rows + size_t{from} * lanes, 0, size_t{to - from} * lanes * sizeof(uint32_t));
  }
}

constexpr size_t first_agpr = size_t{256} * lanes;

}  // namespace

WavePool::WavePool() = default;

WavePool::~WavePool() {
  for (void* slab : m_slabs) {
    munmap(slab, slab_bytes);
  }
}

Wave* WavePool::take() {
  if (m_free.empty()) {
    m_waves.push_back(std::make_unique<Wave>());
    m_waves.back()->vgprs = nullptr;
    m_waves.back()->scratch = nullptr;
    return m_waves.back().get();
  }
  Wave* wave = m_free.back();
  m_free.pop_back();
  return wave;
}

std::unique_ptr<StartedGroup> WavePool::take_group() {
  if (m_free_groups.empty()) {
    return std::make_unique<StartedGroup>();
  }
  auto group = std::move(m_free_groups.back());
  m_free_groups.pop_back();
  return group;
}

void WavePool::give_group(std::unique_ptr<StartedGroup> group) { m_free_groups.push_back(std::move(group)); }

uint32_t* WavePool::take_registers(uint32_t vgprs, uint32_t agprs) {
  if (m_free_registers.empty()) {
    grow();
  }
  const RegisterFile file = m_free_registers.back();
  m_free_registers.pop_back();
  clear_rows(file.rows, file.clear_vgprs, vgprs);
  clear_rows(file.rows + first_agpr, file.clear_agprs, agprs);
  return file.rows;
}

void WavePool::give_registers(uint32_t* file, uint32_t vgprs, uint32_t agprs) {
  clear_rows(file, 0, vgprs);
  clear_rows(file + first_agpr, 0, agprs);
  m_free_registers.push_back({file, vgprs, agprs});
}

void WavePool::grow() {
  // Most rows are never touched: pages come into being one by one, so huge ones would waste what they save.
  void* slab =
      mmap(nullptr, slab_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (slab == MAP_FAILED) {
    throw std::bad_alloc();
  }
  madvise(slab, slab_bytes, MADV_NOHUGEPAGE);
  m_slabs.push_back(slab);
  for (size_t k = slab_files; k-- > 0;) {
    constexpr uint32_t all = 256;  // fresh pages
    m_free_registers.push_back({static_cast<uint32_t*>(slab) + k * file_dwords, all, all});
  }
}

WavePool& DevicePools::waves(unsigned worker) {
  while (m_waves.size() <= worker) {
    m_waves.emplace_back();
  }
  return m_waves[worker];
}

CuClock& DevicePools::clock(uint32_t cu, uint32_t xcd) {
  while (m_xcds.size() <= xcd) {
    m_xcds.emplace_back();
  }
  while (m_cus.size() <= cu) {
    m_cus.emplace_back();
  }
  m_cus[cu].xcd = &m_xcds[xcd];
  return m_cus[cu];
}

void DevicePools::clear_clocks() {
  for (CuClock& cu : m_cus) {
    cu.clear();
  }
  for (XcdClock& xcd : m_xcds) {
    xcd.clear();
  }
}

}  // namespace ktrace::softdev
