#include "graph_replay.hpp"

#include <algorithm>

#include "clocks.hpp"
#include "launch.hpp"

namespace ktrace {

GraphReplay::GraphReplay(Session& session, const HipLibrary& hip, hipGraphExec_t exec,
                         hipStream_t stream) noexcept
    : m_session(session), m_hip(hip), m_stream(stream) {
  m_session.guarded([&] { begin(exec); });
}

// On a capturing stream it becomes a part of another graph, and no launch yet.
void GraphReplay::begin(hipGraphExec_t exec) {
  const bool may_ask = !m_session.is_left_by_parent(m_hip);
  if (may_ask && capture_of_stream(m_session, m_hip, m_stream) != Capture::none) return;
  Graphs::Entry graph = m_session.graphs().find(m_hip, exec);
  m_is_unknown = graph == nullptr;
  if (!graph) return;
  m_graph = std::move(graph);
  m_turn.emplace(m_graph->turn);
  const hipError_t before = error_before(m_hip);
  std::uint64_t launches = 0;
  for (const GraphNode& node : m_graph->nodes) launches += node.is_enabled;
  m_session.status().count(&ktrace_status::graph_launches, launches);
  std::uint64_t launch = m_session.status().add_launches(launches) - launches;
  for (const GraphNode& node : m_graph->nodes)
    if (node.is_enabled) prepare(node, ++launch);
  if (m_has_erred) restore_error(m_hip, before);
  const std::uint64_t now = m_traced.empty() ? 0 : host_now_ns(m_hip);
  for (Traced& traced : m_traced) {
    traced.dispatch.record.launched_ns = now;
    if (HangWatch* hang = m_session.hang()) hang->announce(traced.dispatch, *traced.node->slot->memory);
  }
}

void GraphReplay::prepare(const GraphNode& node, std::uint64_t launch) {
  m_unseen += node.is_unseen;
  if (!node.kernel) return;
  m_session.status().add_annotated_launch();
  if (!m_session.selection().wants_launch(*node.kernel)) {
    if (node.slot && calm(node)) m_unused.push_back(node.slot);
    return;
  }
  if (!node.slot) return lose(node, node.refusal, node.refusal_words);
  if (!calm(node) || !trace(node, launch)) m_unused.push_back(node.slot);
}

// What an earlier replay left in the slot is copied and cleared before this one runs.
bool GraphReplay::calm(const GraphNode& node) {
  TraceBuffer& memory = *node.slot->memory;
  hipError_t error = hip_success;
  if (node.slot->is_followed) error = checked(m_hip.hipStreamWaitEvent(m_stream, memory.finished, 0));
  if (error == hip_success && !memory.is_zeroed) {
    error =
        checked(m_hip.hipMemsetAsync(memory.memory, 0, static_cast<std::size_t>(memory.capacity), m_stream));
    memory.is_zeroed = error == hip_success;
  }
  if (error == hip_success) return true;
  lose(node, KTRACE_LOSS_COPY_FAILED, "its trace buffer could not be prepared: " + error_words(m_hip, error));
  return false;
}

bool GraphReplay::trace(const GraphNode& node, std::uint64_t launch) {
  if (m_session.recorder().has_failed())
    return lose(node, KTRACE_LOSS_WRITE_FAILED, "the recording could not be written"), false;
  Device& device = *m_graph->device;
  // Waiting for what this graph itself holds would be for nothing.
  Acquired acquired = acquire_buffer(m_session, device, node.layout, m_traced.empty());
  if (!acquired.buffer)
    return lose(node, acquired.refusal,
                acquired.refusal == KTRACE_LOSS_NO_MEMORY ? "the device had no memory for its trace buffer"
                                                          : "all of `--memory` was in use"),
           false;
  LaunchRequest request;
  request.shape = node.shape;
  request.shared_bytes = node.shared_bytes;
  request.stream = m_stream;
  PendingDispatch dispatch;
  dispatch.hip = &m_hip;
  dispatch.device = &device;
  dispatch.kernel = node.kernel;
  dispatch.buffer = std::move(acquired.buffer);
  dispatch.layout = acquired.layout;
  dispatch.is_grown = node.is_grown;
  dispatch.record = make_record(m_session, request, {m_session.streams().number_of(m_stream), device.index()},
                                {m_session.next_dispatch(), launch});
  dispatch.record.flags |= KTRACE_DISPATCH_GRAPH;
  if (upload(node, dispatch)) return m_traced.push_back({&node, std::move(dispatch)}), true;
  dispatch.is_discarded = true;
  m_session.recorder().add(std::move(dispatch));
  return false;
}

// In front of the graph on its own stream: nobody waits on the host.
bool GraphReplay::upload(const GraphNode& node, const PendingDispatch& dispatch) {
  TraceBuffer& memory = *node.slot->memory;
  ktrace_control& staging = *dispatch.buffer->staging;
  staging = make_control(node.shape, dispatch.layout, m_session.config(), dispatch.record.dispatch,
                         memory.regions());
  memory.is_zeroed = false;
  const hipError_t error = checked(
      m_hip.hipMemcpyAsync(memory.memory, &staging, sizeof staging, hip_memcpy_host_to_device, m_stream));
  if (error == hip_success) return true;
  lose(node, KTRACE_LOSS_COPY_FAILED, "its trace buffer could not be prepared: " + error_words(m_hip, error));
  return false;
}

void GraphReplay::finish(hipError_t result) noexcept {
  if (m_is_unknown && result == hip_success) {  // one kernel at least: how many, nobody knows
    m_session.status().add_launches(1);
    m_session.status().add_unseen_launch();
  }
  if (!m_graph) return;
  m_session.guarded([&] {
    if (result != hip_success) return refuse();
    m_session.status().count(&ktrace_status::unseen_launches, m_unseen);
    if (m_traced.empty() && m_unused.empty()) return;
    const std::uint64_t now = host_now_ns(m_hip);
    for (Traced& traced : m_traced) traced.dispatch.record.submitted_ns = now;
    const hipError_t before = error_before(m_hip);
    m_has_erred = false;
    follow();
    if (m_has_erred) restore_error(m_hip, before);
  });
  m_turn.reset();
}

// No further call of HIP on this thread: it could replace the error that the application is going to ask for.
void GraphReplay::refuse() {
  for (Traced& traced : m_traced) {
    traced.dispatch.is_discarded = true;
    lose(*traced.node, KTRACE_LOSS_LAUNCH_FAILED, "HIP refused the launch of its graph");
    m_session.recorder().add(std::move(traced.dispatch));
  }
}

void GraphReplay::follow() {
  for (GraphSlot* slot : m_unused)
    slot->is_followed |= checked(m_hip.hipEventRecord(slot->memory->finished, m_stream)) == hip_success;
  if (m_traced.empty()) return;
  // The buffer's own event, first for the end of the graph and then for the end of the copy: waiting for an
  // event means what it was recorded for at that moment.
  const hipEvent_t end = m_traced.front().dispatch.buffer->finished;
  hipError_t error = checked(m_hip.hipEventRecord(end, m_stream));
  if (error == hip_success) error = checked(m_hip.hipStreamWaitEvent(m_graph->copies, end, 0));
  std::vector<hipError_t> errors;
  for (const Traced& traced : m_traced) errors.push_back(error == hip_success ? collect(traced) : error);
  for (std::size_t i = 0; i < m_traced.size(); ++i) hand_over(std::move(m_traced[i]), errors[i]);
}

hipError_t GraphReplay::collect(const Traced& traced) {
  TraceBuffer& buffer = *traced.dispatch.buffer;
  GraphSlot& slot = *traced.node->slot;
  TraceBuffer& memory = *slot.memory;
  const auto size = static_cast<std::size_t>(traced.dispatch.layout.buffer_size());
  const hipStream_t copies = m_graph->copies;
  hipError_t error = hip_success;
  if (!buffer.is_zeroed)
    error =
        checked(m_hip.hipMemsetAsync(buffer.memory, 0, static_cast<std::size_t>(buffer.capacity), copies));
  buffer.is_zeroed = true;
  if (error == hip_success)
    error = checked(m_hip.hipMemcpyAsync(buffer.memory, memory.memory, size, hip_memcpy_default, copies));
  if (error == hip_success) error = checked(m_hip.hipMemsetAsync(memory.memory, 0, size, copies));
  memory.is_zeroed = error == hip_success;
  if (error == hip_success) error = checked(m_hip.hipEventRecord(memory.finished, copies));
  slot.is_followed |= error == hip_success;
  if (error == hip_success) error = checked(m_hip.hipEventRecord(buffer.finished, copies));
  return error;
}

void GraphReplay::hand_over(Traced traced, hipError_t error) {
  traced.dispatch.failure = error;
  m_session.recorder().add(std::move(traced.dispatch));
}

void GraphReplay::lose(const GraphNode& node, ktrace_loss_reason reason, const std::string& words) {
  m_session.losses().add(reason, node.kernel->metadata.name, words);
}

hipError_t GraphReplay::checked(hipError_t error) {
  m_has_erred |= error != hip_success;
  return error;
}

}  // namespace ktrace
