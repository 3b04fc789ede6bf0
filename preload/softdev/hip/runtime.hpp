// The state behind the HIP calls: devices, streams, events, modules, and the locks around them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/machine.hpp"
#include "hip/clock.hpp"
#include "hip/hip_abi.hpp"

namespace ktrace::softdev::hip {

struct Capture;
struct FatBinaries;
class Graph;
struct GraphExec;
struct GraphNode;
struct GraphRegistry;
struct Library;
struct VirtualMemory;

struct Stream {
  int device = 0;
  unsigned flags = hipStreamDefault;
  int priority = 0;
  uint64_t id = 0;
  bool is_legacy = false;  // a device's null stream
  Nanoseconds ready = 0;   // when everything enqueued so far has finished
  std::vector<uint32_t> cu_mask;
  std::shared_ptr<Capture> capture;  // null unless the stream captures
  std::vector<GraphNode*> capture_dependencies;
};

struct Event {
  int device = 0;
  unsigned flags = 0;
  bool is_recorded = false;
  Nanoseconds time = 0;              // when the device reaches it
  Nanoseconds enqueued = 0;          // when the host recorded it
  std::shared_ptr<Capture> capture;  // the one it was recorded in, if that was the last record
  std::vector<GraphNode*> capture_nodes;
};

struct Module;

struct Function {
  Module* module = nullptr;
  const Kernel* kernel = nullptr;
  int max_dynamic_lds = 0;  // set by hipFuncSetAttribute
};

// One code object on one device.
struct Module {
  int device = 0;
  std::shared_ptr<CodeObject> code_object;
  std::map<std::string, std::unique_ptr<Function>> function_by_name;
};

// What a fault did to a device: every later call that needs the device returns the error, until
// hipDeviceReset.
struct DeviceFault {
  hipError_t error = hipSuccess;
  bool is_reported = false;  // the launch itself returned success, as on
                             // hardware; some later call did not
};

struct DeviceState {
  DeviceState(int index, int own_number, Arch arch, MemoryRegistry& registry)
      : number(own_number), machine(index, arch, registry) {}

  const int number;  // among all devices; the machine's index is among those that the process sees
  Device machine;
  // Held by whoever enqueues to this device, so that a stream has one order; taken before Runtime::mutex.
  std::mutex work_mutex;
  Stream null_stream;
  std::set<Stream*> streams;
  std::optional<DeviceFault> fault;
  void* queue_of(const Stream& stream) const { return queues[stream.id % queues.size()]; }
  unsigned flags = 0;
  bool is_active = false;
  size_t allocated = 0;                 // bytes, kinds device and managed
  std::array<void*, 4> queues = {};     // as many as HIP makes of a device; streams share them
  hipMemPool_t default_pool = nullptr;  // made when first asked for
  hipMemPool_t current_pool = nullptr;  // null: the default one
  std::set<int> peers;                  // devices whose memory hipDeviceEnablePeerAccess opened
};

struct MemoryPool {
  int device = 0;
  std::map<int, uint64_t> attributes;  // as the program set them
};

// A registered or allocated range as HIP tells about it, beyond what the registry knows.
struct MemoryNote {
  unsigned flags = 0;
  bool sync_memops = false;
};

// All state of the process. It is never destroyed: programs call HIP from static destructors.
class Runtime {
 public:
  static Runtime& get();

  std::mutex mutex;
  HostClock clock;
  MemoryRegistry registry;
  std::vector<std::unique_ptr<DeviceState>> devices;
  hipError_t start_error = hipSuccess;  // why there are no devices
  size_t pinned = 0;                    // bytes of kind host_pinned

  std::unordered_map<hipStream_t, std::unique_ptr<Stream>> streams;
  std::unordered_map<hipEvent_t, std::unique_ptr<Event>> events;
  std::unordered_map<hipModule_t, std::unique_ptr<Module>> modules;
  std::unordered_set<Function*> functions;
  std::unordered_map<uint64_t, MemoryNote> note_by_base;
  std::unique_ptr<FatBinaries> fat_binaries;
  std::unordered_map<hipLibrary_t, std::unique_ptr<Library>> libraries;
  std::unordered_map<hipMemPool_t, std::unique_ptr<MemoryPool>> pools;
  std::unique_ptr<GraphRegistry> graph_registry;
  std::unique_ptr<VirtualMemory> virtual_memory;
  std::unordered_map<const void*, std::unique_ptr<Graph>> graphs;           // the program's own
  std::unordered_map<const void*, std::shared_ptr<GraphExec>> graph_execs;  // shared with a launch
  std::vector<std::shared_ptr<Capture>> captures;                           // the active ones
  uint64_t next_stream_id = 1;
  uint64_t next_capture_id = 1;

  // The handle's object, null for an unknown handle. The null stream and the per-thread stream are the
  // current device's. All need `mutex`.
  Stream* find_stream(hipStream_t handle);
  Event* find_event(hipEvent_t handle);
  Function* find_function(hipFunction_t handle);
  Stream* create_stream(int device, unsigned flags, int priority);
  void destroy_stream(Stream* stream);

  // When work that is enqueued to the stream now begins: after the stream's own work, and after that of the
  // streams which the null stream's rules tie it to.
  Nanoseconds begin_time(const Stream& stream) const;
  // When everything enqueued to the device has finished.
  Nanoseconds idle_time(const DeviceState& device) const;

  bool is_device(int index) const { return index >= 0 && static_cast<size_t>(index) < devices.size(); }
  DeviceState& device(int index) { return *devices[static_cast<size_t>(index)]; }

 private:
  Runtime();
};

// What HIP keeps per thread.
struct ThreadState {
  struct CallConfiguration {
    dim3 grid;
    dim3 block;
    size_t shared_bytes;
    hipStream_t stream;
    std::vector<char> arguments;  // of hipSetupArgument
  };

  int device = 0;
  hipError_t last_error = hipSuccess;   // the last failure
  hipError_t last_answer = hipSuccess;  // of the last call, whatever it was
  int capture_mode = 0;
  std::vector<CallConfiguration> call_configurations;  // of <<<>>>
  std::vector<int> contexts;                           // devices, innermost last
  std::map<int, Stream*> stream_by_device;             // per-thread default streams

  static ThreadState& get();
  ~ThreadState();
};

// One line on standard error, for what an error code cannot say.
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace ktrace::softdev::hip
