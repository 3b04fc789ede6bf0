// A stand-in for libhsa-runtime64: a CPU and three GPUs, whose ticks lie on a known line.
//
// Tick t is at STAND_IN_ORIGIN + 10 t of CLOCK_BOOTTIME, in nanoseconds. STAND_IN_HSA: `counters` (the clock
// counters can be asked for), `old` (they cannot), `twins` (two GPUs at one address), `failing` (conversions
// fail). STAND_IN_HSA_OFF: nanoseconds that conversions are off by.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>

#define STAND_IN_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

struct Agent {
  std::uint64_t handle;
};
struct ClockCounters {
  std::uint64_t gpu_clock_counter, cpu_clock_counter, system_clock_counter, system_clock_frequency;
};
struct Device {
  std::uint64_t handle;
  int type;  // hsa_device_type_t: 0 CPU, 1 GPU
  std::uint32_t domain, bus_device_function;
};

constexpr int error = 0x1000, invalid_argument = 0x1001;
constexpr Device devices[] = {
    {0x100, 0, 0, 0}, {0x200, 1, 0, 0x4100}, {0x300, 1, 0, 0xc118}, {0x400, 1, 2, 0xc118}};

bool is(const char* mode) {
  const char* value = std::getenv("STAND_IN_HSA");
  return value && std::strcmp(value, mode) == 0;
}

std::uint64_t number_of(const char* name) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : 0;
}

const Device* find(Agent agent) {
  for (const Device& device : devices)
    if (device.handle == agent.handle) return &device;
  return nullptr;
}

std::uint64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1000000000u + static_cast<std::uint64_t>(time.tv_nsec);
}

template <class Value>
int answer(void* target, Value value) {
  std::memcpy(target, &value, sizeof value);
  return 0;
}

}  // namespace

STAND_IN_EXPORT int hsa_iterate_agents(int (*callback)(Agent, void*), void* data) {
  for (const Device& device : devices)
    if (const int status = callback({device.handle}, data)) return status;
  return 0;
}

STAND_IN_EXPORT int hsa_agent_get_info(Agent agent, int attribute, void* value) {
  const Device* device = find(agent);
  if (!device) return invalid_argument;
  switch (attribute) {
    case 17:  // HSA_AGENT_INFO_DEVICE
      return answer(value, device->type);
    case 0xA006:  // HSA_AMD_AGENT_INFO_BDFID
      return answer(value, device->bus_device_function);
    case 0xA00F:  // HSA_AMD_AGENT_INFO_DOMAIN
      return answer(value, is("twins") ? std::uint32_t{0} : device->domain);
    case 0xA118:  // HSA_AMD_AGENT_INFO_CLOCK_COUNTERS
      if (is("old") || device->handle != 0x300) return invalid_argument;
      return answer(value, ClockCounters{(now_ns() - number_of("STAND_IN_ORIGIN")) / 10, 1, 2, 1000000000});
    default:
      return invalid_argument;
  }
}

STAND_IN_EXPORT int hsa_amd_profiling_convert_tick_to_system_domain(Agent agent, std::uint64_t tick,
                                                                    std::uint64_t* system) {
  if (is("failing") || agent.handle != 0x300) return error;
  *system = number_of("STAND_IN_ORIGIN") + 10 * tick + number_of("STAND_IN_HSA_OFF");
  return 0;
}
