#include "graph_dressing.hpp"

#include <algorithm>

#include "own_thread.hpp"

namespace ktrace {
namespace {

int current_device(const HipLibrary& hip) {
  int device = 0;
  hip.hipGetDevice(&device);
  return device;
}

int device_of_graph(Session& session, const HipLibrary& hip, hipGraph_t graph) {
  const int known = session.graphs().device_of(hip, graph);
  return known >= 0 ? known : current_device(hip);
}

}  // namespace

GraphDressing::GraphDressing(Session& session, const HipLibrary& hip, hipGraph_t graph) noexcept
    : m_session(session),
      m_hip(hip),
      m_graph(graph),
      m_target(std::make_shared<InstantiatedGraph>()),
      m_dressing(session.graphs().dressing()) {
  dress([&] {
    if (session.is_left_by_parent(hip)) return;
    const int device = device_of_graph(session, hip, graph);
    m_target->device = &session.device(hip, device);
    read_and_assign(device);
  });
}

GraphDressing::GraphDressing(Session& session, const HipLibrary& hip, hipGraph_t graph, Graphs::Entry target,
                             hipGraphNode_t child) noexcept
    : m_session(session),
      m_hip(hip),
      m_graph(graph),
      m_target(std::move(target)),
      m_child(child),
      m_dressing(session.graphs().dressing()) {
  dress([&] {
    m_changing.emplace(m_target->turn);
    read_and_assign(m_target->device->index());
  });
}

GraphDressing::~GraphDressing() { undress(); }

template <class Body>
void GraphDressing::dress(Body&& body) noexcept {
  m_session.guarded([&] {
    try {
      body();
    } catch (const std::exception& error) {
      m_session.losses().add(KTRACE_LOSS_ENTRY_POINT, "",
                             std::string("the kernels of a graph are not known: ") + error.what());
    }
  });
}

bool GraphDressing::is_replaced(const GraphNode& node) const { return !m_child || node.child == m_child; }

// On a thread of ours: HIP keeps the last error per thread, and this sets it in any case.
void GraphDressing::read_and_assign(int device) {
  run_aside(m_hip, device, [&] { assign(device); });
}

void GraphDressing::assign(int device) {
  const std::vector<GraphKernel> kernels = graph_kernels(m_session, m_hip, m_graph, device);
  const auto annotated = static_cast<std::size_t>(
      std::count_if(kernels.begin(), kernels.end(), [](const GraphKernel& one) { return one.kernel; }));
  if (annotated > 0 && !m_target->copies) m_target->copies = m_session.graphs().copies(*m_target->device);
  const std::uint64_t share = slot_share(m_session, *m_target, annotated);
  std::vector<const GraphNode*> before;
  for (const GraphNode& node : m_target->nodes)
    if (is_replaced(node)) before.push_back(&node);
  m_nodes.reserve(kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const GraphNode* const own = i < before.size() ? before[i] : nullptr;
    m_nodes.push_back(make_graph_node(m_session, *m_target, kernels[i], own ? own->slot : nullptr, share));
    put_in(kernels[i], &m_nodes.back());
    if (!own) continue;
    // The application goes on naming the nodes of the graph that was instantiated.
    m_nodes.back().node = own->node;
    m_nodes.back().child = own->child;
    m_nodes.back().is_enabled = own->is_enabled;
  }
  m_is_complete = true;
}

void GraphDressing::put_in(const GraphKernel& kernel, GraphNode* node) {
  if (!node->slot) return;
  Dressed dressed{kernel.node, {}};
  std::string trouble;
  if (dressed.params.copy(*kernel.kernel, kernel.params, &trouble)) {
    const auto address = reinterpret_cast<std::uint64_t>(node->slot->memory->memory);
    const hipError_t error = m_hip.hipGraphKernelNodeSetParams(kernel.node, dressed.params.with(address));
    if (error == hip_success) return m_dressed.push_back(std::move(dressed));
    trouble = "HIP refused its parameters with a trace buffer: " + error_words(m_hip, error);
  }
  node->slot = nullptr;
  node->refusal = KTRACE_LOSS_ARGUMENT;
  node->refusal_words = trouble;
}

void GraphDressing::undress() noexcept {
  if (m_dressed.empty()) return;
  m_session.guarded([&] {
    std::vector<Dressed> dressed;
    dressed.swap(m_dressed);
    run_aside(m_hip, m_target->device->index(), [&] {
      for (Dressed& one : dressed) m_hip.hipGraphKernelNodeSetParams(one.node, one.params.original());
    });
  });
}

void GraphDressing::finish_instantiation(hipError_t result, const hipGraphExec_t* exec) noexcept {
  undress();
  if (!m_target) return;
  if (result != hip_success || !exec || !m_is_complete) return release_slots(m_session, *m_target);
  m_session.guarded([&] {
    m_target->nodes = std::move(m_nodes);
    mark_taken_slots(*m_target);
    m_session.graphs().insert(m_hip, *exec, m_target);
  });
}

void GraphDressing::finish_update(hipError_t result) noexcept {
  undress();
  m_session.guarded([&] {
    if (result == hip_success && m_is_complete) {
      std::vector<GraphNode>& nodes = m_target->nodes;
      const auto replaced = [this](const GraphNode& node) { return is_replaced(node); };
      const auto first = std::find_if(nodes.begin(), nodes.end(), replaced) - nodes.begin();
      nodes.erase(std::remove_if(nodes.begin(), nodes.end(), replaced), nodes.end());
      for (GraphNode& node : m_nodes)
        if (m_child) node.child = m_child;
      nodes.insert(nodes.begin() + std::min(first, static_cast<std::ptrdiff_t>(nodes.size())),
                   m_nodes.begin(), m_nodes.end());
    }
    mark_taken_slots(*m_target);
  });
}

}  // namespace ktrace
