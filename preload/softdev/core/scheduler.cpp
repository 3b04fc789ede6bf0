// Workgroups go to XCDs in turn, which then have little to do with each other: threads run them side by side
// for a while. Only where one may notice what another did do they wait for each other, and go on in the order
// of virtual time, on one thread. So the same dispatch always runs the same way, on however many threads.
#include "core/scheduler.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/access_guard.hpp"
#include "core/clock.hpp"
#include "core/dispatch.hpp"
#include "core/helpers.hpp"
#include "core/settings.hpp"
#include "core/text.hpp"
#include "core/wave_setup.hpp"
#include "core/xcd_run.hpp"

namespace ktrace::softdev {

namespace {

// For so many cycles XCDs run apart if nothing is known against it ...
constexpr uint64_t longest_window = uint64_t{1} << 18;
// ... and together when one had to wait for another.
constexpr uint64_t shortest_window = 4096;
// Threads take some time to begin: there is one for so many instructions that the first one has executed.
constexpr uint64_t enough_for_a_thread = 2048;

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

uint64_t groups_of(const Dispatch& dispatch) {
  return uint64_t{dispatch.grid[0]} * dispatch.grid[1] * dispatch.grid[2];
}

// What checks find is told as it comes, which several threads would make differ from run to run.
unsigned shares_for(const Device& device, const Dispatch& dispatch) {
  const uint64_t busy = std::min<uint64_t>(device.topology().xcds, groups_of(dispatch));
  const uint64_t wanted = check_from_environment() ? 1 : threads_from_environment();
  return static_cast<unsigned>(std::max<uint64_t>(1, std::min(busy, wanted)));
}

class Run {
 public:
  Run(const Device& device, const MemoryRegistry& registry, DevicePools& pools, const Dispatch& dispatch,
      uint64_t dispatch_id, uint64_t begin, uint64_t& end)
      : m_device(device),
        m_launch(dispatch, dispatch_id, dispatch.kernel->lds_bytes + dispatch.dynamic_lds),
        m_budget(budget_from_environment()),
        m_helpers(shares_for(device, dispatch)),
        m_end(end) {
    for (unsigned k = 0; k < m_helpers.shares(); ++k) {
      Worker& worker = m_workers.emplace_back(Worker{{dispatch, device, registry, m_budget}, pools.waves(k)});
      worker.state.budget_total = m_budget;
      worker.state.memory.set_up(own_memory(m_launch), foreign_use());
    }
    for (uint32_t k = 0; k < device.topology().xcds; ++k) {
      m_xcds.emplace_back(k, m_workers[k % m_workers.size()], pools, m_launch, groups_of(dispatch));
    }
    pools.clear_clocks();
    m_start = begin + clock_model::dispatch_overhead;
  }

  DispatchResult run() {
    const AccessGuard guard;
    for (XcdRun& xcd : m_xcds) {
      xcd.fill(m_start);
    }
    run_waves();
    DispatchResult result;
    result.start_cycles = m_start;
    result.end_cycles = std::max(m_end, m_start);
    m_end = result.end_cycles + clock_model::completion_overhead;
    result.instructions = budget_from_environment() - m_budget;
    for (const XcdRun& xcd : m_xcds) {
      result.waves += xcd.waves();
      result.workgroups += xcd.workgroups();
    }
    return result;
  }

 private:
  const Device& m_device;
  const LaunchState m_launch;
  uint64_t m_budget;  // instructions that may still be executed
  std::deque<Worker> m_workers;
  std::deque<XcdRun> m_xcds;
  Helpers m_helpers;
  uint64_t& m_end;
  uint64_t m_start = 0;
  uint64_t m_callers = 0;  // instructions that the thread that has called executed while XCDs run apart

  // Of XCDs that run apart.
  std::mutex m_mutex;
  std::atomic<uint64_t> m_stop{XcdRun::never};  // when the first of them failed
  uint32_t m_failed = 0;
  std::exception_ptr m_failure;

  void run_waves() {
    for (uint64_t begin = next_time(); begin != XcdRun::never; begin = next_time()) {
      if (!may_run_apart()) {
        run_together(begin + longest_window);
      } else if (!run_apart(begin + longest_window)) {
        run_together(next_time() + shortest_window);
      }
    }
  }

  uint64_t next_time() const {
    uint64_t time = XcdRun::never;
    for (const XcdRun& xcd : m_xcds) {
      time = std::min(time, xcd.next_time());
    }
    return time;
  }

