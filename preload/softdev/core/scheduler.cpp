// Workgroups go to XCDs in turn, within an XCD to its CUs in turn; on a CU the wave with the lowest virtual
// time runs. One thread and no host clock: the same dispatch always runs the same way.
#include "core/scheduler.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <queue>
#include <string>
#include <utility>

#include "core/access_guard.hpp"
#include "core/check.hpp"
#include "core/clock.hpp"
#include "core/compute_unit.hpp"
#include "core/dispatch.hpp"
#include "core/interpreter.hpp"
#include "core/settings.hpp"
#include "core/text.hpp"
#include "core/wave_setup.hpp"

namespace ktrace::softdev {

namespace {

// A wave may run ahead of the others of its CU by this: less is truer to contention, more is faster.
constexpr uint64_t wave_slack = 128;
// A CU may run ahead of the others by this: its waves' state stays in the host's caches meanwhile ...
constexpr uint64_t cu_slack = 8192;
// ... but by this alone with what other CUs may notice (Start::in_order) ...
constexpr uint64_t shared_slack = 2048;
// ... and by this when it takes the next workgroup.
constexpr uint64_t placing_slack = 256;

struct Xcd {
  uint64_t next_group = 0;  // linear workgroup number; they go to the XCDs in turn
  uint32_t next_cu = 0;
  uint64_t next_start = 0;
  uint64_t shortest = ComputeUnit::never;  // of its workgroups, from start to start of the next
  // CUs that have something to do, by when, then by number.
  using Entry = std::pair<uint64_t, uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  uint64_t next_time() const { return queue.empty() ? ComputeUnit::never : queue.top().first; }
};

[[noreturn]] void vanished_fault(const Wave& wave, uint64_t address) {
  fault(wave, wave.text->at(wave.pc)->inst,
        "memory access fault: the memory at 0x%llx was unmapped while the kernel ran",
        static_cast<unsigned long long>(address));
}

// What is neither the program's nor allocated: kernels read their packet and queue, and their arguments.
std::vector<Region> own_memory(const LaunchState& launch) {
  const auto range = [](const void* begin, size_t size) {
    const auto address = reinterpret_cast<uint64_t>(begin);
    return Region{address, address + size, true};
  };
  return {range(&launch.packet, sizeof launch.packet),
          range(reinterpret_cast<const void*>(launch.queue), sizeof(QueueDescriptor)),
          range(launch.dispatch.kernarg, launch.dispatch.kernarg_size)};
}

AddressSpace::Foreign foreign_use() {
  using Foreign = AddressSpace::Foreign;
  if (!host_memory_from_environment()) {
    return Foreign::refused;
  }
  return check_from_environment() ? Foreign::noticed : Foreign::allowed;
}

class Run {
 public:
  Run(const Device& device, const MemoryRegistry& registry, WavePool& pool, const Dispatch& dispatch,
      uint64_t dispatch_id, uint64_t begin, uint64_t& end)
      : m_device(device),
        m_topology(device.topology()),
        m_pool(pool),
        m_state(dispatch, device, registry, budget_from_environment()),
        m_launch(dispatch, dispatch_id, dispatch.kernel->lds_bytes + dispatch.dynamic_lds),
        m_group_count(uint64_t{dispatch.grid[0]} * dispatch.grid[1] * dispatch.grid[2]),
        m_end(end) {
    m_state.budget_total = m_state.budget;
    m_cus.resize(m_topology.cus());
    m_xcds.resize(m_topology.xcds);
    for (uint32_t k = 0; k < m_cus.size(); ++k) {
      m_cus[k].index = k;
      m_cus[k].clock = &pool.clock(k, k / m_topology.cus_per_xcd);
    }
    pool.clear_clocks();
    m_state.memory.set_up(own_memory(m_launch), foreign_use());
    m_result.start_cycles = begin + clock_model::dispatch_overhead;
    const uint32_t block = dispatch.block[0] * dispatch.block[1] * dispatch.block[2];
    m_groups_per_cu = device.occupancy(*dispatch.kernel, block, dispatch.dynamic_lds);
  }

