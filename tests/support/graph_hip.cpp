// A stand-in for HIP on hardware in which work waits until somebody asks for it, and graphs are whole.
//
// Nothing runs when it is launched. Each hipEventQuery lets one operation of one stream run, of the stream
// that was created first if it can: whoever relies on an order without asking for it is found out. Memory is
// the host's. Every kernel is saxpy, and leaves one finished wave with a MARK whose clock is the number of
// workgroups in slot 0 of its trace buffer. Synchronous calls during a capture invalidate it.
// FAKE_FAILING: a function that fails from its FAKE_FAILING_FROM-th call on.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "graph_hip_nodes.hpp"

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int invalid_value = 1, not_ready = 600, unknown = 999;
constexpr int capture_unsupported = 900, capture_invalidated = 901;

using Operation = std::function<bool()>;  // false: it has to wait
struct Stream {
  std::deque<Operation> waiting;
  std::shared_ptr<Graph> captured;  // null: it does not capture
  bool is_valid = true;
};
struct Event {
  std::uint64_t recorded = 0, done = 0;
};

std::recursive_mutex mutex;
std::vector<std::unique_ptr<Stream>> streams;  // the null stream first
std::map<const void*, std::shared_ptr<Graph>> graphs;
std::map<std::string, long> calls;
int disturbances = 0;  // calls that became part of a capture and are neither launches nor asked for
bool is_held = false;  // by the program: nothing runs
thread_local int last_error = 0, capture_mode = 0;
thread_local std::uint64_t calls_of_thread = 0;

using Lock = std::lock_guard<std::recursive_mutex>;

long number_of(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtol(text, nullptr, 0) : otherwise;
}

// As HIP up to 6.3: every call sets the last error, a success too.
int answer(int error = 0) { return last_error = error; }

bool fails(const char* function) {
  const char* failing = std::getenv("FAKE_FAILING");
  if (!failing || std::strcmp(failing, function) != 0) return false;
  const Lock lock(mutex);
  return ++calls[function] >= number_of("FAKE_FAILING_FROM", 1);
}
#define FAIL_IF_ASKED \
  ++calls_of_thread;  \
  if (fails(__func__)) return answer(unknown)

Stream& stream_of(void* handle) {
  if (streams.empty()) streams.push_back(std::make_unique<Stream>());
  return reinterpret_cast<std::uintptr_t>(handle) <= 2 ? *streams.front() : *static_cast<Stream*>(handle);
}

int enqueue(void* handle, Operation operation) {
  const Lock lock(mutex);
  Stream& stream = stream_of(handle);
  if (stream.captured) ++disturbances;
  stream.waiting.push_back(std::move(operation));
  return answer();
}

bool run_one() {
  if (is_held) return false;
  for (const auto& stream : streams) {
    if (stream->waiting.empty() || !stream->waiting.front()()) continue;
    stream->waiting.pop_front();
    return true;
  }
  return false;
}

void run_all() {
  const Lock lock(mutex);
  while (run_one()) {
  }
}

// Of calls that must not happen while something is captured, from threads that did not ask to be let off.
int refuse_in_capture() {
  const Lock lock(mutex);
  bool is_refused = false;
  for (const auto& stream : streams) {
    if (!stream->captured || capture_mode == 2) continue;
    stream->is_valid = false;
    is_refused = true;
  }
  return is_refused ? capture_unsupported : 0;
}

Graph* graph_of(void* handle) {
  const auto found = graphs.find(handle);
  return found == graphs.end() ? nullptr : found->second.get();
}

int keep(void** handle, std::shared_ptr<Graph> graph) {
  const Lock lock(mutex);
  *handle = graph.get();
  graphs[graph.get()] = std::move(graph);
  return answer();
}

int forget(void* handle) {
  const Lock lock(mutex);
  return graphs.erase(handle), answer();
}

int clone(void** handle, void* original) {
  const Lock lock(mutex);
  return keep(handle, graph_of(original)->clone());
}

void run_graph(const Graph& graph, void* stream) {
  for (const auto& node : graph.nodes) {
    if (!node->is_enabled) continue;
    if (node->child) run_graph(*node->child, stream);
    if (node->type != kernel_node) continue;
    auto kernel = std::make_shared<Kernel>();
    kernel->set(Graph::params_of(*node));
    enqueue(stream, [kernel] { return kernel->run(), true; });
  }
}

