// A HIP runtime that works as ROCm's does since 6.1: every exported function jumps through a table of the
// real layout, which the first call registers with rocprofiler-register. Its functions are the software
// device's.
//
// Environment: TABLE_HIP_MUTE keeps the tables to itself, TABLE_HIP_DIRECT has its oldest launch do all by
// itself.
//
// Compiled with -DTABLE_HIP_NAMES="file": RUNTIME(index, name) and COMPILER(index, name) for each function
// that it has, and -DTABLE_HIP_SLOTS=how many the runtime's table has. Environment: TABLE_HIP_CORE, the
// software device's file under a name that is not HIP's.
#include <dlfcn.h>
#include <rocprofiler_register.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#define TABLE_HIP_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int not_supported = 801, not_found = 500;
constexpr std::uint32_t hip_version = 70200;

template <int Slots>
struct Table {
  std::uint64_t size = sizeof(Table);
  void* functions[Slots] = {};
};
static_assert(sizeof(Table<TABLE_HIP_SLOTS>) == 8 + 8 * TABLE_HIP_SLOTS);

int not_there() { return not_supported; }

void* core() {
  static void* handle = dlopen(std::getenv("TABLE_HIP_CORE"), RTLD_NOW | RTLD_LOCAL);
  if (!handle) std::fprintf(stderr, "table_hip: %s\n", dlerror()), std::abort();
  return handle;
}

void* of_core(const char* name) {
  void* found = dlsym(core(), name);
  return found ? found : reinterpret_cast<void*>(&not_there);
}

template <class Function>
Function* of_core_as(const char* name) {
  return reinterpret_cast<Function*>(of_core(name));
}

// As HIP does it: its own exports, looked for by name in itself.
int find_export(const char* name, void** function, int* status) {
  Dl_info self;
  dladdr(reinterpret_cast<void*>(&not_there), &self);
  *function = dlsym(dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD), name);
  if (status) *status = *function ? 0 : 1;
  return *function ? 0 : not_found;
}
int get_proc_address(const char* name, void** function, int, std::uint64_t, int* status) {
  return find_export(name, function, status);
}
int get_driver_entry_point(const char* name, void** function, unsigned long long, int* status) {
  return find_export(name, function, status);
}
int get_proc_address_spt(const char* name, void** function, int, std::uint64_t, int* status) {
  return find_export((std::string(name) + "_spt").c_str(), function, status) == 0
             ? 0
             : find_export(name, function, status);
}
int get_driver_entry_point_spt(const char* name, void** function, unsigned long long, int* status) {
  return get_proc_address_spt(name, function, 0, 0, status);
}

}  // namespace

// HIP's oldest launch goes to a newer one, and by its exported name: it may be somebody else's.
TABLE_HIP_EXPORT int hipModuleLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                           unsigned, void*, void**, void**);
namespace {

struct Dim3 {
  unsigned x, y, z;
};
struct Configured {
  Dim3 grid, block;
  unsigned shared;
  void* stream;
  unsigned char arguments[256];
  std::size_t size;
};
thread_local Configured configured;

int configure_call(Dim3 grid, Dim3 block, std::size_t shared, void* stream) {
  configured = {grid, block, static_cast<unsigned>(shared), stream, {}, 0};
  return 0;
}
int setup_argument(const void* argument, std::size_t size, std::size_t offset) {
  std::memcpy(configured.arguments + offset, argument, size);
  configured.size = offset + size;
  return 0;
}
int launch_by_ptr(void* function) {
  void* extra[] = {reinterpret_cast<void*>(1), configured.arguments, reinterpret_cast<void*>(2),
                   &configured.size, reinterpret_cast<void*>(3)};
  const Dim3 grid = configured.grid, block = configured.block;
  auto* launch = &hipModuleLaunchKernel;
  if (std::getenv("TABLE_HIP_DIRECT"))
    launch = of_core_as<decltype(hipModuleLaunchKernel)>("hipModuleLaunchKernel");
  return launch(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, configured.shared,
                configured.stream, nullptr, extra);
}

}  // namespace

extern "C" __attribute__((visibility("hidden"))) Table<TABLE_HIP_SLOTS> table_hip_runtime;
extern "C" __attribute__((visibility("hidden"))) Table<9> table_hip_compiler;
extern "C" __attribute__((visibility("hidden"))) std::uint64_t table_hip_counts[TABLE_HIP_SLOTS];
extern "C" __attribute__((visibility("hidden"))) std::uint64_t table_hip_runtime_ready;
extern "C" __attribute__((visibility("hidden"))) std::uint64_t table_hip_compiler_ready;
Table<TABLE_HIP_SLOTS> table_hip_runtime;
Table<9> table_hip_compiler;
std::uint64_t table_hip_counts[TABLE_HIP_SLOTS];
std::uint64_t table_hip_runtime_ready = 0, table_hip_compiler_ready = 0;