  ~Run() {  // after a fault, waves are still resident
    for (ComputeUnit& cu : m_cus) {
      for (auto& group : cu.groups) {
        for (Resident& resident : group->residents) {
          retire(resident);
        }
        m_pool.give_group(std::move(group));
      }
    }
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  DispatchResult run() {
    fill_device();
    uint64_t address = 0;
    if (!run_guarded(m_state.memory, [this] { run_waves(); }, address)) {
      vanished_fault(*m_current, address);
    }
    m_result.end_cycles = std::max(m_end, m_result.start_cycles);
    m_end = m_result.end_cycles + clock_model::completion_overhead;
    m_result.instructions = m_state.budget_total - m_state.budget;
    return m_result;
  }

 private:
  const Device& m_device;
  const Topology& m_topology;
  WavePool& m_pool;
  DispatchState m_state;
  LaunchState m_launch;
  const uint64_t m_group_count;
  uint64_t& m_end;
  uint32_t m_groups_per_cu = 0;
  uint32_t m_next_serial = 0;
  std::vector<ComputeUnit> m_cus;
  std::vector<Xcd> m_xcds;
  const Wave* m_current = nullptr;
  DispatchResult m_result;

  // The XCD that is behind the others goes on.
  void run_waves() {
    for (;;) {
      Xcd* first = &m_xcds[0];
      uint64_t others = ComputeUnit::never;
      for (Xcd& xcd : m_xcds) {
        if (&xcd == first) {
          continue;
        }
        if (xcd.next_time() < first->next_time()) {
          others = std::min(others, first->next_time());
          first = &xcd;
        } else {
          others = std::min(others, xcd.next_time());
        }
      }
      if (first->queue.empty()) {
        return;
      }
      run_xcd(*first, known(others));
    }
  }

  // Far away instead of never: something is added to it.
  static uint64_t known(uint64_t time) { return std::min(time, ComputeUnit::never - cu_slack); }

  // `others`: the lowest time of the other XCDs.
  void run_xcd(Xcd& xcd, uint64_t others) {
    bool goes_on = true;
    while (goes_on && !xcd.queue.empty() && xcd.next_time() <= others + cu_slack) {
      ComputeUnit& cu = m_cus[xcd.queue.top().second];
      xcd.queue.pop();
      goes_on = run_cu(cu, known(xcd.next_time()), others);
      enqueue(xcd, cu);
    }
  }

  static void enqueue(Xcd& xcd, const ComputeUnit& cu) {
    const uint64_t time = cu.next_time();
    if (time != ComputeUnit::never) {
      xcd.queue.emplace(time, cu.index);
    }
  }

  void fill_device() {
    for (uint32_t x = 0; x < m_xcds.size(); ++x) {
      Xcd& xcd = m_xcds[x];
      xcd.next_group = x;
      xcd.next_start = m_result.start_cycles;
      const uint64_t places = uint64_t{m_groups_per_cu} * m_topology.cus_per_xcd;
      for (uint64_t k = 0; k < places && xcd.next_group < m_group_count; ++k) {
        ComputeUnit& cu = m_cus[x * m_topology.cus_per_xcd + xcd.next_cu];
        xcd.next_cu = (xcd.next_cu + 1) % m_topology.cus_per_xcd;
        start_group(xcd, cu, xcd.next_start);
        xcd.next_start += clock_model::workgroup_start;
      }
    }
    for (const ComputeUnit& cu : m_cus) {
      enqueue(m_xcds[cu.index / m_topology.cus_per_xcd], cu);
    }
  }

  void start_group(Xcd& xcd, ComputeUnit& cu, uint64_t time) {
    const uint64_t number = xcd.next_group;
    xcd.next_group += m_topology.xcds;
    cu.groups.push_back(m_pool.take_group());
    StartedGroup& group = *cu.groups.back();
    const uint32_t* grid = m_launch.dispatch.grid;
    group.id[0] = static_cast<uint32_t>(number % grid[0]);
    group.id[1] = static_cast<uint32_t>(number / grid[0] % grid[1]);
    group.id[2] = static_cast<uint32_t>(number / (uint64_t{grid[0]} * grid[1]));
    group.cu = cu.index;
    group.has_lds = false;
    group.start_time = time;
    ++m_result.workgroups;
    group.shape = shape_of(m_launch, group.id);
    group.live_waves = group.shape.waves();
    group.waiting_waves = 0;
    group.residents.assign(group.live_waves, Resident());
    for (uint32_t k = 0; k < group.live_waves; ++k) {
      start_wave(cu, group, k, time + k * clock_model::wave_start);
    }
  }

  void start_wave(ComputeUnit& cu, StartedGroup& group, uint32_t number, uint64_t time) {
    Resident& resident = group.residents[number];
    resident.group = &group;
    resident.start_time = time;
    resident.number = number;
    resident.serial = m_next_serial++;
    cu.give_slot(resident);
    cu.add(resident, time);
    ++m_result.waves;
  }

  // Its first instruction is due.
  void set_up(const ComputeUnit& cu, Resident& resident) {
    StartedGroup& group = *resident.group;
    if (!group.has_lds) {
      group.lds.assign(m_launch.lds_size, 0);
      group.lds_written.clear();
      group.has_lds = true;
    }
    Wave& wave = *m_pool.take();
    resident.wave = &wave;
    wave.reset();
    wave.workgroup = &group;
    wave.arch = m_device.arch();
    wave.dispatch = &m_state;
    wave.wave_in_group = resident.number;
    wave.serial = resident.serial;
    wave.time = resident.start_time;
    wave.start_time = resident.start_time;
    wave.clock = cu.clock;
    wave.simd = resident.simd;
    set_place(wave, cu, resident);
    wave.vgprs = m_pool.take_registers(m_launch.vgprs, m_launch.agprs);
    wave.checks = check_from_environment() ? new WaveChecks(wave.arch) : nullptr;
    give_scratch(wave);
    set_up_wave(wave, m_launch, group.shape);
  }

  void give_scratch(Wave& wave) const {
    if (m_launch.scratch_size) {
      wave.scratch = static_cast<uint8_t*>(std::calloc(lanes, m_launch.scratch_size));
      if (!wave.scratch) {
        throw std::bad_alloc();
      }
      wave.scratch_size = m_launch.scratch_size;
    }
  }

  // HW_ID and XCC_ID.
  void set_place(Wave& wave, const ComputeUnit& cu, const Resident& resident) const {
    const uint32_t within_xcd = cu.index % m_topology.cus_per_xcd;
    const uint32_t engine = within_xcd % m_topology.shader_engines;
    const uint32_t within_engine = within_xcd / m_topology.shader_engines;
    wave.xcc_id = cu.index / m_topology.cus_per_xcd;
    // wave[3:0] simd[5:4] pipe[7:6] cu[11:8] sh[12] se[15:13]
    wave.hw_id = (resident.slot & 15) | resident.simd << 4 | (within_engine & 15) << 8 | (engine & 7) << 13;
  }

  // Returns the wave's memory.
  void retire(Resident& resident) {
    if (!resident.wave) {
      return;
    }
    Wave& wave = *resident.wave;
    std::free(wave.scratch);
    wave.scratch = nullptr;
    delete wave.checks;
    wave.checks = nullptr;
    if (wave.vgprs) {
      m_pool.give_registers(wave.vgprs, m_launch.vgprs, m_launch.agprs);
      wave.vgprs = nullptr;
    }
    m_pool.give(&wave);
    resident.wave = nullptr;
  }

  // `neighbours`: the lowest time of the XCD's other CUs; `others`: of the other XCDs. False if there is
  // nothing to do until they come near.
  bool run_cu(ComputeUnit& cu, uint64_t neighbours, uint64_t others) {
    const uint64_t horizon = std::min(neighbours, others) + cu_slack;
    m_state.order_horizon = std::min(neighbours, others) + shared_slack;
    for (;;) {
      fill_vacancies(cu, neighbours, horizon);
      // A workgroup that is about to start will share the CU: its place in time is not run past.
      if (!cu.first() || cu.first_time() > std::min(horizon, cu.next_vacancy())) {
        return true;
      }
      Resident& resident = *cu.first();
      if (!resident.wave) {
        set_up(cu, resident);
      }
      Wave& wave = *resident.wave;
      m_current = &wave;
      const uint64_t next = cu.second_time();
      cu.prefetch_second();
      const uint64_t deadline = next < horizon ? std::min(horizon, next + wave_slack) : horizon;
      const bool goes_on = run_wave(wave, cu.clock->units, deadline);
      m_end = std::max(m_end, wave.time);
      if (wave.done) {
        end_wave(cu, resident);
      } else if (wave.at_barrier) {
        cu.remove_first();
        ++wave.workgroup->waiting_waves;
        release_barrier(cu, *resident.group);
      } else {
        cu.move_first(wave.time);
        if (!goes_on) {
          return false;
        }
      }
    }
  }

  // Whether there are so many workgroups left that the XCD's CUs cannot run out of them before they have all
  // gone as far as one of them may go: then it does not matter who takes the next one first.
  bool has_plenty(const Xcd& xcd) const {
    const uint64_t left = (m_group_count - xcd.next_group) / m_topology.xcds;
    return left > uint64_t{m_groups_per_cu} * m_topology.cus_per_xcd * (1 + cu_slack / xcd.shortest);
  }

  // Workgroups go where there is room first.
  void fill_vacancies(ComputeUnit& cu, uint64_t neighbours, uint64_t far) {
    Xcd& xcd = m_xcds[cu.index / m_topology.cus_per_xcd];
    while (!cu.vacancies.empty()) {
      if (xcd.next_group >= m_group_count) {
        cu.vacancies.clear();
        return;
      }
      const auto first = std::min_element(cu.vacancies.begin(), cu.vacancies.end());
      if (*first > (has_plenty(xcd) ? far : neighbours + placing_slack)) {
        return;
      }
      const uint64_t time = *first;
      cu.vacancies.erase(first);
      start_group(xcd, cu, time);
    }
  }

  void end_wave(ComputeUnit& cu, Resident& resident) {
    StartedGroup& group = *resident.group;
    const uint64_t time = resident.wave->time;
    cu.remove_first();
    cu.free_slot(resident);
    retire(resident);
    --group.live_waves;
    if (group.live_waves > 0) {
      release_barrier(cu, group);  // the others do not wait for a wave that has ended
      return;
    }
    const auto found = std::find_if(cu.groups.begin(), cu.groups.end(),
                                    [&](const auto& owned) { return owned.get() == &group; });
    m_pool.give_group(std::move(*found));
    std::swap(*found, cu.groups.back());
    cu.groups.pop_back();
    const uint64_t vacancy = time + clock_model::refill;
    cu.vacancies.push_back(vacancy);
    Xcd& xcd = m_xcds[cu.index / m_topology.cus_per_xcd];
    xcd.shortest = std::min(xcd.shortest, vacancy - group.start_time);
  }

  // When every wave that still lives has arrived, all go on at the time of the last.
  static void release_barrier(ComputeUnit& cu, StartedGroup& group) {
    if (group.waiting_waves == 0 || group.waiting_waves < group.live_waves) {
      return;
    }
    uint64_t time = 0;
    for (const Resident& resident : group.residents) {
      time = resident.wave ? std::max(time, resident.wave->time) : time;
    }
    for (Resident& resident : group.residents) {
      if (resident.wave) {
        resident.wave->at_barrier = false;
        resident.wave->time = time + clock_model::barrier;
        cu.add(resident, resident.wave->time);
      }
    }
    group.waiting_waves = 0;
  }
};

}  // namespace

DispatchResult run_dispatch(const Device& device, const MemoryRegistry& registry, WavePool& pool,
                            const Dispatch& dispatch, uint64_t dispatch_id, uint64_t begin, uint64_t& end) {
  check_dispatch(device, dispatch);
  return Run(device, registry, pool, dispatch, dispatch_id, begin, end).run();
}

}  // namespace ktrace::softdev
