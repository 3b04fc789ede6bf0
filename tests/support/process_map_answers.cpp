// What core/process_map.cpp says of single addresses, for a test that fills the process.
#include "core/process_map.hpp"

using ktrace::softdev::Region;

namespace {

enum Answer { none, readable, writable, withheld };

Answer answer_in(const std::vector<Region>& regions, uint64_t address) {
  for (const Region& region : regions) {
    if (address >= region.base && address < region.end) {
      return region.withheld ? withheld : region.writable ? writable : readable;
    }
  }
  return none;
}

}  // namespace

extern "C" int answer_by_query(uint64_t address) {
  return answer_in(ktrace::softdev::mapping_at(address), address);
}

extern "C" int answer_by_map(uint64_t address) {
  return answer_in(ktrace::softdev::read_process_map(), address);
}

// Of the thread that calls.
extern "C" uint64_t address_on_stack() { return reinterpret_cast<uint64_t>(__builtin_frame_address(0)); }
