// ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES.
#include "hip/visible_devices.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <sstream>

namespace ktrace::softdev::hip {

namespace {

std::optional<int> find_entry(const std::string& entry, const std::vector<int>& devices) {
  if (entry.rfind("GPU-", 0) == 0) {
    const auto named = std::find_if(devices.begin(), devices.end(),
                                    [&](int number) { return entry.substr(4) == device_name(number); });
    return named == devices.end() ? std::nullopt : std::optional<int>(*named);
  }
  char* end = nullptr;
  const long place = std::strtol(entry.c_str(), &end, 10);
  const bool is_number = !entry.empty() && *end == '\0';
  if (!is_number || place < 0 || static_cast<size_t>(place) >= devices.size()) {
    return std::nullopt;
  }
  return devices[static_cast<size_t>(place)];
}

std::vector<int> choose(const std::vector<int>& devices, const char* list) {
  std::vector<int> chosen;
  std::istringstream entries(list);
  for (std::string entry; std::getline(entries, entry, ',');) {
    const std::optional<int> device = find_entry(entry, devices);
    if (!device || std::find(chosen.begin(), chosen.end(), *device) != chosen.end()) {
      break;
    }
    chosen.push_back(*device);
  }
  return chosen;
}

bool is_set(const char* value) { return value != nullptr && *value != '\0'; }

}  // namespace

std::string device_name(int number) {
  char text[17];
  std::snprintf(text, sizeof text, "%016x", 0x50f70000u + static_cast<unsigned>(number));
  return text;
}

std::vector<int> visible_devices(int count) {
  std::vector<int> devices(static_cast<size_t>(count));
  std::iota(devices.begin(), devices.end(), 0);
  // Set and empty, the first one hides everything and the other two nothing.
  if (const char* list = std::getenv("ROCR_VISIBLE_DEVICES")) {
    devices = choose(devices, list);
  }
  for (const char* variable : {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"}) {
    const char* list = std::getenv(variable);
    if (is_set(list)) {
      return choose(devices, list);
    }
  }
  return devices;
}

}  // namespace ktrace::softdev::hip
