// A device: its topology, its clock, what fits on it.
#include <algorithm>

#include "core/machine.hpp"
#include "core/scheduler.hpp"

namespace ktrace::softdev {

namespace {

constexpr uint64_t gib = uint64_t{1} << 30;
constexpr uint32_t clock_khz = static_cast<uint32_t>(core_clock_hz / 1000);

Topology topology_of(Arch arch) {
  switch (arch) {
    case Arch::gfx90a:
      return {"ktrace software device (gfx90a)",
              1,
              8,
              110,
              4,
              8,
              65536,
              512,
              64 * gib,
              clock_khz,
              1600000,
              4096,
              8u << 20};
    case Arch::gfx950:
      return {"ktrace software device (gfx950)",
              8,
              4,
              32,
              4,
              8,
              163840,
              512,
              288 * gib,
              clock_khz,
              2000000,
              8192,
              4u << 20};
    case Arch::gfx942:
      break;
  }
  return {"ktrace software device (gfx942)",
          8,
          4,
          38,
          4,
          8,
          65536,
          512,
          192 * gib,
          clock_khz,
          1300000,
          8192,
          4u << 20};
}

uint32_t round_up(uint32_t value, uint32_t granule) { return (value + granule - 1) / granule * granule; }

}  // namespace

Device::Device(int index, Arch arch, MemoryRegistry& registry)
    : m_index(index),
      m_arch(arch),
      m_topology(topology_of(arch)),
      m_registry(registry),
      m_now(core_clock_hz),  // 1 s: a clock of 0 would look unset
      m_pools(std::make_unique<DevicePools>()) {}

Device::~Device() = default;

uint32_t Device::occupancy(const Kernel& kernel, uint32_t block_size, uint32_t dynamic_lds) const {
  if (block_size == 0 || block_size > 1024) {
    return 0;
  }
  const uint32_t waves = (block_size + lanes - 1) / lanes;
  const uint32_t registers = ((kernel.rsrc1 & 63) + 1) * 8;
  const uint32_t waves_per_simd =
      std::min(m_topology.wave_slots_per_simd, m_topology.vgprs_per_simd / registers);
  uint32_t groups = waves_per_simd * m_topology.simds_per_cu / waves;
  constexpr uint32_t barriers_per_cu = 16;
  if (waves > 1) {
    groups = std::min(groups, barriers_per_cu);
  }
  const uint64_t lds = uint64_t{kernel.lds_bytes} + dynamic_lds;
  if (lds > m_topology.lds_bytes_per_cu) {
    return 0;
  }
  if (lds > 0) {
    const uint32_t granule = m_arch == Arch::gfx950 ? 1280 : 512;
    groups = std::min(groups, m_topology.lds_bytes_per_cu / round_up(static_cast<uint32_t>(lds), granule));
  }
  return groups;
}

uint64_t Device::cycles_to_ns(uint64_t cycles) {
  // 2.1 cycles a nanosecond, without overflow or rounding that accumulates.
  return cycles / 21 * 10 + cycles % 21 * 10 / 21;
}

uint64_t Device::now_ns() const { return cycles_to_ns(now_cycles()); }

void Device::advance_host(uint64_t ns) {
  m_now.fetch_add(ns / 10 * 21 + ns % 10 * 21 / 10, std::memory_order_acq_rel);
}

DispatchResult Device::run(const Dispatch& dispatch) {
  const std::lock_guard lock(m_run_mutex);
  const uint64_t begin = now_cycles();
  uint64_t end = begin;
  const auto advance = [&] {
    uint64_t now = now_cycles();
    while (now < end && !m_now.compare_exchange_weak(now, end)) {
    }
  };
  try {
    const DispatchResult result =
        run_dispatch(*this, m_registry, *m_pools, dispatch, ++m_dispatch_count, begin, end);
    advance();
    return result;
  } catch (...) {
    advance();
    throw;
  }
}

}  // namespace ktrace::softdev
