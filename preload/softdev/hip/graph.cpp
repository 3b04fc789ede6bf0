// Graphs and their nodes, without the calls.
#include "hip/graph.hpp"

#include <algorithm>
#include <functional>
#include <queue>

#include "hip/events.hpp"
#include "hip/transfers.hpp"

namespace ktrace::softdev::hip {

namespace {

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

}  // namespace

NodeWork copy_of(const NodeWork& work, GraphRegistry* registry) {
  return std::visit(
      Overloaded{[](const KernelWork& kernel) -> NodeWork {
                   return KernelWork{std::make_shared<PreparedLaunch>(*kernel.launch)};
                 },
                 [&](const ChildWork& child) -> NodeWork { return ChildWork{child.graph->clone(registry)}; },
                 [](const auto& plain) -> NodeWork { return plain; }},
      work);
}

Graph::Graph(GraphRegistry* registry) : m_registry(registry) {
  if (m_registry != nullptr) {
    m_registry->graphs.insert(this);
  }
}

Graph::~Graph() {
  if (m_registry != nullptr) {
    for (const auto& node : m_nodes) {
      m_registry->nodes.erase(node.get());
    }
    m_registry->graphs.erase(this);
  }
}

GraphNode* Graph::add(NodeType type, NodeWork work, std::vector<GraphNode*> dependencies) {
  auto node = std::make_unique<GraphNode>();
  node->graph = this;
  node->type = type;
  node->work = std::move(work);
  node->dependencies = std::move(dependencies);
  if (m_registry != nullptr) {
    node->serial = m_registry->next_serial++;
    m_registry->nodes.insert(node.get());
  }
  m_nodes.push_back(std::move(node));
  return m_nodes.back().get();
}

void Graph::remove(const GraphNode* node) {
  for (const auto& other : m_nodes) {
    auto& before = other->dependencies;
    before.erase(std::remove(before.begin(), before.end(), node), before.end());
  }
  if (m_registry != nullptr) {
    m_registry->nodes.erase(node);
  }
  m_nodes.erase(
      std::remove_if(m_nodes.begin(), m_nodes.end(), [&](const auto& own) { return own.get() == node; }),
      m_nodes.end());
}

bool Graph::has(const GraphNode* node) const {
  return m_registry != nullptr && m_registry->nodes.count(node) != 0 && node->graph == this;
}

bool Graph::has_all(GraphNode* const* nodes, size_t count) const {
  return count <= m_nodes.size() && (count == 0 || nodes != nullptr) &&
         std::all_of(nodes, nodes + count, [&](const GraphNode* node) { return has(node); });
}

std::unique_ptr<Graph> Graph::clone(GraphRegistry* registry) const {
  auto copy = std::make_unique<Graph>(registry);
  std::unordered_map<const GraphNode*, GraphNode*> copy_by_node;
  for (const auto& node : m_nodes) {
    GraphNode* made = copy->add(node->type, copy_of(node->work, registry), {});
    made->is_enabled = node->is_enabled;
    made->attributes = node->attributes;
    copy_by_node[node.get()] = made;
    copy->m_node_by_original[node->serial] = made;
  }
  for (const auto& node : m_nodes) {
    for (const GraphNode* before : node->dependencies) {
      copy_by_node.at(node.get())->dependencies.push_back(copy_by_node.at(before));
    }
  }
  return copy;
}

GraphNode* Graph::find_clone_of(const GraphNode& original) const {
  const auto found = m_node_by_original.find(original.serial);
  return found == m_node_by_original.end() ? nullptr : found->second;
}

// Among the nodes that may come next, always the one that was created first.
std::vector<GraphNode*> Graph::order() const {
  std::unordered_map<const GraphNode*, size_t> place_by_node;
  for (size_t place = 0; place < m_nodes.size(); ++place) {
    place_by_node[m_nodes[place].get()] = place;
  }
  std::vector<size_t> missing(m_nodes.size());
  std::vector<std::vector<size_t>> followers(m_nodes.size());
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t place = 0; place < m_nodes.size(); ++place) {
    missing[place] = m_nodes[place]->dependencies.size();
    for (const GraphNode* before : m_nodes[place]->dependencies) {
      followers[place_by_node.at(before)].push_back(place);
    }
    if (missing[place] == 0) {
      ready.push(place);
    }
  }
  std::vector<GraphNode*> ordered;
  while (!ready.empty()) {
    const size_t place = ready.top();
    ready.pop();
    ordered.push_back(m_nodes[place].get());
    for (const size_t follower : followers[place]) {
      if (--missing[follower] == 0) {
        ready.push(follower);
      }
    }
  }
  return ordered;
}

bool Graph::schedule() {
  m_sequence = order();
  return m_sequence.size() == m_nodes.size() &&
         std::all_of(m_nodes.begin(), m_nodes.end(), [](const auto& node) {
           const auto* child = std::get_if<ChildWork>(&node->work);
           return child == nullptr || child->graph->schedule();
         });
}

Graph* find_graph(const Runtime& runtime, void* handle) {
  return runtime.graph_registry->graphs.count(handle) == 0 ? nullptr : static_cast<Graph*>(handle);
}

GraphNode* find_node(const Runtime& runtime, GraphNode* handle) {
  return runtime.graph_registry->nodes.count(handle) == 0 ? nullptr : handle;
}

namespace {

// All the stream's earlier work has been done, only its time has not come, so the function runs on the
// calling thread. HIP runs it on a thread of its own: a program that holds a lock here which the function
// takes would block.
hipError_t run_host(Runtime& runtime, Stream& stream, DeviceWork& locks, const HostWork& host) {
  stream.ready = runtime.begin_time(stream) + cost::call;
  locks.without_locks([host] { host.callback ? host.callback() : host.params.fn(host.params.userData); });
  return hipSuccess;
}

hipError_t run_event(Runtime& runtime, Stream& stream, NodeType type, hipEvent_t handle) {
  Event* event = runtime.find_event(handle);
  if (event == nullptr) {
    return hipErrorInvalidHandle;
  }
  if (type == NodeType::record) {
    record_event(runtime, stream, *event);
  } else {
    wait_for_event(stream, *event);
  }
  return hipSuccess;
}

}  // namespace

hipError_t run_work(Runtime& runtime, DeviceState& state, Stream& stream, DeviceWork& locks, NodeType type,
                    const NodeWork& work) {
  return std::visit(
      Overloaded{
          [](const EmptyWork&) { return hipSuccess; },
          [&](const KernelWork& kernel) {
            // While it runs, another thread may change the node.
            const std::shared_ptr<PreparedLaunch> launch = kernel.launch;
            return run_launch(runtime, state, stream, locks, *launch);
          },
          [&](const CopyWork& copy) { return run_copy(runtime, stream, copy.box); },
          [&](const FillWork& fill) { return run_fill(runtime, stream, fill.params); },
          [&](const HostWork& host) { return run_host(runtime, stream, locks, host); },
          [&](const ChildWork& child) { return run_graph(runtime, state, stream, locks, *child.graph); },
          [&](const EventWork& event) { return run_event(runtime, stream, type, event.event); }},
      work);
}

hipError_t run_graph(Runtime& runtime, DeviceState& state, Stream& stream, DeviceWork& locks, Graph& graph) {
  for (const GraphNode* node : graph.sequence()) {
    if (!node->is_enabled) {
      continue;
    }
    const hipError_t error = run_work(runtime, state, stream, locks, node->type, node->work);
    if (error != hipSuccess || state.fault) {
      return error;
    }
  }
  return hipSuccess;
}

}  // namespace ktrace::softdev::hip
