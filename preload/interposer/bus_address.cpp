#include "bus_address.hpp"

#include <cstdio>

namespace ktrace {

std::optional<BusAddress> parse_bus_id(const std::string& bus_id) {
  unsigned domain, bus, device, function;
  if (std::sscanf(bus_id.c_str(), "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4) return std::nullopt;
  return BusAddress{domain, bus << 8 | device << 3 | function};
}

}  // namespace ktrace
