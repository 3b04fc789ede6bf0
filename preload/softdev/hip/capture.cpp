// The calls that begin, end and ask about stream capture.
#include "hip/capture.hpp"

#include <algorithm>
#include <unordered_set>

#include "hip/call.hpp"

namespace ktrace::softdev::hip {

namespace {

hipError_t check_begin(const Stream* stream, int mode) {
  if (mode < 0 || mode > 2 || stream == nullptr) {
    return hipErrorInvalidValue;
  }
  if (stream->is_legacy) {
    return hipErrorStreamCaptureUnsupported;
  }
  return stream->capture != nullptr ? hipErrorIllegalState : hipSuccess;
}

// `take_graph` may replace the new graph and what its first nodes depend on.
template <class TakeGraph>
hipError_t begin_capture(hipStream_t handle, int mode, TakeGraph&& take_graph) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    Stream* stream = runtime.find_stream(handle);
    auto capture = std::make_shared<Capture>();
    capture->graph = std::make_unique<Graph>(runtime.graph_registry.get());
    hipError_t error = check_begin(stream, mode);
    if (error == hipSuccess) {
      error = take_graph(runtime, *capture, *stream);
    }
    if (error != hipSuccess) {
      return error;
    }
    capture->origin = stream;
    capture->mode = static_cast<CaptureMode>(mode);
    capture->thread = std::this_thread::get_id();
    capture->id = runtime.next_capture_id++;
    runtime.captures.push_back(capture);
    stream->capture = std::move(capture);
    return hipSuccess;
  });
}

hipError_t with_new_graph(Runtime&, Capture&, Stream&) { return hipSuccess; }

void add_ancestors(const std::vector<GraphNode*>& nodes, std::unordered_set<const GraphNode*>& found) {
  std::vector<const GraphNode*> open(nodes.begin(), nodes.end());
  while (!open.empty()) {
    const GraphNode* node = open.back();
    open.pop_back();
    if (found.insert(node).second) {
      open.insert(open.end(), node->dependencies.begin(), node->dependencies.end());
    }
  }
}

// Whether everything that other streams captured leads back to the stream that
// began it.
bool is_joined(const Runtime& runtime, const Stream& origin) {
  std::unordered_set<const GraphNode*> reached;
  add_ancestors(origin.capture_dependencies, reached);
  return std::all_of(runtime.streams.begin(), runtime.streams.end(), [&](const auto& entry) {
    const Stream& other = *entry.second;
    return other.capture != origin.capture ||
           std::all_of(other.capture_dependencies.begin(), other.capture_dependencies.end(),
                       [&](const GraphNode* node) { return reached.count(node) != 0; });
  });
}

hipError_t check_end(const Runtime& runtime, const Stream& stream) {
  const Capture& capture = *stream.capture;
  if (capture.origin != &stream) {
    return hipErrorStreamCaptureUnmatched;
  }
  if (capture.mode != CaptureMode::relaxed && capture.thread != std::this_thread::get_id()) {
    return hipErrorStreamCaptureWrongThread;
  }
  if (!capture.is_valid) {
    return hipErrorStreamCaptureInvalidated;
  }
  return is_joined(runtime, stream) ? hipSuccess : hipErrorStreamCaptureUnjoined;
}

hipError_t end_capture(hipStream_t handle, void** graph) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    Stream* stream = runtime.find_stream(handle);
    if (graph == nullptr || stream == nullptr) {
      return hipErrorInvalidValue;
    }
    *graph = nullptr;
    if (stream->capture == nullptr) {
      return hipErrorIllegalState;
    }
    const hipError_t error = check_end(runtime, *stream);
    if (error == hipErrorStreamCaptureUnmatched || error == hipErrorStreamCaptureWrongThread) {
      return error;  // the capture goes on
    }
    const std::shared_ptr<Capture> capture = stream->capture;
    end_capture_of(runtime, *stream);
    if (error == hipSuccess) {
      *graph = capture->graph.get();
      runtime.graphs.emplace(*graph, std::move(capture->graph));
    }
    return error;
  });
}

struct CaptureInfo {
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  unsigned long long id = 0;
  void* graph = nullptr;
  const GraphNode* const* dependencies = nullptr;
  size_t dependency_count = 0;
};

// The null stream cannot tell while a stream that it is tied to captures.
hipError_t read_info(hipStream_t handle, CaptureInfo& info) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    const Stream* stream = runtime.find_stream(handle);
    if (stream == nullptr) {
      return hipErrorContextIsDestroyed;
    }
    const bool is_implicit =
        stream->is_legacy &&
        std::any_of(runtime.captures.begin(), runtime.captures.end(), [&](const auto& capture) {
          return capture->origin->device == stream->device &&
                 (capture->origin->flags & hipStreamNonBlocking) == 0;
        });
    if (is_implicit) {
      return hipErrorStreamCaptureImplicit;
    }
    if (stream->capture != nullptr) {
      info.status =
          stream->capture->is_valid ? hipStreamCaptureStatusActive : hipStreamCaptureStatusInvalidated;
      info.id = stream->capture->id;
      info.graph = stream->capture->graph.get();
      info.dependencies = stream->capture_dependencies.data();
      info.dependency_count = stream->capture_dependencies.size();
    }
    return hipSuccess;
  });
}

