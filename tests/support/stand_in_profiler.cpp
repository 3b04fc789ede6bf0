// A profiler that is preloaded and, like rocprofiler-sdk, keeps a copy of every table that it is given and
// puts its own functions in its place: they count the call and go on to the copy.
//
// At its end it writes STAND_IN_PROFILER_COUNTS: one line `table instance slot calls` per slot that was
// called.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr std::uint64_t most_slots = 600, most_tables = 8;

struct Known {
  char name[32] = {};
  std::uint64_t instance = 0;
};
Known known[most_tables];
std::uint64_t tables_known = 0;

}  // namespace

extern "C" __attribute__((visibility("hidden"))) std::uint64_t stand_in_counts[most_tables * most_slots];
extern "C" __attribute__((visibility("hidden"))) void* stand_in_originals[most_tables * most_slots];
std::uint64_t stand_in_counts[most_tables * most_slots];
void* stand_in_originals[most_tables * most_slots];

// One function of 16 bytes for every slot of every table.
asm(".text\n"
    ".p2align 4\n"
    "stand_in_functions:\n"
    ".set stand_in_slot, 0\n"
    ".rept 8 * 600\n"
    "  .p2align 4\n"
    "  lock incq stand_in_counts + 8 * stand_in_slot(%rip)\n"
    "  jmp *stand_in_originals + 8 * stand_in_slot(%rip)\n"
    "  .set stand_in_slot, stand_in_slot + 1\n"
    ".endr\n");
extern "C" __attribute__((visibility("hidden"))) char stand_in_functions[];

extern "C" __attribute__((visibility("default"))) void* rocprofiler_configure(std::uint32_t, const char*,
                                                                              std::uint32_t, void*) {
  return nullptr;
}

extern "C" __attribute__((visibility("default"))) int rocprofiler_set_api_table(
    const char* name, std::uint64_t, std::uint64_t instance, void** tables, std::uint64_t count) {
  if (count != 1 || tables_known == most_tables) return 1;
  auto* size = static_cast<std::uint64_t*>(tables[0]);
  auto** slots = reinterpret_cast<void**>(size + 1);
  Known& table = known[tables_known];
  std::strncpy(table.name, name, sizeof table.name - 1);
  table.instance = instance;
  const std::uint64_t first = tables_known++ * most_slots;
  for (std::uint64_t i = 0; i < *size / 8 - 1; ++i) {
    stand_in_originals[first + i] = slots[i];
    if (slots[i]) slots[i] = stand_in_functions + 16 * (first + i);
  }
  return 0;
}

namespace {

struct Report {
  ~Report() {
    const char* path = std::getenv("STAND_IN_PROFILER_COUNTS");
    std::FILE* file = path ? std::fopen(path, "w") : nullptr;
    if (!file) return;
    for (std::uint64_t i = 0; i < tables_known * most_slots; ++i)
      if (stand_in_counts[i])
        std::fprintf(file, "%s %llu %llu %llu\n", known[i / most_slots].name,
                     static_cast<unsigned long long>(known[i / most_slots].instance),
                     static_cast<unsigned long long>(i % most_slots),
                     static_cast<unsigned long long>(stand_in_counts[i]));
    std::fclose(file);
  }
} report;

}  // namespace
