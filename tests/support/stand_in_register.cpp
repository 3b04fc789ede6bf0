// A librocprofiler-register.so.0 that finds a profiler as the real one does: by the names that it exports.
//
// Environment: ROCPROFILER_REGISTER_ENABLED=0 answers that there are no tools, STAND_IN_REGISTER_LOG is a
// file that every registration adds a line to: name, version, number of tables, answer.
#include <dlfcn.h>
#include <rocprofiler_register.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

namespace {

constexpr unsigned most_instances = 8;

using SetTable = int (*)(const char* name, std::uint64_t version, std::uint64_t instance, void** tables,
                         std::uint64_t count);

thread_local int registrations_running = 0;

std::map<std::string, unsigned>& instances() {
  static std::map<std::string, unsigned> all;
  return all;
}

bool is_enabled() {
  const char* enabled = std::getenv("ROCPROFILER_REGISTER_ENABLED");
  return !enabled || std::strcmp(enabled, "0") != 0;
}

rocprofiler_register_error_code_t pass_on(const char* name, std::uint32_t version, void** tables,
                                          std::uint64_t count) {
  if (!is_enabled()) return ROCP_REG_NO_TOOLS;
  if (registrations_running > 1) return ROCP_REG_DEADLOCK;
  if (count < 1) return ROCP_REG_BAD_API_TABLE_LENGTH;
  if (instances()[name] == most_instances) return ROCP_REG_EXCESS_API_INSTANCES;
  const unsigned instance = instances()[name]++;
  if (!dlsym(RTLD_DEFAULT, "rocprofiler_configure")) return ROCP_REG_NO_TOOLS;
  const auto set = reinterpret_cast<SetTable>(dlsym(RTLD_DEFAULT, "rocprofiler_set_api_table"));
  if (!set) std::abort();
  return set(name, version, instance, tables, count) == 0 ? ROCP_REG_SUCCESS : ROCP_REG_ROCPROFILER_ERROR;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) rocprofiler_register_error_code_t
rocprofiler_register_library_api_table(const char* name, int (*)(), std::uint32_t version, void** tables,
                                       std::uint64_t count, rocprofiler_register_library_indentifier_t*) {
  ++registrations_running;
  const auto answer = pass_on(name, version, tables, count);
  --registrations_running;
  if (const char* path = std::getenv("STAND_IN_REGISTER_LOG"))
    if (std::FILE* log = std::fopen(path, "a")) {
      std::fprintf(log, "%s %u %llu %d\n", name, version, static_cast<unsigned long long>(count), answer);
      std::fclose(log);
    }
  return answer;
}
