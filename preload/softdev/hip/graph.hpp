// Graphs: work that is kept and replayed, and streams that capture it.
//
// A graph's nodes run one after the other on the stream of the launch, in an order that respects their
// dependencies. Replays see the memory as it is then; kernel arguments are the ones of the capture.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "hip/call.hpp"
#include "hip/launch.hpp"
#include "hip/runtime.hpp"

namespace ktrace::softdev::hip {

// HIP's numbers.
enum class NodeType : int { kernel = 0, copy = 1, fill = 2, host = 3, empty = 5, wait = 6, record = 7 };

using Operation = std::function<hipError_t(Runtime&, DeviceState&, Stream&, DeviceWork&)>;

struct GraphNode {
  NodeType type = NodeType::empty;
  Operation run;                           // of every type but kernel and empty
  std::shared_ptr<PreparedLaunch> launch;  // of a kernel
  std::vector<GraphNode*> dependencies;
};

struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;  // in order of creation

  GraphNode* add(NodeType type, std::vector<GraphNode*> dependencies);
  bool has(const GraphNode* node) const;
};

// An instantiated graph: a copy, in the order in which it runs.
struct GraphExec {
  struct Step {
    const GraphNode* original;
    NodeType type;
    Operation run;
    std::shared_ptr<PreparedLaunch> launch;
  };
  std::vector<Step> steps;
};

// Nothing if the dependencies have a cycle.
std::unique_ptr<GraphExec> instantiate(const Graph& graph);
hipError_t run_graph(Runtime& runtime, DeviceState& state, Stream& stream, DeviceWork& work,
                     GraphExec& graph);

enum class CaptureMode : int { global = 0, thread_local_only = 1, relaxed = 2 };

// One capture, shared by the streams that take part in it and the events that were recorded in it.
struct Capture {
  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  Stream* origin = nullptr;
  CaptureMode mode = CaptureMode::global;
  std::thread::id thread;
  uint64_t id = 0;
  bool is_active = true;  // until hipStreamEndCapture
  bool is_valid = true;   // no call has spoilt it
};

// Runs the work now or, on a capturing stream, keeps it as a node.
hipError_t run_or_capture(Runtime& runtime, DeviceState& state, Stream& stream, DeviceWork& work,
                          NodeType type, Operation operation);
hipError_t run_or_capture(Runtime& runtime, DeviceState& state, Stream& stream, DeviceWork& work,
                          std::shared_ptr<PreparedLaunch> launch);

// Runs the function on the calling thread: all the stream's earlier work has been done, only its time has not
// come. HIP runs it on a thread of its own, so a program that holds a lock here which the function takes
// would block.
Operation host_operation(std::function<void()> function);
Operation copy_operation(void* destination, const void* source, size_t size, hipMemcpyKind kind);
Operation fill_operation(void* destination, size_t pitch, uint32_t value, size_t element, size_t count,
                         size_t rows);

// The capture is over for all of its streams, if `stream` is the one that began it, and for `stream`
// otherwise.
void end_capture_of(Runtime& runtime, Stream& stream);

// The two ways in which events carry a capture from stream to stream.
hipError_t capture_event(Stream& stream, Event& event);
hipError_t join_capture(Stream& stream, const Event& event);

// What a call does that must not happen while its own stream captures; hipSuccess if it does not. Spoils the
// capture otherwise.
hipError_t refuse_while_capturing(const Stream& stream);
// The same for calls that need the whole device or process (hipMalloc, hipDeviceSynchronize ...).
hipError_t refuse_during_any_capture(const Runtime& runtime);

}  // namespace ktrace::softdev::hip
