// The software device as its HIP layer sees it: memory, code objects, devices and dispatches.
//
// Device pointers are host pointers. Everything throws only LoadError (code objects) and Fault (dispatches,
// wave.hpp), besides std::bad_alloc. MemoryRegistry, CodeObject and Device may be used from several threads;
// a device runs one dispatch at a time and Device::run returns when it has finished.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/wave.hpp"  // Arch, Fault, apertures

namespace ktrace::softdev {

class SourceLines;  // source_lines.hpp
struct Text;        // text.hpp
class DevicePools;  // wave_pool.hpp

enum class MemoryKind : uint8_t {
  device,           // hipMalloc
  host_pinned,      // hipHostMalloc
  host_registered,  // hipHostRegister: not ours to free
  managed,          // hipMallocManaged
  internal,         // ours: kernarg segments, queues
  adopted,          // code objects and mapped memory: their own to free
};

struct Allocation {
  uint64_t base = 0;
  size_t size = 0;  // bytes, as asked for
  MemoryKind kind = MemoryKind::device;
  int device = 0;
  uint64_t serial = 0;  // 1, 2, ... in order of allocation; never reused
};

// Every range that a kernel may touch on purpose. A kernel's access inside a range is fine; an access that
// starts in no range is looked up in the process's own page map (programs pass plain host pointers) and
// faults if nothing is mapped.
class MemoryRegistry {
 public:
  MemoryRegistry() = default;
  ~MemoryRegistry();
  MemoryRegistry(const MemoryRegistry&) = delete;
  MemoryRegistry& operator=(const MemoryRegistry&) = delete;

  // 256-byte aligned and zeroed. Returns null if the system has no memory left. A size of 0 gives null.
  void* allocate(size_t size, MemoryKind kind, int device = 0);
  // Frees what allocate returned; false if `pointer` is no allocation's base (nothing happens then).
  bool release(void* pointer);
  // Adds and removes memory that someone else owns (hipHostRegister, code objects); false if it overlaps or
  // is unknown.
  bool adopt(void* pointer, size_t size, MemoryKind kind, int device = 0);
  bool abandon(void* pointer);
  // The range that contains the address, its end excluded.
  std::optional<Allocation> find(const void* pointer) const;
  // The range that ends closest below or starts closest above the address, for messages.
  std::optional<Allocation> nearest(const void* pointer) const;
  std::vector<Allocation> allocations() const;  // by address
  size_t allocated_bytes() const;               // of kind device and managed, all devices
  // Changes whenever a range comes or goes: cached answers are then stale.
  uint64_t generation() const { return m_generation.load(std::memory_order_acquire); }

 private:
  mutable std::mutex m_mutex;
  std::map<uint64_t, Allocation> m_by_base;
  std::atomic<uint64_t> m_generation{1};
  uint64_t m_next_serial = 1;
  bool insert(uint64_t base, size_t size, MemoryKind kind, int device);
  void forget_overlapped(uint64_t base, size_t size);
};

struct LoadError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct KernelArgument {
  uint32_t offset = 0;
  uint32_t size = 0;
  std::string value_kind;  // "by_value", "global_buffer", "hidden_block_count_x", ...
  std::string name;        // may be empty
};

struct Kernel {
  std::string name;    // ".name" of the metadata
  std::string symbol;  // of the descriptor, "<name>.kd"
  uint32_t kernarg_size = 0;
  uint32_t kernarg_alignment = 8;
  uint32_t lds_bytes = 0;      // static
  uint32_t private_bytes = 0;  // per lane
  uint32_t sgpr_count = 0;
  uint32_t vgpr_count = 0;  // architectural + accumulation, as allocated
  uint32_t agpr_count = 0;
  uint32_t max_workgroup_size = 1024;
  uint32_t wavefront_size = 64;
  uint32_t sgpr_spills = 0;
  uint32_t vgpr_spills = 0;
  bool uses_dynamic_stack = false;
  std::vector<KernelArgument> arguments;  // in the metadata's order: explicit ones, then hidden ones

  // From the descriptor: for the core.
  uint64_t descriptor = 0;  // address
  uint64_t entry = 0;       // address
  uint32_t rsrc1 = 0;
  uint32_t rsrc2 = 0;
  uint32_t rsrc3 = 0;
  uint16_t properties = 0;
  uint16_t kernarg_preload = 0;
};

struct Symbol {  // a global variable
  uint64_t address = 0;
  uint64_t size = 0;
};

// A loaded, relocated code object. Its memory lives as long as the object does.
class CodeObject {
 public:
  // Loads a code object (plain ELF: the caller has unbundled and decompressed it). `registry` gets its memory
  // as MemoryKind::internal. `size` may exceed the ELF. Throws LoadError that says what is wrong and where.
  static std::shared_ptr<CodeObject> load(const void* image, size_t size, MemoryRegistry& registry);
  // The size of an ELF from its own headers, for callers that get a bare pointer (hipModuleLoadData); 0 if it
  // is none. At most `limit`, and nothing behind it is read.
  static size_t elf_size(const void* image, size_t limit = SIZE_MAX);
  ~CodeObject();
  CodeObject(const CodeObject&) = delete;
  CodeObject& operator=(const CodeObject&) = delete;

