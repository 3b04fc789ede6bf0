// Stream capture: streams that keep their work as the nodes of a graph instead
// of doing it.
#pragma once

#include <cstdint>
#include <memory>
#include <thread>

#include "hip/graph.hpp"

namespace ktrace::softdev::hip {

enum class CaptureMode : int { global = 0, thread_local_only = 1, relaxed = 2 };

// One capture, shared by the streams that take part in it and the events that
// were recorded in it.
struct Capture {
  std::unique_ptr<Graph> graph;
  Stream* origin = nullptr;
  CaptureMode mode = CaptureMode::global;
  std::thread::id thread;
  uint64_t id = 0;
  bool is_active = true;  // until hipStreamEndCapture
  bool is_valid = true;   // no call has spoilt it
};

// Keeps the work as a node of the stream's capture.
hipError_t capture_work(Stream& stream, NodeType type, NodeWork work);

// Runs the work now or, on a capturing stream, keeps it as a node.
hipError_t run_or_capture(Runtime& runtime, DeviceState& state, Stream& stream, DeviceWork& locks,
                          NodeType type, NodeWork work);

// Takes a node that is about to go out of what streams and events build upon.
void forget_captured(Runtime& runtime, GraphNode* node);

// The capture is over for all of its streams, if `stream` is the one that began
// it, and for `stream` otherwise.
void end_capture_of(Runtime& runtime, Stream& stream);

// Builds the stream's next node upon these, too.
void add_dependencies(Stream& stream, const std::vector<GraphNode*>& nodes);

// The two ways in which events carry a capture from stream to stream.
hipError_t capture_event(Stream& stream, Event& event);
hipError_t join_capture(Stream& stream, const Event& event);

// What a call does that must not happen while its own stream captures;
// hipSuccess if it does not. Spoils the capture otherwise.
hipError_t refuse_while_capturing(const Stream& stream);
// The same for calls that a capture stands only in a mode that allows them (hipMalloc, hipFree ...).
hipError_t refuse_during_any_capture(const Runtime& runtime);
// The same for calls that wait, which no capture stands in any mode: hipDeviceSynchronize, hipMemcpy ...
hipError_t refuse_all_captures(const Runtime& runtime, hipError_t error);

}  // namespace ktrace::softdev::hip