int launch(void* handle, const KernelParams& params) {
  const Lock lock(mutex);
  if (!params.params && !params.extra) return answer(invalid_value);
  Stream& stream = stream_of(handle);
  if (stream.captured) return stream.captured->add(kernel_node)->kernel.set(params), answer();
  auto kernel = std::make_shared<Kernel>();
  kernel->set(params);
  return enqueue(handle, [kernel] { return kernel->run(), true; });
}

int copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
              std::size_t height, void* stream) {
  return enqueue(stream, [=] {
    for (std::size_t row = 0; row < height; ++row)
      std::memcpy(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch,
                  width);
    return true;
  });
}

int fill_rows(void* memory, std::size_t pitch, int value, std::size_t width, std::size_t height,
              void* stream) {
  return enqueue(stream, [=] {
    for (std::size_t row = 0; row < height; ++row)
      std::memset(static_cast<char*>(memory) + row * pitch, value, width);
    return true;
  });
}

}  // namespace

FAKE_EXPORT int fake_disturbances() { return disturbances; }
// What the calling thread called since it asked last, of what a replay consists of: work for a stream, and
// questions about a stream's capture and the last error.
FAKE_EXPORT std::uint64_t fake_calls() { return std::exchange(calls_of_thread, 0); }
FAKE_EXPORT void fake_hold(int hold) {
  const Lock lock(mutex);
  is_held = hold != 0;
}
FAKE_EXPORT int hipInit(unsigned) { return answer(); }
FAKE_EXPORT int hipGetDevice(int* device) { return ++calls_of_thread, *device = 0, answer(); }
FAKE_EXPORT int hipSetDevice(int) { return ++calls_of_thread, answer(); }
FAKE_EXPORT int hipGetStreamDeviceId(void*) { return 0; }
FAKE_EXPORT int hipGetLastError() { return ++calls_of_thread, std::exchange(last_error, 0); }
FAKE_EXPORT int hipPeekAtLastError() { return ++calls_of_thread, last_error; }
FAKE_EXPORT const char* hipGetErrorName(int error) {
  return error == unknown ? "hipErrorUnknown" : "hipErrorOther";
}
FAKE_EXPORT int hipThreadExchangeStreamCaptureMode(int* mode) {
  return std::swap(*mode, capture_mode), answer();
}

FAKE_EXPORT int hipMalloc(void** memory, std::size_t size) {
  if (const int error = refuse_in_capture()) return answer(error);
  FAIL_IF_ASKED;
  *memory = std::malloc(size);
  return std::memset(*memory, 0xcd, size), answer();
}
FAKE_EXPORT int hipHostMalloc(void** memory, std::size_t size, unsigned) { return hipMalloc(memory, size); }
FAKE_EXPORT int hipFree(void* memory) {
  if (const int error = refuse_in_capture()) return answer(error);
  return run_all(), std::free(memory), answer();
}
FAKE_EXPORT int hipHostFree(void* memory) { return hipFree(memory); }
FAKE_EXPORT int hipMemcpy(void* to, const void* from, std::size_t size, int) {
  if (const int error = refuse_in_capture()) return answer(error);
  return run_all(), std::memcpy(to, from, size), answer();
}
FAKE_EXPORT int hipDeviceSynchronize() {
  if (const int error = refuse_in_capture()) return answer(error);
  return run_all(), answer();
}
FAKE_EXPORT int hipMemcpyAsync(void* to, const void* from, std::size_t size, int, void* stream) {
  FAIL_IF_ASKED;
  return copy_rows(to, size, from, size, size, 1, stream);
}
FAKE_EXPORT int hipMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                 std::size_t width, std::size_t height, int, void* stream) {
  return copy_rows(to, to_pitch, from, from_pitch, width, height, stream);
}
FAKE_EXPORT int hipMemsetAsync(void* memory, int value, std::size_t size, void* stream) {
  FAIL_IF_ASKED;
  return fill_rows(memory, size, value, size, 1, stream);
}
FAKE_EXPORT int hipMemset2DAsync(void* memory, std::size_t pitch, int value, std::size_t width,
                                 std::size_t height, void* stream) {
  return fill_rows(memory, pitch, value, width, height, stream);
}

