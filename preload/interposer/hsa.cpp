#include "hsa.hpp"

#include <algorithm>
#include <ctime>
#include <optional>
#include <type_traits>

#include "bus_address.hpp"
#include "loader.hpp"

namespace ktrace {
namespace {

struct Agent {
  std::uint64_t handle;
};
using Status = int;

constexpr Status success = 0;
constexpr int device_type_gpu = 1;
// hsa_agent_info_t and hsa_amd_agent_info_t.
constexpr int agent_device = 17;
constexpr int agent_bus_device_function = 0xA006;
constexpr int agent_domain = 0xA00F;
constexpr int agent_clock_counters = 0xA118;  // since version 1.11 of AMD's interface

// hsa_amd_clock_counters_t
struct ClockCounters {
  std::uint64_t gpu_clock_counter, cpu_clock_counter, system_clock_counter, system_clock_frequency;
};

constexpr int tries = 10;

struct Hsa {
  Status (*iterate_agents)(Status (*callback)(Agent, void*), void* data) = nullptr;
  Status (*agent_get_info)(Agent, int, void*) = nullptr;
  Status (*convert_tick)(Agent, std::uint64_t, std::uint64_t*) = nullptr;
  explicit operator bool() const { return iterate_agents && agent_get_info && convert_tick; }
};

// HIP loads it; where HIP did not, there is no device that it could speak for.
Hsa loaded_hsa() {
  Hsa hsa;
  const auto find = [](auto& function, const char* name) {
    function =
        reinterpret_cast<std::decay_t<decltype(function)>>(find_in_loaded("libhsa-runtime64.so", name));
  };
  find(hsa.iterate_agents, "hsa_iterate_agents");
  find(hsa.agent_get_info, "hsa_agent_get_info");
  find(hsa.convert_tick, "hsa_amd_profiling_convert_tick_to_system_domain");
  return hsa;
}

struct Search {
  const Hsa& hsa;
  BusAddress address;
  Agent agent{};
  int found = 0;
};

Status look_at_agent(Agent agent, void* data) {
  auto& search = *static_cast<Search*>(data);
  int type = -1;
  std::uint32_t domain = 0, bus_device_function = 0;
  if (search.hsa.agent_get_info(agent, agent_device, &type) != success || type != device_type_gpu ||
      search.hsa.agent_get_info(agent, agent_bus_device_function, &bus_device_function) != success)
    return success;
  // Before it could be asked for, there was one domain.
  if (search.hsa.agent_get_info(agent, agent_domain, &domain) != success) domain = 0;
  if (domain != search.address.domain || bus_device_function != search.address.location) return success;
  search.agent = agent;
  ++search.found;
  return success;
}

std::optional<Agent> find_agent(const Hsa& hsa, const std::string& bus_id) {
  const auto address = parse_bus_id(bus_id);
  if (!hsa || !address) return std::nullopt;
  Search search{hsa, *address};
  if (hsa.iterate_agents(look_at_agent, &search) != success || search.found != 1) return std::nullopt;
  return search.agent;
}

std::uint64_t boottime_ns() {
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

bool sample_hsa_clock(const std::string& bus_id, ktrace_clock_record* record) {
  const Hsa hsa = loaded_hsa();
  const std::optional<Agent> agent = find_agent(hsa, bus_id);
  if (!agent) return false;
  std::uint64_t tightest = ~std::uint64_t{0};
  for (int i = 0; i < tries; ++i) {
    ClockCounters counters{};
    std::uint64_t host_ns = 0;
    const std::uint64_t before = boottime_ns();
    if (hsa.agent_get_info(*agent, agent_clock_counters, &counters) != success ||
        counters.gpu_clock_counter == 0)
      return false;
    const std::uint64_t after = boottime_ns();
    if (hsa.convert_tick(*agent, counters.gpu_clock_counter, &host_ns) != success) return false;
    // The tick was counted within the bracket: HSA's conversion is off by no more than to its farther end.
    const std::uint64_t off = std::max(host_ns > before ? host_ns - before : before - host_ns,
                                       after > host_ns ? after - host_ns : host_ns - after);
    if (off >= tightest) continue;
    tightest = off;
    record->realtime = counters.gpu_clock_counter;
    record->host_ns = host_ns;
  }
  record->method = KTRACE_CLOCK_HSA;
  record->uncertainty_ns = tightest;
  return true;
}

bool convert_hsa_tick(const std::string& bus_id, std::uint64_t tick, ktrace_clock_record* record) {
  const Hsa hsa = loaded_hsa();
  const std::optional<Agent> agent = find_agent(hsa, bus_id);
  std::uint64_t host_ns = 0, next_ns = 0;
  if (!agent || hsa.convert_tick(*agent, tick, &host_ns) != success ||
      hsa.convert_tick(*agent, tick + 1, &next_ns) != success)
    return false;
  record->method = KTRACE_CLOCK_HSA;
  record->realtime = tick;
  record->host_ns = host_ns;
  record->uncertainty_ns = next_ns > host_ns ? next_ns - host_ns : 0;  // a tick's length
  return true;
}

}  // namespace ktrace
