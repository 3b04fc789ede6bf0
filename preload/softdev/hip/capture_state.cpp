// Stream capture, without the calls.
#include <algorithm>

#include "hip/capture.hpp"

namespace ktrace::softdev::hip {

namespace {

bool is_capturing(const Stream& stream) { return stream.capture != nullptr; }

hipError_t check_capture(const Stream& stream) {
  return stream.capture->is_valid ? hipSuccess : hipErrorStreamCaptureInvalidated;
}

}  // namespace

hipError_t capture_work(Stream& stream, NodeType type, NodeWork work) {
  const hipError_t error = check_capture(stream);
  if (error == hipSuccess) {
    GraphNode* node =
        stream.capture->graph->add(type, std::move(work), std::move(stream.capture_dependencies));
    stream.capture_dependencies = {node};
  }
  return error;
}

hipError_t run_or_capture(Runtime& runtime, DeviceState& state, Stream& stream, DeviceWork& locks,
                          NodeType type, NodeWork work) {
  return is_capturing(stream) ? capture_work(stream, type, std::move(work))
                              : run_work(runtime, state, stream, locks, type, work);
}

void forget_captured(Runtime& runtime, GraphNode* node) {
  const auto forget = [&](std::vector<GraphNode*>& nodes) {
    nodes.erase(std::remove(nodes.begin(), nodes.end(), node), nodes.end());
  };
  for (const auto& [handle, stream] : runtime.streams) {
    forget(stream->capture_dependencies);
  }
  for (const auto& [handle, event] : runtime.events) {
    forget(event->capture_nodes);
  }
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

void add_dependencies(Stream& stream, const std::vector<GraphNode*>& nodes) {
  auto& dependencies = stream.capture_dependencies;
  for (GraphNode* node : nodes) {
    if (std::find(dependencies.begin(), dependencies.end(), node) == dependencies.end()) {
      dependencies.push_back(node);
    }
  }
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
  if (!is_captured && !is_capturing(stream)) {
    return hipSuccess;  // the event's capture is over: it never happened on a
                        // device
  }
  if (!is_captured) {
    stream.capture->is_valid = false;
    return hipErrorStreamCaptureIsolation;  // outside work cannot become part of
                                            // a capture
  }
  if (is_capturing(stream) && stream.capture != event.capture) {
    stream.capture->is_valid = false;
    event.capture->is_valid = false;
    return hipErrorStreamCaptureMerge;
  }
  stream.capture = event.capture;
  add_dependencies(stream, event.capture_nodes);
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

hipError_t refuse_all_captures(const Runtime& runtime, hipError_t error) {
  for (const auto& capture : runtime.captures) {
    capture->is_valid = false;
  }
  return runtime.captures.empty() ? hipSuccess : error;
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
