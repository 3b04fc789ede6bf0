// Where a device is on the PCI bus, by which HIP, HSA and the kernel's driver mean the same device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ktrace {

struct BusAddress {
  std::uint32_t domain;
  std::uint32_t location;  // bus, device (5 bits), function (3 bits)
};

// Of "0000:c1:00.0", as HIP prints it.
std::optional<BusAddress> parse_bus_id(const std::string& bus_id);

}  // namespace ktrace
