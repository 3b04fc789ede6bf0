// Graphs and stream capture, without the calls.
#include "hip/graph.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace ktrace::softdev::hip {

namespace {

GraphNode& add_captured(Stream& stream, NodeType type) {
  GraphNode* node = stream.capture->graph->add(type, stream.capture_dependencies);
  stream.capture_dependencies = {node};
  return *node;
}

bool is_capturing(const Stream& stream) { return stream.capture != nullptr; }

hipError_t check_capture(const Stream& stream) {
  return stream.capture->is_valid ? hipSuccess : hipErrorStreamCaptureInvalidated;
}

}  // namespace

GraphNode* Graph::add(NodeType type, std::vector<GraphNode*> dependencies) {
  nodes.push_back(std::make_unique<GraphNode>());
  nodes.back()->type = type;
  nodes.back()->dependencies = std::move(dependencies);
  return nodes.back().get();
}

bool Graph::has(const GraphNode* node) const {
  return std::any_of(nodes.begin(), nodes.end(), [&](const auto& own) { return own.get() == node; });
}

// Takes the first node whose dependencies have been taken, over and over: quadratic at worst, in the order of
// creation at best, which is what a capture gives.
std::unique_ptr<GraphExec> instantiate(const Graph& graph) {
  auto exec = std::make_unique<GraphExec>();
  std::unordered_set<const GraphNode*> taken;
  bool took_one = true;
  while (taken.size() < graph.nodes.size() && took_one) {
    took_one = false;
    for (const auto& node : graph.nodes) {
      const bool is_ready = std::all_of(node->dependencies.begin(), node->dependencies.end(),
                                        [&](const GraphNode* other) { return taken.count(other) != 0; });
      if (taken.count(node.get()) == 0 && is_ready) {
        // Its own copy: hipGraphKernelNodeSetParams must not reach it any more.
        auto launch = node->launch == nullptr ? nullptr : std::make_shared<PreparedLaunch>(*node->launch);
        exec->steps.push_back({node.get(), node->type, node->run, std::move(launch)});
        taken.insert(node.get());
        took_one = true;
      }
    }
  }
  return taken.size() == graph.nodes.size() ? std::move(exec) : nullptr;
}

hipError_t run_graph(Runtime& runtime, DeviceState& state, Stream& stream, DeviceWork& work,
                     GraphExec& graph) {
  for (GraphExec::Step& step : graph.steps) {
    hipError_t error = hipSuccess;
    // While a kernel runs, another thread may change the step.
    const std::shared_ptr<PreparedLaunch> launch = step.launch;
    if (launch != nullptr) {
      error = run_launch(runtime, state, stream, work, *launch);
    } else if (step.run) {
      error = step.run(runtime, state, stream, work);
    }
    if (error != hipSuccess || state.fault) {
      return error;
    }
  }
  return hipSuccess;
}

hipError_t run_or_capture(Runtime& runtime, DeviceState& state, Stream& stream, DeviceWork& work,
                          NodeType type, Operation operation) {
  if (!is_capturing(stream)) {
    return operation(runtime, state, stream, work);
  }
  const hipError_t error = check_capture(stream);
  if (error == hipSuccess) {
    add_captured(stream, type).run = std::move(operation);
  }
  return error;
}

hipError_t run_or_capture(Runtime& runtime, DeviceState& state, Stream& stream, DeviceWork& work,
                          std::shared_ptr<PreparedLaunch> launch) {
  if (!is_capturing(stream)) {
    return run_launch(runtime, state, stream, work, *launch);
  }
  const hipError_t error = check_capture(stream);
  if (error == hipSuccess) {
    add_captured(stream, NodeType::kernel).launch = std::move(launch);
  }
  return error;
}

Operation host_operation(std::function<void()> function) {
  return [function = std::move(function)](Runtime& runtime, DeviceState&, Stream& stream, DeviceWork& work) {
    stream.ready = runtime.begin_time(stream) + cost::call;
    work.without_locks(function);
    return hipSuccess;
  };
}

void end_capture_of(Runtime& runtime, Stream& stream) {
  const std::shared_ptr<Capture> capture = stream.capture;
  const auto leave = [](Stream& one) {
    one.capture = nullptr;
    one.capture_dependencies.clear();
  };
  leave(stream);
  if (capture->origin != &stream) {
    return;
  }
  capture->is_active = false;
  for (const auto& [handle, other] : runtime.streams) {
    if (other->capture == capture) {
      leave(*other);
    }
  }
  auto& captures = runtime.captures;
  captures.erase(std::remove(captures.begin(), captures.end(), capture), captures.end());
}

hipError_t capture_event(Stream& stream, Event& event) {
  const hipError_t error = check_capture(stream);
  if (error == hipSuccess) {
    event.is_recorded = false;
    event.capture = stream.capture;
    event.capture_nodes = stream.capture_dependencies;
  }
  return error;
}

hipError_t join_capture(Stream& stream, const Event& event) {
  const bool is_captured = event.capture != nullptr && event.capture->is_active;
  if (!is_captured) {
    stream.capture->is_valid = false;
    return hipErrorStreamCaptureIsolation;  // outside work cannot become part of a capture
  }
  if (is_capturing(stream) && stream.capture != event.capture) {
    stream.capture->is_valid = false;
    event.capture->is_valid = false;
    return hipErrorStreamCaptureMerge;
  }
  stream.capture = event.capture;
  auto& dependencies = stream.capture_dependencies;
  for (GraphNode* node : event.capture_nodes) {
    if (std::find(dependencies.begin(), dependencies.end(), node) == dependencies.end()) {
      dependencies.push_back(node);
    }
  }
  return check_capture(stream);
}

hipError_t refuse_while_capturing(const Stream& stream) {
  if (!is_capturing(stream)) {
    return hipSuccess;
  }
  stream.capture->is_valid = false;
  return hipErrorStreamCaptureUnsupported;
}

// The thread's own mode decides how much of other threads' captures it minds.
hipError_t refuse_during_any_capture(const Runtime& runtime) {
  const auto own_mode = static_cast<CaptureMode>(ThreadState::get().capture_mode);
  hipError_t error = hipSuccess;
  for (const auto& capture : runtime.captures) {
    const bool is_own = capture->thread == std::this_thread::get_id();
    const bool minds_others = own_mode == CaptureMode::global && capture->mode == CaptureMode::global;
    const bool minds_own =
        own_mode != CaptureMode::relaxed && is_own && capture->mode != CaptureMode::relaxed;
    if (minds_others || minds_own) {
      capture->is_valid = false;
      error = hipErrorStreamCaptureUnsupported;
    }
  }
  return error;
}

hipError_t refuse_implicit_capture(const Runtime& runtime, const Stream& stream) {
  if (!stream.is_legacy) {
    return hipSuccess;
  }
  hipError_t error = hipSuccess;
  for (const auto& capture : runtime.captures) {
    const Stream& origin = *capture->origin;
    if (origin.device == stream.device && (origin.flags & hipStreamNonBlocking) == 0) {
      capture->is_valid = false;
      error = hipErrorStreamCaptureImplicit;
    }
  }
  return error;
}

}  // namespace ktrace::softdev::hip