FAKE_EXPORT int hipStreamCreateWithFlags(void** stream, unsigned) {
  const Lock lock(mutex);
  stream_of(nullptr);
  streams.push_back(std::make_unique<Stream>());
  return *stream = streams.back().get(), answer();
}
FAKE_EXPORT int hipStreamSynchronize(void* handle) {
  const Lock lock(mutex);
  if (stream_of(handle).captured) return refuse_in_capture(), answer(capture_unsupported);
  return run_all(), answer();
}
FAKE_EXPORT int hipStreamWaitEvent(void* stream, void* handle, unsigned) {
  FAIL_IF_ASKED;
  const Lock lock(mutex);
  auto* event = static_cast<Event*>(handle);
  return enqueue(stream, [event, number = event->recorded] { return event->done >= number; });
}
FAKE_EXPORT int hipEventCreateWithFlags(void** event, unsigned) { return *event = new Event, answer(); }
FAKE_EXPORT int hipEventDestroy(void*) { return answer(); }  // its last operations may still wait
FAKE_EXPORT int hipEventRecord(void* handle, void* stream) {
  FAIL_IF_ASKED;
  const Lock lock(mutex);
  auto* event = static_cast<Event*>(handle);
  const std::uint64_t number = ++event->recorded;
  return enqueue(stream, [event, number] { return event->done = number, true; });
}
FAKE_EXPORT int hipEventQuery(void* handle) {
  const Lock lock(mutex);
  run_one();
  const auto* event = static_cast<Event*>(handle);
  return event->done >= event->recorded ? answer() : last_error = not_ready;
}
FAKE_EXPORT int hipEventSynchronize(void*) { return run_all(), answer(); }

FAKE_EXPORT int hipModuleLoadData(void** module, const void*) { return *module = std::malloc(1), answer(); }
FAKE_EXPORT int hipModuleUnload(void* module) { return std::free(module), answer(); }
FAKE_EXPORT int hipModuleGetFunction(void** function, void*, const char*) {
  return *function = std::malloc(1), answer();
}
FAKE_EXPORT int hipModuleLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                      unsigned by, unsigned bz, unsigned shared, void* stream, void** params,
                                      void** extra) {
  return launch(stream, {{bx, by, bz}, extra, function, {gx, gy, gz}, params, shared});
}

FAKE_EXPORT int hipStreamBeginCaptureToGraph(void* stream, void* graph, const void*, const void*, std::size_t,
                                             int) {
  const Lock lock(mutex);
  return stream_of(stream).captured = graphs[graph], stream_of(stream).is_valid = true, answer();
}
FAKE_EXPORT int hipStreamBeginCapture(void* stream, int) {
  const Lock lock(mutex);
  void* graph = nullptr;
  keep(&graph, std::make_shared<Graph>());
  return hipStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0, 0);
}
FAKE_EXPORT int hipStreamEndCapture(void* stream, void** graph) {
  const Lock lock(mutex);
  const std::shared_ptr<Graph> captured = std::exchange(stream_of(stream).captured, nullptr);
  *graph = stream_of(stream).is_valid ? captured.get() : nullptr;
  return answer(*graph ? 0 : capture_invalidated);
}
FAKE_EXPORT int hipStreamIsCapturing(void* stream, int* status) {
  const Lock lock(mutex);
  ++calls_of_thread;
  return *status = stream_of(stream).captured ? 1 : 0, answer();
}
FAKE_EXPORT int hipStreamGetCaptureInfo_v2(void* stream, int* status, unsigned long long* id, void** graph,
                                           const void***, std::size_t*) {
  const Lock lock(mutex);
  *id = 1;
  *graph = stream_of(stream).captured.get();
  return hipStreamIsCapturing(stream, status);
}

