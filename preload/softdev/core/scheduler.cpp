// Workgroups go to XCDs in turn, within an XCD to its CUs in turn; on a CU the wave with the lowest virtual
// time runs. One thread and no host clock: the same dispatch always runs the same way.
#include "core/scheduler.hpp"

#include <algorithm>
#include <new>
#include <queue>
#include <string>

#include "core/access_guard.hpp"
#include "core/check.hpp"
#include "core/clock.hpp"
#include "core/dispatch.hpp"
#include "core/interpreter.hpp"
#include "core/settings.hpp"
#include "core/text.hpp"
#include "core/wave_setup.hpp"

namespace ktrace::softdev {

namespace {

// A wave may run ahead of the others of its CU by this: less is truer to contention, more is faster.
constexpr uint64_t wave_slack = 64;
// A CU may run ahead of the others by this. Its waves' state stays in the host's cache meanwhile.
constexpr uint64_t cu_slack = 2048;
// What a wave's size of scratch, 13 bits of KiB, leaves to each of its lanes.
constexpr uint32_t scratch_limit = ((1u << 13) - 1) * 1024 / lanes;  // bytes

[[noreturn]] void refuse(const Dispatch& dispatch, const std::string& why) {
  throw Fault("kernel `" + dispatch.kernel->name + "` cannot be dispatched: " + why);
}

void check_dispatch(const Device& device, const Dispatch& dispatch) {
  const Kernel& kernel = *dispatch.kernel;
  if (!dispatch.code_object->runs_on(device.arch())) {
    refuse(dispatch, "it is for " + dispatch.code_object->target() + " and the device is " +
                         arch_name(device.arch()) + " (KTRACE_SOFT_ARCH selects it)");
  }
  uint64_t block = 1;
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (dispatch.grid[axis] == 0 || dispatch.block[axis] == 0 || dispatch.block[axis] > 1024) {
      refuse(dispatch, "its grid is " + std::to_string(dispatch.grid[axis]) + " blocks of " +
                           std::to_string(dispatch.block[axis]) + " on axis " + "xyz"[axis]);
    }
    block *= dispatch.block[axis];
  }
  if (block > kernel.max_workgroup_size) {
    refuse(dispatch, "a block has " + std::to_string(block) +
                         " work-items and the kernel was compiled for at most " +
                         std::to_string(kernel.max_workgroup_size));
  }
  if (device.occupancy(kernel, static_cast<uint32_t>(block), dispatch.dynamic_lds) == 0) {
    refuse(dispatch, "a block of " + std::to_string(block) + " work-items with " +
                         std::to_string(uint64_t{kernel.lds_bytes} + dispatch.dynamic_lds) +
                         " bytes of LDS and " + std::to_string(kernel.vgpr_count) +
                         " VGPRs does not fit on a CU");
  }
  if (kernel.private_bytes > scratch_limit) {
    refuse(dispatch, "it needs " + std::to_string(kernel.private_bytes) + " bytes of scratch per lane and " +
                         std::to_string(scratch_limit) + " are possible");
  }
  if (dispatch.kernarg_size < kernel.kernarg_size) {
    refuse(dispatch, "it got " + std::to_string(dispatch.kernarg_size) + " bytes of arguments and needs " +
                         std::to_string(kernel.kernarg_size));
  }
}

struct Runnable {
  uint64_t time;  // the wave's
  Wave* wave;
};

struct Cu {
  uint32_t index = 0;  // of the device
  CuClock* clock = nullptr;
  std::vector<Runnable> runnable;                  // in order of start
  std::vector<std::unique_ptr<Workgroup>> groups;  // resident
  uint16_t slots[CuUnits::simds] = {};             // one bit per occupied wave slot

