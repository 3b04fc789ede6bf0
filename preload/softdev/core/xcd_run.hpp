// One XCD in a dispatch: its share of the workgroups, and which of its waves executes when.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "core/compute_unit.hpp"
#include "core/dispatch.hpp"
#include "core/wave_pool.hpp"
#include "core/wave_setup.hpp"

namespace ktrace::softdev {

// What XCDs have in common that never run at the same time.
struct Worker {
  DispatchState state;
  WavePool& pool;
};

// Workgroups go to the XCD's CUs in turn; on a CU the wave with the lowest virtual time runs. Nothing here
// knows of threads or of the host's clock: the same calls always do the same.
class XcdRun {
 public:
  static constexpr uint64_t never = ComputeUnit::never;
  // A CU may run ahead of the others by this: its waves' state stays in the host's caches meanwhile.
  static constexpr uint64_t cu_slack = 8192;

  // `group_count`: the dispatch's workgroups; every XCD takes one in turn.
  XcdRun(uint32_t index, Worker& worker, DevicePools& pools, const LaunchState& launch, uint64_t group_count);
  ~XcdRun();  // after a fault, waves are still resident
  XcdRun(const XcdRun&) = delete;
  XcdRun& operator=(const XcdRun&) = delete;

  // Starts as many workgroups as fit.
  void fill(uint64_t start);
  // When it has something to do next; `never` once all its workgroups have ended.
  uint64_t next_time() const { return m_queue.empty() ? never : m_queue.top().first; }
  // Goes on while it is not too far ahead of `others`, the lowest time of the other XCDs.
  void run_beside(uint64_t others);
  // Goes on until `until`; `goes_on` is asked before each turn of a CU, with its time. Nothing of it depends
  // on other XCDs: where they may notice something (Start::in_order), a CU stops, and the others soon after
  // it. False if one did.
  bool run_apart(uint64_t until, const std::function<bool(uint64_t)>& goes_on);

  Worker& worker() { return m_worker; }
  // The wave that has run last; null before.
  const Wave* current() const { return m_current; }
  uint64_t waves() const { return m_waves; }            // started
  uint64_t workgroups() const { return m_workgroups; }  // likewise
  uint64_t latest() const { return m_latest; }          // time of any wave

 private:
  Worker& m_worker;
  const LaunchState& m_launch;
  const uint32_t m_index;
  const uint64_t m_group_count;
  uint32_t m_groups_per_cu;
  std::vector<ComputeUnit> m_cus;
  uint64_t m_next_group;              // linear workgroup number
  uint64_t m_shortest_group = never;  // from start to start of the next
  // CUs that have something to do, by when, then by number.
  using Entry = std::pair<uint64_t, uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> m_queue;
  std::vector<ComputeUnit*> m_stopped;  // by run_apart
  const Wave* m_current = nullptr;
  uint64_t m_waves = 0;
  uint64_t m_workgroups = 0;
  uint64_t m_latest = 0;

  // Where a CU may go: what ends a turn of it.
  struct Bounds {
    uint64_t neighbours;  // the lowest time of the XCD's other CUs
    uint64_t horizon;     // that it may reach
    uint64_t in_order;    // that it may reach with what others notice
  };

  void enqueue(const ComputeUnit& cu);
  bool run_cu(ComputeUnit& cu, const Bounds& bounds);
  bool has_plenty() const;
  void fill_vacancies(ComputeUnit& cu, const Bounds& bounds);
  void start_group(ComputeUnit& cu, uint64_t time);
  void start_wave(ComputeUnit& cu, StartedGroup& group, uint32_t number, uint64_t time);
  void set_up(const ComputeUnit& cu, Resident& resident);
  void give_scratch(Wave& wave) const;
  void set_place(Wave& wave, const ComputeUnit& cu, const Resident& resident) const;
  void end_wave(ComputeUnit& cu, Resident& resident);
  void retire(Resident& resident);
};

}  // namespace ktrace::softdev
