#include "graph_params.hpp"

#include <algorithm>
#include <string>

#include "graph_dressing.hpp"
#include "own_thread.hpp"

namespace ktrace {
namespace {

void** list_of(const hipKernelNodeParams* params) { return params ? params->kernelParams : nullptr; }
void** extra_of(const hipKernelNodeParams* params) { return params ? params->extra : nullptr; }

const hipKernelNodeParams* rebuilt(const hipKernelNodeParams& given, const LaunchArguments& arguments,
                                   hipKernelNodeParams* own) {
  *own = given;
  own->kernelParams = arguments.params();
  own->extra = arguments.extra();
  return own;
}

}  // namespace

GraphParams::GraphParams(Session& session, const HipLibrary& hip, const hipKernelNodeParams* params) noexcept
    : m_given(params), m_arguments(list_of(params), extra_of(params)) {
  if (!params) return;
  session.guarded([&] {
    int device = 0;
    if (!session.is_left_by_parent(hip)) hip.hipGetDevice(&device);
    m_kernel = graph_kernel(session, hip, device, *params);
    if (m_kernel.kernel) m_arguments.insert_null(*m_kernel.kernel);
  });
}

const hipKernelNodeParams* GraphParams::get() {
  return is_annotated() ? rebuilt(*m_given, m_arguments, &m_own) : m_given;
}

ExecParams::ExecParams(Session& session, const HipLibrary& hip, hipGraphExec_t exec, hipGraphNode_t node,
                       const hipKernelNodeParams* params) noexcept
    : m_session(session),
      m_graph(session.graphs().find(hip, exec)),
      m_given(params),
      m_arguments(list_of(params), extra_of(params)) {
  if (params) session.guarded([&] { begin(hip, node); });
}

GraphNode* ExecParams::known(hipGraphNode_t node) const {
  const auto found = std::find_if(m_graph->nodes.begin(), m_graph->nodes.end(),
                                  [node](const GraphNode& one) { return one.node == node; });
  return found == m_graph->nodes.end() ? nullptr : &*found;
}

void ExecParams::begin(const HipLibrary& hip, hipGraphNode_t node) {
  if (!m_graph) return begin_unknown(hip);
  m_turn.emplace(m_graph->turn);
  GraphKernel kernel = graph_kernel(m_session, hip, m_graph->device->index(), *m_given);
  kernel.node = node;
  const GraphNode* const before = known(node);
  if (before) kernel.child = before->child;
  m_node = describe_graph_node(kernel);
  if (kernel.kernel) give_slot(hip, kernel, before ? before->slot : nullptr);
  if (before) m_node->is_enabled = before->is_enabled;
  if (kernel.kernel) insert_slot();
}

// The graph's replays are not traced, but its kernel reads the argument.
void ExecParams::begin_unknown(const HipLibrary& hip) {
  int device = 0;
  if (!m_session.is_left_by_parent(hip)) hip.hipGetDevice(&device);
  const GraphKernel kernel = graph_kernel(m_session, hip, device, *m_given);
  m_node = describe_graph_node(kernel);
  if (kernel.kernel) m_arguments.insert_null(*kernel.kernel);
}

// On a thread of ours, because it calls HIP. Where that is not to be had the node is replayed untraced.
void ExecParams::give_slot(const HipLibrary& hip, const GraphKernel& kernel, GraphSlot* own) {
  try {
    if (!m_graph->copies) m_graph->copies = m_session.graphs().copies(*m_graph->device);
    run_aside(hip, m_graph->device->index(), [&] {
      const std::uint64_t share = slot_share(m_session, *m_graph, m_graph->nodes.size());
      m_node = make_graph_node(m_session, *m_graph, kernel, own, share);
    });
  } catch (const std::exception& error) {
    m_node->slot = nullptr;
    m_node->refusal = KTRACE_LOSS_NO_MEMORY;
    m_node->refusal_words = std::string("the node of its graph could not be prepared: ") + error.what();
  }
}

void ExecParams::insert_slot() {
  if (m_node->slot) {
    const auto address = reinterpret_cast<std::uint64_t>(m_node->slot->memory->memory);
    std::string trouble;
    if (m_arguments.insert(*m_node->kernel, address, &trouble)) return;
    m_node->slot = nullptr;
    m_node->refusal = KTRACE_LOSS_ARGUMENT;
    m_node->refusal_words = trouble;
  }
  m_arguments.insert_null(*m_node->kernel);
}

const hipKernelNodeParams* ExecParams::get() {
  return m_node && m_node->kernel ? rebuilt(*m_given, m_arguments, &m_own) : m_given;
}

void ExecParams::finish(hipError_t result) noexcept {
  if (!m_node || !m_graph) return;
  m_session.guarded([&] {
    GraphNode* const before = known(m_node->node);
    if (result == hip_success && before) *before = *m_node;
    if (result == hip_success && !before) m_graph->nodes.push_back(*m_node);
    mark_taken_slots(*m_graph);
  });
}

AnyNodeParams::AnyNodeParams(hipGraphNodeParams* given)
    : m_given(given), m_is_kernel(given && given->type == hip_node_type_kernel) {
  if (m_is_kernel) m_own = *given;
}

hipGraphNodeParams* AnyNodeParams::with(const hipKernelNodeParams* kernel) {
  if (!m_is_kernel || !kernel) return m_given;
  m_own.kernel = *kernel;
  return &m_own;
}

}  // namespace ktrace