// How often the runtime's export was entered, whoever called it.
TABLE_HIP_EXPORT std::uint64_t hipTableCalls(int slot) { return table_hip_counts[slot]; }

namespace {

void register_table(const char* name, void* table) {
#ifdef TABLE_HIP_UNREGISTERED  // as distributions build it
  (void)name, (void)table;
#else
  if (std::getenv("TABLE_HIP_MUTE")) return;
  void* tables[1] = {table};
  rocprofiler_register_library_indentifier_t id{};
  rocprofiler_register_library_api_table(name, &not_there, hip_version, tables, 1, &id);
#endif
}

std::once_flag runtime_once, compiler_once;

}  // namespace

extern "C" __attribute__((visibility("hidden"))) void table_hip_start_runtime() {
  std::call_once(runtime_once, [] {
    const auto set = [](int slot, auto* function) {
      if (slot < TABLE_HIP_SLOTS) table_hip_runtime.functions[slot] = reinterpret_cast<void*>(function);
    };
#define RUNTIME(index, name) set(index, reinterpret_cast<void (*)()>(of_core(#name)));
#define COMPILER(index, name)
#include TABLE_HIP_NAMES
#undef RUNTIME
#undef COMPILER
    set(13, &configure_call);
    set(210, &launch_by_ptr);
    set(329, &setup_argument);
    set(442, &get_proc_address);
    set(491, &get_driver_entry_point);
    set(492, &get_driver_entry_point_spt);
    set(506, &get_proc_address_spt);
    register_table("hip", &table_hip_runtime);
    table_hip_runtime_ready = 1;
  });
}

extern "C" __attribute__((visibility("hidden"))) void table_hip_start_compiler() {
  std::call_once(compiler_once, [] {
#define RUNTIME(index, name)
#define COMPILER(index, name) table_hip_compiler.functions[index] = of_core(#name);
#include TABLE_HIP_NAMES
#undef RUNTIME
#undef COMPILER
    register_table("hip_compiler", &table_hip_compiler);
    table_hip_compiler_ready = 1;
  });
}

// The arguments stay where they are; the slot is read after the table was registered.
#define TABLE_HIP_START(start)                                                       \
  asm(".text\n" #start                                                               \
      "_saving:\n"                                                                   \
      "  push %rdi\n  push %rsi\n  push %rdx\n  push %rcx\n  push %r8\n  push %r9\n" \
      "  call " #start                                                               \
      "\n"                                                                           \
      "  pop %r9\n  pop %r8\n  pop %rcx\n  pop %rdx\n  pop %rsi\n  pop %rdi\n"       \
      "  ret\n");
TABLE_HIP_START(table_hip_start_runtime)
TABLE_HIP_START(table_hip_start_compiler)

#define TABLE_HIP_JUMP(name, ready, start, count, slot)             \
  asm(".text\n.globl " #name "\n.type " #name ", @function\n" #name \
      ":\n"                                                         \
      "  cmpq $0, " #ready                                          \
      "(%rip)\n"                                                    \
      "  jne 1f\n"                                                  \
      "  call " #start                                              \
      "_saving\n"                                                   \
      "1:\n" count "  jmp *" slot                                   \
      "(%rip)\n"                                                    \
      ".size " #name ", . - " #name "\n");
#define RUNTIME(index, name)                                              \
  TABLE_HIP_JUMP(name, table_hip_runtime_ready, table_hip_start_runtime,  \
                 "  lock incq table_hip_counts + 8 * " #index "(%rip)\n", \
                 "table_hip_runtime + 8 + 8 * " #index)
#define COMPILER(index, name)                                                  \
  TABLE_HIP_JUMP(name, table_hip_compiler_ready, table_hip_start_compiler, "", \
                 "table_hip_compiler + 8 + 8 * " #index)
#include TABLE_HIP_NAMES

// What makes it a software device.
TABLE_HIP_EXPORT std::uint64_t ktrace_softdev_now_ns() {
  return of_core_as<std::uint64_t()>("ktrace_softdev_now_ns")();
}
TABLE_HIP_EXPORT void ktrace_softdev_tool_thread() { of_core_as<void()>("ktrace_softdev_tool_thread")(); }
TABLE_HIP_EXPORT void ktrace_softdev_clock(int device, std::uint64_t* core_clock, std::uint64_t* constant) {
  of_core_as<void(int, std::uint64_t*, std::uint64_t*)>("ktrace_softdev_clock")(device, core_clock, constant);
}
