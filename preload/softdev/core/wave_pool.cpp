// Memory of waves and register files, and the clocks of CUs.
#include <sys/mman.h>

#include <new>

#include "core/scheduler.hpp"

namespace ktrace::softdev {

namespace {

// Files do not start at the same place of a page: the first rows, which all waves use, would otherwise meet
// in the same sets of the host's caches.
constexpr size_t apart = 272;  // dwords: 17 lines
constexpr size_t file_dwords = WavePool::rows * lanes + apart;
constexpr size_t slab_files = 64;
constexpr size_t slab_bytes = slab_files * file_dwords * sizeof(uint32_t);

}  // namespace

WavePool::~WavePool() {
  for (void* slab : m_slabs) {
    munmap(slab, slab_bytes);
  }
}

CuClock& WavePool::clock(uint32_t cu, uint32_t xcd) {
  while (m_xcds.size() <= xcd) {
    m_xcds.emplace_back();
  }
  while (m_cus.size() <= cu) {
    m_cus.emplace_back();
  }
  m_cus[cu].xcd = &m_xcds[xcd];
  return m_cus[cu];
}

void WavePool::clear_clocks() {
  for (CuClock& cu : m_cus) {
    cu.clear();
  }
  for (XcdClock& xcd : m_xcds) {
    xcd.clear();
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

uint32_t* WavePool::take_registers() {
  if (m_free_registers.empty()) {
    grow();
  }
  uint32_t* file = m_free_registers.back();
  m_free_registers.pop_back();
  return file;
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
    m_free_registers.push_back(static_cast<uint32_t*>(slab) + k * file_dwords);
  }
}

}  // namespace ktrace::softdev
