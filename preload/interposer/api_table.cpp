#include "api_table.hpp"

#include <dlfcn.h>

#include <cstring>

#include "api_table_layout.hpp"
#include "hooks.hpp"

namespace ktrace {
namespace {

constexpr char register_name[] = "rocprofiler_register_library_api_table";
constexpr int no_tools = 1;  // what rocprofiler-register answers where there is nobody to tell

using Register = int (*)(const char* name, void* import, std::uint32_t version, void** tables,
                         std::uint64_t count, void* id);

// A table in memory: its size in bytes, then the functions.
class ApiTable {
 public:
  explicit ApiTable(void* table) : m_table(static_cast<std::uint64_t*>(table)) {}

  bool has(int slot) const {
    return slot >= 0 && static_cast<std::uint64_t>(slot) < m_table[0] / sizeof(void*) - 1 && *place(slot);
  }
  void* get(int slot) const { return has(slot) ? *place(slot) : nullptr; }
  void set(int slot, void* function) const { *place(slot) = function; }

 private:
  void** place(int slot) const { return reinterpret_cast<void**>(m_table + 1 + slot); }

  std::uint64_t* m_table;
};

// A function of ours that is in no table would be missed wherever there is one.
constexpr bool is_in_a_table(std::string_view name) {
  return name.substr(0, 15) == "ktrace_softdev_" || slot_in(runtime_table, name) >= 0 ||
         slot_in(compiler_table, name) >= 0;
}
#define KTRACE_IN_A_TABLE(Result, name, parameters) static_assert(is_in_a_table(#name), #name);
KTRACE_HIP_HOOKED(KTRACE_IN_A_TABLE)
KTRACE_HIP_USED(KTRACE_IN_A_TABLE)
#undef KTRACE_IN_A_TABLE

// `Slots` is the list of names of the table; functions of the other table are left as they are.
#define KTRACE_TAKE_SLOT(Result, name, parameters)                            \
  if constexpr (constexpr int slot = slot_in(KTRACE_SLOTS, #name); slot >= 0) \
    hip.name = reinterpret_cast<Result(*) parameters>(table.get(slot));
#define KTRACE_PUT_HOOK(Result, name, parameters)                             \
  if constexpr (constexpr int slot = slot_in(KTRACE_SLOTS, #name); slot >= 0) \
    if (table.has(slot)) table.set(slot, find_table_hook(#name, hip.index));

#define KTRACE_SLOTS runtime_table
void take_runtime(HipLibrary& hip, const ApiTable& table) {
  KTRACE_HIP_HOOKED(KTRACE_TAKE_SLOT)
  KTRACE_HIP_USED(KTRACE_TAKE_SLOT)
  KTRACE_HIP_HOOKED(KTRACE_PUT_HOOK)
}
#undef KTRACE_SLOTS
#define KTRACE_SLOTS compiler_table
void take_compiler(HipLibrary& hip, const ApiTable& table) {
  KTRACE_HIP_HOOKED(KTRACE_TAKE_SLOT)
  KTRACE_HIP_USED(KTRACE_TAKE_SLOT)
  KTRACE_HIP_HOOKED(KTRACE_PUT_HOOK)
}
#undef KTRACE_SLOTS
#undef KTRACE_TAKE_SLOT
#undef KTRACE_PUT_HOOK

// A copy that registers the same table again has our hooks in it already.
bool is_taken(const ApiTable& table, std::string_view list, const char* name, int library) {
  return table.get(slot_in(list, name)) == find_table_hook(name, library);
}

void take(const char* name, void* memory) {
  const bool is_runtime = std::strcmp(name, "hip") == 0;
  if (!is_runtime && std::strcmp(name, "hip_compiler") != 0) return;
  const int library = memory ? hip_library_of_table(memory) : -1;
  if (library < 0) return;
  HipLibrary& hip = hip_library(library);
  const ApiTable table(memory);
  if (is_runtime && !is_taken(table, runtime_table, "hipInit", library)) take_runtime(hip, table);
  if (!is_runtime && !is_taken(table, compiler_table, "__hipRegisterFatBinary", library))
    take_compiler(hip, table);
  hip.call_path = CallPath::table;
}

// The copy may end in a call of ours, so a return address alone does not tell who it is: nor does `import`,
// which is a function of the copy, where it is left out.
Register next_register(const void* import, const void* table, const void* return_address) noexcept {
  try {
    for (const void* address : {import, return_address, table})
      if (address && imports(object_of(address), register_name))
        return reinterpret_cast<Register>(next_for_caller(address, register_name));
    return reinterpret_cast<Register>(next_for_caller(return_address, register_name));
  } catch (...) {
    return nullptr;
  }
}

void take_all(const char* name, void** tables, std::uint64_t count) noexcept {
  try {
    for (std::uint64_t i = 0; name && tables && i < count; ++i) take(name, tables[i]);
  } catch (...) {  // untouched, the copy is seen through its symbols
  }
}

}  // namespace

}  // namespace ktrace

// Called within the first call of a copy of HIP, once per table. Our hooks go in before the table is passed
// on: a profiler that comes after puts itself in front of them.
extern "C" KTRACE_EXPORT int rocprofiler_register_library_api_table(const char* name, void* import,
                                                                    std::uint32_t version, void** tables,
                                                                    std::uint64_t count, void* id) {
  using namespace ktrace;
  take_all(name, tables, count);
  const void* const table = tables && count > 0 ? tables[0] : nullptr;
  const Register next = next_register(import, table, __builtin_return_address(0));
  return next ? next(name, import, version, tables, count, id) : no_tools;
}

namespace ktrace {

bool is_table_expected(const LoadedObject& copy) {
  return imports(copy, register_name) && real_dlsym()(RTLD_DEFAULT, register_name) ==
                                             reinterpret_cast<void*>(&rocprofiler_register_library_api_table);
}

}  // namespace ktrace
