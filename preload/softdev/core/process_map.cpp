// Reading /proc/self/maps, and finding out which of it is the process's own business.
#include "core/process_map.hpp"

#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace ktrace::softdev {

namespace {

// Reading is a place where a thread can be cancelled, and the calls that lead here are none.
class CancellationOff {
 public:
  CancellationOff() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &m_before); }
  ~CancellationOff() { pthread_setcancelstate(m_before, nullptr); }
  CancellationOff(const CancellationOff&) = delete;
  CancellationOff& operator=(const CancellationOff&) = delete;

 private:
  int m_before = PTHREAD_CANCEL_ENABLE;
};

// What a mapping's name says: nothing, or one of those that memory for data has.
bool holds_data(const char* name) {
  static const char* const names[] = {"[heap]", "[anon", "/dev/zero", "/dev/shm/", "/memfd:", "/SYSV"};
  return *name == '\0' || std::any_of(std::begin(names), std::end(names), [name](const char* begin) {
    return std::strncmp(name, begin, std::strlen(begin)) == 0;
  });
}

// Start, end and permissions of a line; false if it is none or not readable.
bool parse_mapping(const char* line, Region& region) {
  uint64_t base = 0;
  uint64_t end = 0;
  char permissions[5] = {};
  int name = 0;
  if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s %n", &base, &end, permissions, &name) != 3 ||
      permissions[0] != 'r') {
    return false;
  }
  const bool is_writable = permissions[1] == 'w';
  const bool is_data = holds_data(line + name);
  region = {base, end, is_writable && is_data, is_writable && !is_data};
  return true;
}

// Listed as readable, but not by everyone.
bool is_special(const char* line) { return std::strstr(line, "[vvar") || std::strstr(line, "[vsyscall]"); }

int add_data_of_object(dl_phdr_info* object, size_t, void* result) {
  static const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  for (unsigned k = 0; k < object->dlpi_phnum; ++k) {
    const auto& segment = object->dlpi_phdr[k];
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W) != 0) {
      const uint64_t base = object->dlpi_addr + segment.p_vaddr;
      const uint64_t end = (base + segment.p_memsz + page - 1) / page * page;
      static_cast<std::vector<Region>*>(result)->push_back({base / page * page, end});
    }
  }
  return 0;
}

// The main thread's stack has a name. For the others the C library knows; for the main thread it would read
// all mappings.
bool has_named_stack() { return syscall(SYS_gettid) == getpid(); }

// Part of which is anonymous, such as uninitialized variables: by address.
std::vector<Region> stack_and_data() {
  std::vector<Region> ranges;
  dl_iterate_phdr(add_data_of_object, &ranges);
  pthread_attr_t attributes;
  if (!has_named_stack() && pthread_getattr_np(pthread_self(), &attributes) == 0) {
    void* stack = nullptr;
    size_t size = 0;
    if (pthread_attr_getstack(&attributes, &stack, &size) == 0) {
      const auto base = reinterpret_cast<uint64_t>(stack);
      ranges.push_back({base, base + size});
    }
    pthread_attr_destroy(&attributes);
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const Region& left, const Region& right) { return left.base < right.base; });
  return ranges;
}

// Neighbours become one range: an access may cross from one mapping into the next.
void append(std::vector<Region>& regions, const Region& region) {
  if (region.base >= region.end) {
    return;
  }
  Region* last = regions.empty() ? nullptr : &regions.back();
  if (last && last->end == region.base && last->writable == region.writable &&
      last->withheld == region.withheld) {
    last->end = region.end;
  } else {
    regions.push_back(region);
  }
}

// The parts of the region that are in one of the ranges are withheld.
void append_parts(std::vector<Region>& regions, Region region, const std::vector<Region>& ranges) {
  for (const Region& range : ranges) {
    if (!region.writable || range.end <= region.base || range.base >= region.end) {
      continue;
    }
    const uint64_t begin = std::max(region.base, range.base);
    const uint64_t end = std::min(region.end, range.end);
    append(regions, {region.base, begin, true});
    append(regions, {begin, end, false, true});
    region.base = end;
  }
  append(regions, region);
}

// Linux 6.11's question after one mapping, PROCMAP_QUERY: not in older headers.
struct MappingQuery {
  uint64_t size = sizeof(MappingQuery);
  uint64_t query_flags = 0;  // the mapping that holds the address
  uint64_t query_address = 0;
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t flags = 0;
  uint64_t page_size = 0;
  uint64_t offset = 0;
  uint64_t inode = 0;
  uint32_t device[2] = {};
  uint32_t name_size = 0;
  uint32_t build_id_size = 0;
  uint64_t name = 0;
  uint64_t build_id = 0;
};
constexpr unsigned long query_request = _IOWR('f', 17, MappingQuery);
constexpr uint64_t query_readable = 1, query_writable = 2;

// The mapping and its name; false if there is none, or the system cannot say.
bool query_mapping(uint64_t address, MappingQuery& query, char* name, uint32_t name_size) {
  const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) {
    return false;
  }
  query.query_address = address;
  query.name = reinterpret_cast<uint64_t>(name);
  query.name_size = name_size;
  const int status = ioctl(maps, query_request, &query);
  close(maps);
  return status == 0;
}

}  // namespace

std::vector<Region> mapping_at(uint64_t address) {
  const CancellationOff off;
  std::vector<Region> regions;
  MappingQuery query;
  char name[4096] = {};
  if (!query_mapping(address, query, name, sizeof name) || (query.flags & query_readable) == 0 ||
      is_special(name)) {
    return regions;
  }
  const bool is_writable = (query.flags & query_writable) != 0;
  const bool is_data = holds_data(name);
  append_parts(regions, {query.start, query.end, is_writable && is_data, is_writable && !is_data},
               stack_and_data());
  return regions;
}

std::vector<Region> read_process_map() {
  const CancellationOff off;
  std::vector<Region> regions;
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  if (!maps) {
    return regions;
  }
  const std::vector<Region> ranges = stack_and_data();
  char line[4400];  // a path and what stands before it
  while (std::fgets(line, sizeof line, maps)) {
    line[std::strcspn(line, "\n")] = '\0';
    Region region;
    if (parse_mapping(line, region) && !is_special(line)) {
      append_parts(regions, region, ranges);
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
