#include "kfd.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#include "bus_address.hpp"
#include "file_descriptor.hpp"
#include "program.hpp"

namespace ktrace {
namespace {

// struct kfd_ioctl_get_clock_counters_args; system_clock_counter is CLOCK_BOOTTIME in nanoseconds.
struct ClockCounters {
  std::uint64_t gpu_clock_counter, cpu_clock_counter, system_clock_counter, system_clock_frequency;
  std::uint32_t gpu_id, reserved;
};
static_assert(sizeof(ClockCounters) == 40);
constexpr unsigned long get_clock_counters = 0xC0284B05ul;

// The three counters are read one after another, and the call may be interrupted between them: the tightest
// of a few is taken.
constexpr int tries = 10;

constexpr char topology[] = "/sys/class/kfd/kfd/topology/nodes";

// The value in a line `name value`; 0 if there is none.
std::uint64_t property(const std::string& text, const std::string& name) {
  const std::string lines = "\n" + text;
  const std::size_t at = lines.find("\n" + name + " ");
  return at == std::string::npos ? 0 : std::strtoull(lines.c_str() + at + name.size() + 2, nullptr, 10);
}

// 0 if no node, or more than one, has that address.
std::uint32_t find_gpu_id(const BusAddress& address) {
  std::uint32_t found = 0;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(topology), closedir);
  while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
    if (entry->d_name[0] == '.') continue;
    const std::string node = std::string(topology) + "/" + entry->d_name;
    const std::string properties = read_text(node + "/properties");
    const auto gpu_id =
        static_cast<std::uint32_t>(std::strtoull(read_text(node + "/gpu_id").c_str(), nullptr, 10));
    const bool is_here = property(properties, "location_id") == address.location &&
                         property(properties, "domain") == address.domain;
    if (gpu_id == 0 || !is_here) continue;
    if (found != 0) return 0;
    found = gpu_id;
  }
  return found;
}

std::uint32_t gpu_id_of(const std::string& bus_id) {
  static std::mutex mutex;
  static auto* id_by_bus = new std::map<std::string, std::uint32_t>;
  const std::lock_guard lock(mutex);
  const auto known = id_by_bus->find(bus_id);
  if (known != id_by_bus->end()) return known->second;
  const auto address = parse_bus_id(bus_id);
  return (*id_by_bus)[bus_id] = address ? find_gpu_id(*address) : 0;
}

}  // namespace

bool sample_kfd_clock(const std::string& bus_id, ktrace_clock_record* record) {
  const std::uint32_t gpu_id = gpu_id_of(bus_id);
  if (gpu_id == 0) return false;
  // The counters exist only in a process that has the driver open, and HIP has: this joins it.
  const FileDescriptor driver(open("/dev/kfd", O_RDWR | O_CLOEXEC));
  if (!driver.is_open()) return false;
  std::uint64_t tightest = ~std::uint64_t{0};
  for (int i = 0; i < tries; ++i) {
    ClockCounters before{}, now{}, after{};
    before.gpu_id = now.gpu_id = after.gpu_id = gpu_id;
    if (ioctl(driver.get(), get_clock_counters, &before) != 0 ||
        ioctl(driver.get(), get_clock_counters, &now) != 0 ||
        ioctl(driver.get(), get_clock_counters, &after) != 0 || now.gpu_clock_counter == 0)
      return false;
    const std::uint64_t width = after.system_clock_counter - before.system_clock_counter;
    if (width >= tightest) continue;
    tightest = width;
    record->realtime = now.gpu_clock_counter;
    record->host_ns = now.system_clock_counter;
  }
  record->method = KTRACE_CLOCK_KFD;
  record->uncertainty_ns = tightest / 2;
  return true;
}

}  // namespace ktrace