  // By metadata name, or by descriptor symbol with or without ".kd"; null if there is none.
  const Kernel* find_kernel(const std::string& name) const;
  const std::vector<Kernel>& kernels() const { return m_kernels; }
  const std::map<std::string, Symbol>& symbols() const { return m_symbols; }  // global variables only
  const std::string& target() const { return m_target; }  // "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"
  Arch arch() const { return m_arch; }
  unsigned code_object_version() const { return m_version; }  // 4, 5 or 6
  bool runs_on(Arch device) const;  // generic targets: gfx9-4-generic runs on gfx942 and gfx950

  // ---- of the core
  const std::vector<std::unique_ptr<Text>>& texts() const { return m_texts; }
  std::string source_of(uint64_t pc) const;  // "saxpy.hip:12"; empty without debug information

 private:
  CodeObject(MemoryRegistry& registry, Arch arch);
  friend class Loader;
  void map(size_t size);

  MemoryRegistry& m_registry;
  Arch m_arch;
  unsigned m_version = 0;
  std::string m_target;
  bool m_generic = false;
  uint8_t* m_base = nullptr;
  size_t m_size = 0;
  std::vector<Kernel> m_kernels;
  std::map<std::string, Symbol> m_symbols;
  std::vector<std::unique_ptr<Text>> m_texts;
  std::unique_ptr<SourceLines> m_lines;
};

const char* arch_name(Arch arch);  // "gfx942"

// What the virtual hardware looks like. MI300X for gfx942, MI355X for gfx950, one die of MI250X for gfx90a.
struct Topology {
  const char* product_name;  // "KTRACE software device (gfx942)"
  uint32_t xcds;
  uint32_t shader_engines;  // per XCD
  uint32_t cus_per_xcd;     // active
  uint32_t simds_per_cu;
  uint32_t wave_slots_per_simd;
  uint32_t lds_bytes_per_cu;
  uint32_t vgprs_per_simd;  // per lane
  uint64_t memory_bytes;    // what is reported as the device's memory; nothing is reserved
  uint32_t core_clock_khz;
  uint32_t memory_clock_khz;
  uint32_t memory_bus_bits;
  uint32_t l2_bytes;
  uint32_t cus() const { return xcds * cus_per_xcd; }
};

constexpr uint64_t core_clock_hz = 2100000000;     // s_memtime
constexpr uint64_t realtime_hz = 100000000;        // s_memrealtime
constexpr uint64_t cycles_per_realtime_tick = 21;  // core_clock_hz / realtime_hz

// Environment KTRACE_SOFT_ARCH: gfx90a, gfx942 (default) or gfx950. Throws LoadError that names the
// variable, its value and what is expected if it is none of these, or if one of settings.hpp makes no sense.
Arch arch_from_environment();

struct Dispatch {
  std::shared_ptr<CodeObject> code_object;
  const Kernel* kernel = nullptr;  // of code_object
  uint32_t grid[3] = {1, 1, 1};    // workgroups, partial ones included
  uint32_t block[3] = {1, 1, 1};   // work-items
  // Work-items in all; 0 means grid * block. Smaller values leave partial workgroups at the end
  // (hipExt*Launch).
  uint32_t global[3] = {0, 0, 0};
  uint32_t dynamic_lds = 0;  // bytes on top of Kernel::lds_bytes
  // The finished kernarg segment, hidden arguments included; at least Kernel::kernarg_size bytes. 64-byte
  // aligned if it is from MemoryRegistry::allocate. It must live until run() returns. It need not be in the
  // registry.
  const void* kernarg = nullptr;
  size_t kernarg_size = 0;
  // queue_bytes that stand for the hardware queue's descriptor, whose address kernels may ask for; null: this
  // dispatch has a queue of its own.
  void* queue = nullptr;
};
constexpr size_t queue_bytes = 256;

struct DispatchResult {
  uint64_t start_cycles = 0;  // virtual, first wave's start
  uint64_t end_cycles = 0;    // virtual, last wave's end
  uint64_t instructions = 0;  // wave instructions executed
  uint64_t waves = 0;
  uint64_t workgroups = 0;
};

class Device {
 public:
  Device(int index, Arch arch, MemoryRegistry& registry);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  int index() const { return m_index; }
  Arch arch() const { return m_arch; }
  const Topology& topology() const { return m_topology; }
  // The most workgroups of this kernel that fit on one CU at once (waves, registers, LDS); 0 if not even one
  // does.
  uint32_t occupancy(const Kernel& kernel, uint32_t block_size, uint32_t dynamic_lds) const;

  // Runs to completion. Throws Fault, also for an impossible dispatch (block too large, LDS, wrong target).
  // The clock has advanced to end_cycles afterwards, also when it throws.
  DispatchResult run(const Dispatch& dispatch);

  // The virtual clock. It starts at 1 s and never goes back. Only dispatches and advance_host() move it: the
  // host's own clock is never read, so two runs of one program see the same times.
  uint64_t now_cycles() const { return m_now.load(std::memory_order_acquire); }
  uint64_t now_realtime() const { return now_cycles() / cycles_per_realtime_tick; }
  uint64_t now_ns() const;  // since the same epoch
  void advance_host(uint64_t ns);
  static uint64_t cycles_to_ns(uint64_t cycles);

 private:
  const int m_index;
  const Arch m_arch;
  const Topology m_topology;
  MemoryRegistry& m_registry;
  std::atomic<uint64_t> m_now;
  std::mutex m_run_mutex;
  std::unique_ptr<DevicePools> m_pools;
  uint64_t m_dispatch_count = 0;
};

}  // namespace ktrace::softdev