hipError_t get_status(hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id) {
  if (status == nullptr) {
    return finish_call(hipErrorInvalidValue);
  }
  CaptureInfo info;
  const hipError_t error = read_info(stream, info);
  if (error == hipSuccess) {
    *status = info.status;
    if (id != nullptr) {
      *id = info.id;
    }
  }
  return error;
}

hipError_t get_info(hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id, void** graph,
                    const GraphNode* const** dependencies, size_t* count) {
  if (status == nullptr) {
    return finish_call(hipErrorInvalidValue);
  }
  CaptureInfo info;
  const hipError_t error = read_info(stream, info);
  if (error != hipSuccess) {
    return error;
  }
  *status = info.status;
  const auto store = [](auto* out, auto value) {
    if (out != nullptr) {
      *out = value;
    }
  };
  store(id, info.id);
  store(graph, info.graph);
  store(dependencies, info.dependencies);
  store(count, info.dependency_count);
  return hipSuccess;
}

}  // namespace

}  // namespace ktrace::softdev::hip

using namespace ktrace::softdev::hip;

KTRACE_HIP_EXPORT hipError_t hipStreamBeginCapture(hipStream_t stream, int mode) {
  return begin_capture(stream, mode, with_new_graph);
}
KTRACE_HIP_EXPORT hipError_t hipStreamBeginCapture_spt(hipStream_t stream, int mode) {
  return begin_capture(per_thread(stream), mode, with_new_graph);
}

// The graph is the capture's until it ends; hipStreamEndCapture gives the same
// handle back.
KTRACE_HIP_EXPORT hipError_t hipStreamBeginCaptureToGraph(hipStream_t stream, void* graph,
                                                          GraphNode* const* dependencies, const void*,
                                                          size_t count, int mode) {
  return begin_capture(stream, mode, [&](Runtime& runtime, Capture& capture, Stream& target) -> hipError_t {
    const auto found = runtime.graphs.find(graph);
    if (found == runtime.graphs.end() || !found->second->has_all(dependencies, count)) {
      return hipErrorInvalidValue;
    }
    capture.graph = std::move(found->second);
    runtime.graphs.erase(found);
    target.capture_dependencies.assign(dependencies, dependencies + count);
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipStreamEndCapture(hipStream_t stream, void** graph) {
  return end_capture(stream, graph);
}
KTRACE_HIP_EXPORT hipError_t hipStreamEndCapture_spt(hipStream_t stream, void** graph) {
  return end_capture(per_thread(stream), graph);
}

KTRACE_HIP_EXPORT hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status) {
  return get_status(stream, status, nullptr);
}
KTRACE_HIP_EXPORT hipError_t hipStreamIsCapturing_spt(hipStream_t stream, hipStreamCaptureStatus* status) {
  return get_status(per_thread(stream), status, nullptr);
}

KTRACE_HIP_EXPORT hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus* status,
                                                     unsigned long long* id) {
  return get_status(stream, status, id);
}
KTRACE_HIP_EXPORT hipError_t hipStreamGetCaptureInfo_spt(hipStream_t stream, hipStreamCaptureStatus* status,
                                                         unsigned long long* id) {
  return get_status(per_thread(stream), status, id);
}

KTRACE_HIP_EXPORT hipError_t hipStreamGetCaptureInfo_v2(hipStream_t stream, hipStreamCaptureStatus* status,
                                                        unsigned long long* id, void** graph,
                                                        const GraphNode* const** dependencies,
                                                        size_t* count) {
  return get_info(stream, status, id, graph, dependencies, count);
}
KTRACE_HIP_EXPORT hipError_t hipStreamGetCaptureInfo_v2_spt(hipStream_t stream,
                                                            hipStreamCaptureStatus* status,
                                                            unsigned long long* id, void** graph,
                                                            const GraphNode* const** dependencies,
                                                            size_t* count) {
  return get_info(per_thread(stream), status, id, graph, dependencies, count);
}

// What the stream's next node depends on: the nodes besides what it was, or
// instead of it.
KTRACE_HIP_EXPORT hipError_t hipStreamUpdateCaptureDependencies(hipStream_t stream, GraphNode** nodes,
                                                                size_t count, unsigned flags) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    constexpr unsigned set_dependencies = 1;
    Stream* found = runtime.find_stream(stream);
    if (found == nullptr) {
      return hipErrorContextIsDestroyed;
    }
    if (found->capture == nullptr || !found->capture->is_valid) {
      return hipErrorIllegalState;
    }
    if (flags > set_dependencies || !found->capture->graph->has_all(nodes, count)) {
      return hipErrorInvalidValue;
    }
    if (flags == set_dependencies) {
      found->capture_dependencies.clear();
    }
    add_dependencies(*found, {nodes, nodes + count});
    return hipSuccess;
  });
}

// Swaps the calling thread's mode.
KTRACE_HIP_EXPORT hipError_t hipThreadExchangeStreamCaptureMode(int* mode) {
  return call(cost::query, [&](Runtime&) -> hipError_t {
    if (mode == nullptr || *mode < 0 || *mode > 2) {
      return hipErrorInvalidValue;
    }
    std::swap(*mode, ThreadState::get().capture_mode);
    return hipSuccess;
  });
}
