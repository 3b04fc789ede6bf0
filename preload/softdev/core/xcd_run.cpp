// Workgroups, CUs and waves of an XCD.
#include "core/xcd_run.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "core/check.hpp"
#include "core/clock.hpp"
#include "core/interpreter.hpp"
#include "core/settings.hpp"

namespace ktrace::softdev {

namespace {

// A wave may run ahead of the others of its CU by this: less is truer to contention, more is faster.
constexpr uint64_t wave_slack = 128;
// A CU may run ahead of the others by this with what other CUs may notice (Start::in_order) ...
constexpr uint64_t shared_slack = 2048;
// ... and by this when it takes the next workgroup.
constexpr uint64_t placing_slack = 256;

// Far away instead of never: something is added to it.
uint64_t known(uint64_t time) { return std::min(time, XcdRun::never - XcdRun::cu_slack); }

uint32_t occupancy_of(const Device& device, const Dispatch& dispatch) {
  const uint32_t block = dispatch.block[0] * dispatch.block[1] * dispatch.block[2];
  return device.occupancy(*dispatch.kernel, block, dispatch.dynamic_lds);
}

// When every wave that still lives has arrived, all go on at the time of the last.
void release_barrier(ComputeUnit& cu, StartedGroup& group) {
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

}  // namespace

XcdRun::XcdRun(uint32_t index, Worker& worker, DevicePools& pools, const LaunchState& launch,
               uint64_t group_count)
    : m_worker(worker),
      m_launch(launch),
      m_index(index),
      m_group_count(group_count),
      m_groups_per_cu(occupancy_of(worker.state.device, launch.dispatch)),
      m_cus(worker.state.device.topology().cus_per_xcd),
      m_next_group(index) {
  for (uint32_t k = 0; k < m_cus.size(); ++k) {
    m_cus[k].within_xcd = k;
    m_cus[k].clock = &pools.clock(index * static_cast<uint32_t>(m_cus.size()) + k, index);
  }
}

XcdRun::~XcdRun() {
  for (ComputeUnit& cu : m_cus) {
    for (auto& group : cu.groups) {
      for (Resident& resident : group->residents) {
        retire(resident);
      }
      m_worker.pool.give_group(std::move(group));
    }
  }
}

void XcdRun::fill(uint64_t start) {
  const uint64_t places = uint64_t{m_groups_per_cu} * m_cus.size();
  for (uint64_t k = 0; k < places && m_next_group < m_group_count; ++k) {
    start_group(m_cus[k % m_cus.size()], start + k * clock_model::workgroup_start);
  }
  for (const ComputeUnit& cu : m_cus) {
    enqueue(cu);
  }
}

void XcdRun::enqueue(const ComputeUnit& cu) {
  const uint64_t time = cu.next_time();
  if (time != never) {
    m_queue.emplace(time, cu.within_xcd);
  }
}

void XcdRun::run_beside(uint64_t others) {
  others = known(others);
  bool goes_on = true;
  while (goes_on && !m_queue.empty() && next_time() <= others + cu_slack) {
    ComputeUnit& cu = m_cus[m_queue.top().second];
    m_queue.pop();
    const uint64_t neighbours = known(next_time());
    const uint64_t lowest = std::min(neighbours, others);
    goes_on = run_cu(cu, {neighbours, lowest + cu_slack, lowest + shared_slack});
    enqueue(cu);
  }
}

bool XcdRun::run_apart(uint64_t until, const std::function<bool(uint64_t)>& goes_on) {
  uint64_t first_stopped = never;
  while (!m_queue.empty() && next_time() <= std::min(until, known(first_stopped) + cu_slack) &&
         goes_on(next_time())) {
    const uint64_t before = next_time();
    ComputeUnit& cu = m_cus[m_queue.top().second];
    m_queue.pop();
    const uint64_t neighbours = known(std::min(next_time(), first_stopped));
    const bool is_free = run_cu(cu, {neighbours, std::min(neighbours + cu_slack, until), 0});
    if (is_free && cu.next_time() != before) {
      enqueue(cu);
    } else {
      m_stopped.push_back(&cu);
      first_stopped = std::min(first_stopped, cu.next_time());
    }
  }
  for (const ComputeUnit* cu : m_stopped) {
    enqueue(*cu);
  }
  m_stopped.clear();
  return first_stopped == never;
}

// False if there is nothing to do on the CU until other CUs come near.
bool XcdRun::run_cu(ComputeUnit& cu, const Bounds& bounds) {
  m_worker.state.order_horizon = bounds.in_order;
  for (;;) {
    fill_vacancies(cu, bounds);
    // A workgroup that is about to start will share the CU: its place in time is not run past.
    if (!cu.first() || cu.first_time() > std::min(bounds.horizon, cu.next_vacancy())) {
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
    const uint64_t deadline =
        next < bounds.horizon ? std::min(bounds.horizon, next + wave_slack) : bounds.horizon;
    const bool goes_on = run_wave(wave, cu.clock->units, deadline);
    m_latest = std::max(m_latest, wave.time);
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
bool XcdRun::has_plenty() const {
  const uint64_t left = (m_group_count - m_next_group) / m_worker.state.device.topology().xcds;
  return left > uint64_t{m_groups_per_cu} * m_cus.size() * (1 + cu_slack / m_shortest_group);
}

// Workgroups go where there is room first.
void XcdRun::fill_vacancies(ComputeUnit& cu, const Bounds& bounds) {
  while (!cu.vacancies.empty()) {
    if (m_next_group >= m_group_count) {
      cu.vacancies.clear();
      return;
    }
    const auto first = std::min_element(cu.vacancies.begin(), cu.vacancies.end());
    if (*first > (has_plenty() ? bounds.horizon : bounds.neighbours + placing_slack)) {
      return;
    }
    const uint64_t time = *first;
    cu.vacancies.erase(first);
    start_group(cu, time);
  }
}

void XcdRun::start_group(ComputeUnit& cu, uint64_t time) {
  const uint64_t number = m_next_group;
  m_next_group += m_worker.state.device.topology().xcds;
  cu.groups.push_back(m_worker.pool.take_group());
  StartedGroup& group = *cu.groups.back();
  const uint32_t* grid = m_launch.dispatch.grid;
  group.id[0] = static_cast<uint32_t>(number % grid[0]);
  group.id[1] = static_cast<uint32_t>(number / grid[0] % grid[1]);
  group.id[2] = static_cast<uint32_t>(number / (uint64_t{grid[0]} * grid[1]));
  group.cu = m_index * static_cast<uint32_t>(m_cus.size()) + cu.within_xcd;
  group.has_lds = false;
  group.start_time = time;
  ++m_workgroups;
  group.shape = shape_of(m_launch, group.id);
  group.live_waves = group.shape.waves();
  group.waiting_waves = 0;
  group.residents.assign(group.live_waves, Resident());
  for (uint32_t k = 0; k < group.live_waves; ++k) {
    start_wave(cu, group, k, time + k * clock_model::wave_start);
  }
}

void XcdRun::start_wave(ComputeUnit& cu, StartedGroup& group, uint32_t number, uint64_t time) {
  Resident& resident = group.residents[number];
  resident.group = &group;
  resident.start_time = time;
  resident.number = number;
  cu.give_slot(resident);
  cu.add(resident, time);
  ++m_waves;
}

// Its first instruction is due.
void XcdRun::set_up(const ComputeUnit& cu, Resident& resident) {
  StartedGroup& group = *resident.group;
  if (!group.has_lds) {
    group.lds.assign(m_launch.lds_size, 0);
    group.lds_written.clear();
    group.has_lds = true;
  }
  Wave& wave = *m_worker.pool.take();
  resident.wave = &wave;
  wave.reset();
  wave.workgroup = &group;
  wave.arch = m_worker.state.device.arch();
  wave.dispatch = &m_worker.state;
  wave.wave_in_group = resident.number;
  wave.time = resident.start_time;
  wave.start_time = resident.start_time;
  wave.clock = cu.clock;
  wave.simd = resident.simd;
  set_place(wave, cu, resident);
  wave.vgprs = m_worker.pool.take_registers(m_launch.vgprs, m_launch.agprs);
  wave.checks = check_from_environment() ? new WaveChecks(wave.arch) : nullptr;
  give_scratch(wave);
  set_up_wave(wave, m_launch, group.shape);
}

void XcdRun::give_scratch(Wave& wave) const {
  if (m_launch.scratch_size) {
    wave.scratch = static_cast<uint8_t*>(std::calloc(lanes, m_launch.scratch_size));
    if (!wave.scratch) {
      throw std::bad_alloc();
    }
    wave.scratch_size = m_launch.scratch_size;
  }
}

// HW_ID and XCC_ID.
void XcdRun::set_place(Wave& wave, const ComputeUnit& cu, const Resident& resident) const {
  const uint32_t engines = m_worker.state.device.topology().shader_engines;
  const uint32_t engine = cu.within_xcd % engines;
  const uint32_t within_engine = cu.within_xcd / engines;
  wave.xcc_id = m_index;
  // wave[3:0] simd[5:4] pipe[7:6] cu[11:8] sh[12] se[15:13]
  wave.hw_id = (resident.slot & 15) | resident.simd << 4 | (within_engine & 15) << 8 | (engine & 7) << 13;
}

void XcdRun::end_wave(ComputeUnit& cu, Resident& resident) {
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
  const uint64_t vacancy = time + clock_model::refill;
  m_shortest_group = std::min(m_shortest_group, vacancy - group.start_time);
  m_worker.pool.give_group(std::move(*found));
  std::swap(*found, cu.groups.back());
  cu.groups.pop_back();
  cu.vacancies.push_back(vacancy);
}

// Returns the wave's memory.
void XcdRun::retire(Resident& resident) {
  if (!resident.wave) {
    return;
  }
  Wave& wave = *resident.wave;
  std::free(wave.scratch);
  wave.scratch = nullptr;
  delete wave.checks;
  wave.checks = nullptr;
  if (wave.vgprs) {
    m_worker.pool.give_registers(wave.vgprs, m_launch.vgprs, m_launch.agprs);
    wave.vgprs = nullptr;
  }
  m_worker.pool.give(&wave);
  resident.wave = nullptr;
}

}  // namespace ktrace::softdev