  uint64_t waves_of_dispatch() const { return groups_of(m_launch.dispatch) * m_launch.whole_group.waves(); }

  // If several XCDs have something to do, and the budget is enough for all that they could.
  bool may_run_apart() const {
    const auto busy = std::count_if(m_xcds.begin(), m_xcds.end(),
                                    [](const XcdRun& xcd) { return xcd.next_time() != XcdRun::never; });
    const Topology& topology = m_device.topology();
    const uint64_t slots = uint64_t{topology.cus()} * topology.simds_per_cu * topology.wave_slots_per_simd;
    const uint64_t most = longest_window / clock_model::issue + 1;
    return busy > 1 && m_budget / most > std::min(slots, waves_of_dispatch());
  }

  // False if an XCD has to wait for others.
  bool run_apart(uint64_t until) {
    std::vector<uint64_t> executed(m_xcds.size());
    std::atomic<bool> is_through = true;
    m_callers = 0;
    const auto caller = std::this_thread::get_id();
    m_helpers.run([&](unsigned share) {
      const bool may_call = std::this_thread::get_id() == caller;
      for (uint32_t k = share; k < m_xcds.size(); k += m_helpers.shares()) {
        if (!run_one_apart(k, until, may_call, executed[k])) {
          is_through.store(false, std::memory_order_relaxed);
        }
      }
    });
    if (m_failure) {
      m_end = std::max(m_end, m_stop.load());
      std::rethrow_exception(m_failure);
    }
    for (const uint64_t count : executed) {
      m_budget -= count;
    }
    for (const XcdRun& xcd : m_xcds) {
      m_end = std::max(m_end, xcd.latest());
    }
    return is_through;
  }

  // The earliest failure is the dispatch's, whichever thread came first: the others go on until then.
  bool run_one_apart(uint32_t index, uint64_t until, bool may_call, uint64_t& executed) {
    XcdRun& xcd = m_xcds[index];
    DispatchState& state = xcd.worker().state;
    state.budget = m_budget;
    const auto goes_on = [&](uint64_t time) {
      if (may_call) {
        m_helpers.call((m_callers + m_budget - state.budget) / enough_for_a_thread);
      }
      return time <= m_stop.load(std::memory_order_relaxed);
    };
    bool is_through = true;
    try {
      guarded(xcd, [&] { is_through = xcd.run_apart(until, goes_on); });
    } catch (...) {
      keep_failure(index, xcd.current() ? xcd.current()->time : m_start);
    }
    executed = m_budget - state.budget;
    if (may_call) {
      m_callers += executed;
    }
    return is_through;
  }

  void keep_failure(uint32_t index, uint64_t time) {
    const std::lock_guard lock(m_mutex);
    if (!m_failure || std::pair(time, index) < std::pair(m_stop.load(), m_failed)) {
      m_failure = std::current_exception();
      m_failed = index;
      m_stop.store(time);
    }
  }

  // The XCD that is behind the others goes on, until all are there.
  void run_together(uint64_t until) {
    for (;;) {
      XcdRun* first = &m_xcds[0];
      uint64_t others = XcdRun::never;
      for (XcdRun& xcd : m_xcds) {
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
      if (first->next_time() > until || first->next_time() == XcdRun::never) {
        return;
      }
      run_beside(*first, others);
    }
  }

  void run_beside(XcdRun& xcd, uint64_t others) {
    DispatchState& state = xcd.worker().state;
    state.budget = m_budget;
    try {
      guarded(xcd, [&] { xcd.run_beside(others); });
    } catch (...) {
      m_end = std::max(m_end, xcd.latest());
      throw;
    }
    m_budget = state.budget;
    m_end = std::max(m_end, xcd.latest());
  }

  template <typename Work>
  static void guarded(XcdRun& xcd, const Work& work) {
    uint64_t address = 0;
    if (!run_guarded(xcd.worker().state.memory, work, address)) {
      vanished_fault(*xcd.current(), address);
    }
  }
};

}  // namespace

DispatchResult run_dispatch(const Device& device, const MemoryRegistry& registry, DevicePools& pools,
                            const Dispatch& dispatch, uint64_t dispatch_id, uint64_t begin, uint64_t& end) {
  check_dispatch(device, dispatch);
  return Run(device, registry, pools, dispatch, dispatch_id, begin, end).run();
}

}  // namespace ktrace::softdev