  // The first of those with the lowest time, null if there are none, and the lowest time of the others.
  struct Choice {
    Runnable* first = nullptr;
    uint64_t next = ~uint64_t{0};
  };
  Choice choose() {
    Choice choice;
    for (Runnable& each : runnable) {
      if (!choice.first || each.time < choice.first->time) {
        choice.next = choice.first ? choice.first->time : choice.next;
        choice.first = &each;
      } else {
        choice.next = std::min(choice.next, each.time);
      }
    }
    return choice;
  }
  void remove(const Wave& wave) {
    runnable.erase(std::find_if(runnable.begin(), runnable.end(),
                                [&](const Runnable& each) { return each.wave == &wave; }));
  }
};

struct Xcd {
  uint64_t next_group = 0;  // linear workgroup number; they go to the XCDs in turn
  uint32_t next_cu = 0;
  uint64_t next_start = 0;
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
    for (const Cu& cu : m_cus) {
      for (const auto& group : cu.groups) {
        for (Wave* wave : group->waves) {
          retire(*wave);
        }
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
  std::vector<Cu> m_cus;
  std::vector<Xcd> m_xcds;
  const Wave* m_current = nullptr;
  DispatchResult m_result;
  // CUs with runnable waves, by the lowest of their clocks, then by number.
  using Entry = std::pair<uint64_t, uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> m_queue;

  void run_waves() {
    while (!m_queue.empty()) {
      Cu& cu = m_cus[m_queue.top().second];
      m_queue.pop();
      run_cu(cu, m_queue.empty() ? ~uint64_t{0} : m_queue.top().first + cu_slack);
      enqueue(cu);
    }
  }

  void enqueue(Cu& cu) {
    if (const Runnable* first = cu.choose().first) {
      m_queue.emplace(first->time, cu.index);
    }
  }

  void fill_device() {
    for (uint32_t x = 0; x < m_xcds.size(); ++x) {
      Xcd& xcd = m_xcds[x];
      xcd.next_group = x;
      xcd.next_start = m_result.start_cycles;
      const uint64_t places = uint64_t{m_groups_per_cu} * m_topology.cus_per_xcd;
      for (uint64_t k = 0; k < places && xcd.next_group < m_group_count; ++k) {
        Cu& cu = m_cus[x * m_topology.cus_per_xcd + xcd.next_cu];
        xcd.next_cu = (xcd.next_cu + 1) % m_topology.cus_per_xcd;
        start_group(xcd, cu, xcd.next_start);
        xcd.next_start += clock_model::workgroup_start;
      }
    }
    for (Cu& cu : m_cus) {
      enqueue(cu);
    }
  }

  void start_group(Xcd& xcd, Cu& cu, uint64_t time) {
    const uint64_t number = xcd.next_group;
    xcd.next_group += m_topology.xcds;
    auto owned = std::make_unique<Workgroup>();
    Workgroup& group = *owned;
    cu.groups.push_back(std::move(owned));
    const uint32_t* grid = m_launch.dispatch.grid;
    group.id[0] = static_cast<uint32_t>(number % grid[0]);
    group.id[1] = static_cast<uint32_t>(number / grid[0] % grid[1]);
    group.id[2] = static_cast<uint32_t>(number / (uint64_t{grid[0]} * grid[1]));
    group.lds.assign(m_launch.lds_size, 0);
    group.cu = cu.index;
    ++m_result.workgroups;
    group.live_waves = shape_of(m_launch, group.id).waves();
    for (uint32_t k = 0; k < group.live_waves; ++k) {
      start_wave(cu, group, k, time + k * clock_model::wave_start);
    }
  }

  void start_wave(Cu& cu, Workgroup& group, uint32_t number, uint64_t time) {
    Wave& wave = *m_pool.take();
    wave.reset();
    wave.workgroup = &group;
    wave.arch = m_device.arch();
    wave.dispatch = &m_state;
    wave.wave_in_group = number;
    wave.serial = m_next_serial++;
    wave.time = time;
    wave.start_time = time;
    wave.clock = cu.clock;
    give_slot(cu, wave);
    group.waves.push_back(&wave);
    cu.runnable.push_back({time, &wave});
    ++m_result.waves;
  }

  // Its first instruction is due: until then a wave has no registers. The whole device is full of waves that
  // have just been started, and they would push each other out of the host's caches.
  void set_up(Wave& wave) {
    wave.vgprs = m_pool.take_registers();
    wave.checks = check_from_environment() ? new WaveChecks(wave.arch) : nullptr;
    give_scratch(wave);
    set_up_wave(wave, m_launch, shape_of(m_launch, wave.workgroup->id));
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

  // The SIMD with the fewest waves, and its first free slot; both show in HW_ID.
  void give_slot(Cu& cu, Wave& wave) const {
    unsigned simd = 0;
    for (unsigned k = 1; k < CuUnits::simds; ++k) {
      if (__builtin_popcount(cu.slots[k]) < __builtin_popcount(cu.slots[simd])) {
        simd = k;
      }
    }
    const unsigned slot = static_cast<unsigned>(__builtin_ctz(~unsigned{cu.slots[simd]}));
    cu.slots[simd] = static_cast<uint16_t>(cu.slots[simd] | 1u << slot);
    const uint32_t within_xcd = cu.index % m_topology.cus_per_xcd;
    const uint32_t engine = within_xcd % m_topology.shader_engines;
    const uint32_t within_engine = within_xcd / m_topology.shader_engines;
    wave.simd = simd;
    wave.xcc_id = cu.index / m_topology.cus_per_xcd;
    // wave[3:0] simd[5:4] pipe[7:6] cu[11:8] sh[12] se[15:13]
    wave.hw_id = (slot & 15) | simd << 4 | (within_engine & 15) << 8 | (engine & 7) << 13;
  }

  // Returns the wave's memory; the workgroup forgets it afterwards.
  void retire(Wave& wave) {
    std::free(wave.scratch);
    wave.scratch = nullptr;
    delete wave.checks;
    wave.checks = nullptr;
    if (wave.vgprs) {
      m_pool.give_registers(wave.vgprs);
      wave.vgprs = nullptr;
    }
    m_pool.give(&wave);
  }

  void run_cu(Cu& cu, uint64_t horizon) {
    for (;;) {
      const auto [first, next] = cu.choose();
      if (!first || first->time > horizon) {
        return;
      }
      const uint64_t deadline = next < horizon ? std::min(horizon, next + wave_slack) : horizon;
      Wave& wave = *first->wave;
      m_current = &wave;
      if (!wave.vgprs) {
        set_up(wave);
      }
      run_wave(wave, cu.clock->units, deadline);
      first->time = wave.time;
      m_end = std::max(m_end, wave.time);
      if (wave.done) {
        end_wave(cu, wave);
      } else if (wave.at_barrier) {
        cu.remove(wave);
        ++wave.workgroup->waiting_waves;
        release_barrier(cu, *wave.workgroup);
      }
    }
  }

  void end_wave(Cu& cu, Wave& wave) {
    Workgroup& group = *wave.workgroup;
    const uint64_t time = wave.time;
    cu.remove(wave);
    const unsigned slot = wave.hw_id & 15;
    cu.slots[wave.simd] = static_cast<uint16_t>(cu.slots[wave.simd] & ~(1u << slot));
    group.waves.erase(std::find(group.waves.begin(), group.waves.end(), &wave));
    retire(wave);
    --group.live_waves;
    if (group.live_waves > 0) {
      release_barrier(cu, group);  // the others do not wait for a wave that has ended
      return;
    }
    const auto found = std::find_if(cu.groups.begin(), cu.groups.end(),
                                    [&](const auto& owned) { return owned.get() == &group; });
    std::swap(*found, cu.groups.back());
    cu.groups.pop_back();
    Xcd& xcd = m_xcds[cu.index / m_topology.cus_per_xcd];
    if (xcd.next_group < m_group_count) {
      start_group(xcd, cu, time + clock_model::refill);
    }
  }

  // When every wave that still lives has arrived, all go on at the time of the last.
  static void release_barrier(Cu& cu, Workgroup& group) {
    if (group.waiting_waves == 0 || group.waiting_waves < group.live_waves) {
      return;
    }
    uint64_t time = 0;
    for (const Wave* wave : group.waves) {
      time = std::max(time, wave->time);
    }
    for (Wave* wave : group.waves) {
      wave->at_barrier = false;
      wave->time = time + clock_model::barrier;
      cu.runnable.push_back({wave->time, wave});
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