FAKE_EXPORT int hipGraphCreate(void** graph, unsigned) { return keep(graph, std::make_shared<Graph>()); }
FAKE_EXPORT int hipGraphClone(void** graph, void* original) { return clone(graph, original); }
FAKE_EXPORT int hipGraphDestroy(void* graph) { return forget(graph); }
FAKE_EXPORT int hipGraphAddKernelNode(void** node, void* graph, const void*, std::size_t,
                                      const KernelParams* params) {
  const Lock lock(mutex);
  Node* added = graph_of(graph)->add(kernel_node);
  return *node = added, answer(added->kernel.set(*params) ? 0 : invalid_value);
}
FAKE_EXPORT int hipGraphAddNode(void** node, void* graph, const void* dependencies, std::size_t count,
                                AnyParams* params) {
  return hipGraphAddKernelNode(node, graph, dependencies, count, &params->kernel);
}
FAKE_EXPORT int hipGraphAddChildGraphNode(void** node, void* graph, const void*, std::size_t, void* child) {
  const Lock lock(mutex);
  Node* added = graph_of(graph)->add(child_node);
  added->child = graph_of(child)->clone();
  graphs[added->child.get()] = added->child;
  return *node = added, answer();
}
FAKE_EXPORT int hipGraphChildGraphNodeGetGraph(void* node, void** graph) {
  const Lock lock(mutex);
  const std::shared_ptr<Graph>& child = static_cast<Node*>(node)->child;
  graphs[child.get()] = child;
  return *graph = child.get(), answer();
}
FAKE_EXPORT int hipGraphGetNodes(void* graph, void** nodes, std::size_t* count) {
  const Lock lock(mutex);
  FAIL_IF_ASKED;
  const auto& own = graph_of(graph)->nodes;
  for (std::size_t i = 0; nodes && i < own.size(); ++i) nodes[i] = own[i].get();
  return *count = own.size(), answer();
}
FAKE_EXPORT int hipGraphNodeGetType(void* node, int* type) {
  return *type = static_cast<Node*>(node)->type, answer();
}
FAKE_EXPORT int hipGraphKernelNodeGetParams(void* node, KernelParams* params) {
  return static_cast<Node*>(node)->kernel.get(params), answer();
}
FAKE_EXPORT int hipGraphKernelNodeSetParams(void* node, const KernelParams* params) {
  FAIL_IF_ASKED;
  return answer(static_cast<Node*>(node)->kernel.set(*params) ? 0 : invalid_value);
}
FAKE_EXPORT int hipGraphNodeSetParams(void* node, AnyParams* params) {
  return hipGraphKernelNodeSetParams(node, &params->kernel);
}

FAKE_EXPORT int hipGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long) {
  FAIL_IF_ASKED;
  return clone(exec, graph);
}
FAKE_EXPORT int hipGraphInstantiate(void** exec, void* graph, void**, char*, std::size_t) {
  return clone(exec, graph);
}
FAKE_EXPORT int hipGraphInstantiateWithParams(void** exec, void* graph, void*) { return clone(exec, graph); }
FAKE_EXPORT int hipGraphExecKernelNodeSetParams(void* exec, void* node, const KernelParams* params) {
  const Lock lock(mutex);
  Node* own = graph_of(exec)->find_copy(static_cast<Node*>(node));
  return answer(own && own->kernel.set(*params) ? 0 : invalid_value);
}
FAKE_EXPORT int hipGraphExecNodeSetParams(void* exec, void* node, AnyParams* params) {
  return hipGraphExecKernelNodeSetParams(exec, node, &params->kernel);
}
FAKE_EXPORT int hipGraphExecChildGraphNodeSetParams(void* exec, void* node, void* graph) {
  const Lock lock(mutex);
  Node* own = graph_of(exec)->find_copy(static_cast<Node*>(node));
  if (!own || !own->child->has_shape_of(*graph_of(graph))) return answer(invalid_value);
  return own->child->take_params(*graph_of(graph)), answer();
}
FAKE_EXPORT int hipGraphExecUpdate(void* exec, void* graph, void**, int* outcome) {
  const Lock lock(mutex);
  if (!graph_of(exec)->has_shape_of(*graph_of(graph))) return *outcome = 1, answer(910);
  return graph_of(exec)->take_params(*graph_of(graph)), *outcome = 0, answer();
}
FAKE_EXPORT int hipGraphNodeSetEnabled(void* exec, void* node, unsigned is_enabled) {
  const Lock lock(mutex);
  return graph_of(exec)->find_copy(static_cast<Node*>(node))->is_enabled = is_enabled != 0, answer();
}
FAKE_EXPORT int hipGraphLaunch(void* exec, void* stream) {
  FAIL_IF_ASKED;
  const Lock lock(mutex);
  if (!graph_of(exec)) return answer(invalid_value);
  return run_graph(*graph_of(exec), stream), answer();
}
FAKE_EXPORT int hipGraphLaunch_spt(void* exec, void* stream) { return hipGraphLaunch(exec, stream); }
FAKE_EXPORT int hipGraphExecDestroy(void* exec) { return forget(exec); }
FAKE_EXPORT int hipRuntimeGetVersion(int* version) { return *version = 70200000, answer(); }
