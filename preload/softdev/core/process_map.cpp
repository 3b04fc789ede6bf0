// Reading /proc/self/maps.
#include "core/process_map.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace ktrace::softdev {

namespace {

// Start, end and permissions of a line; false if it is none or not readable.
bool parse_mapping(const char* line, Region& region) {
  uint64_t base = 0;
  uint64_t end = 0;
  char permissions[5] = {};
  if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &base, &end, permissions) != 3 ||
      permissions[0] != 'r') {
    return false;
  }
  region = {base, end, permissions[1] == 'w'};
  return true;
}

// Listed as readable, but not by everyone.
bool is_special(const char* line) { return std::strstr(line, "[vvar") || std::strstr(line, "[vsyscall]"); }

}  // namespace

std::vector<Region> read_process_map() {
  std::vector<Region> regions;
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  if (!maps) {
    return regions;
  }
  char line[4400];  // a path and what stands before it
  while (std::fgets(line, sizeof line, maps)) {
    Region region;
    if (!parse_mapping(line, region) || is_special(line)) {
      continue;
    }
    // Neighbours become one range: an access may cross from one mapping into the next.
    if (!regions.empty() && regions.back().end == region.base && regions.back().writable == region.writable) {
      regions.back().end = region.end;
    } else {
      regions.push_back(region);
    }
  }
  std::fclose(maps);
  return regions;
}

uint64_t readable_bytes(const void* pointer) {
  const auto start = reinterpret_cast<uint64_t>(pointer);
  uint64_t end = start;
  for (const Region& region : read_process_map()) {
    if (end >= region.base && end < region.end) {
      end = region.end;  // and on, if the next region begins there
    }
  }
  return end - start;
}

}  // namespace ktrace::softdev
