// The calls that tell a graph's nodes and edges, and change its edges.
#include <algorithm>

#include "hip/graph.hpp"

namespace ktrace::softdev::hip {

namespace {

using Nodes = GraphNode* const*;

// The way in which HIP lists things: how many there are without an array; as many as fit, and nulls behind
// them, with one.
template <class Item, class Store>
hipError_t list(const std::vector<Item>& items, bool only_count, size_t* count, Store&& store) {
  if (!only_count) {
    for (size_t index = 0; index < *count; ++index) {
      store(index, index < items.size() ? items[index] : Item{});
    }
  }
  *count = only_count ? items.size() : std::min(*count, items.size());
  return hipSuccess;
}

hipError_t list_nodes(const std::vector<GraphNode*>& items, GraphNode** nodes, size_t* count) {
  return list(items, nodes == nullptr, count, [&](size_t index, GraphNode* node) { nodes[index] = node; });
}

template <class Select>
hipError_t list_of_graph(void* handle, GraphNode** nodes, size_t* count, Select&& select) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    const Graph* graph = find_graph(runtime, handle);
    return graph == nullptr || count == nullptr ? hipErrorInvalidValue
                                                : list_nodes(select(*graph), nodes, count);
  });
}

template <class Select>
hipError_t list_of_node(GraphNode* handle, GraphNode** nodes, size_t* count, Select&& select) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    const GraphNode* node = find_node(runtime, handle);
    return node == nullptr || count == nullptr ? hipErrorInvalidValue
                                               : list_nodes(select(*node), nodes, count);
  });
}

bool depends_on(const GraphNode& node, const GraphNode* other) {
  return std::find(node.dependencies.begin(), node.dependencies.end(), other) != node.dependencies.end();
}

std::vector<GraphNode*> roots_of(const Graph& graph) {
  std::vector<GraphNode*> roots = graph.order();
  roots.erase(std::remove_if(roots.begin(), roots.end(),
                             [](const GraphNode* node) { return !node->dependencies.empty(); }),
              roots.end());
  return roots;
}

std::vector<GraphNode*> dependents_of(const GraphNode& node) {
  std::vector<GraphNode*> dependents;
  for (const auto& other : node.graph->nodes()) {
    if (depends_on(*other, &node)) {
      dependents.push_back(other.get());
    }
  }
  return dependents;
}

struct Edge {
  GraphNode* from = nullptr;
  GraphNode* to = nullptr;
};

std::vector<Edge> edges_of(const Graph& graph) {
  std::vector<Edge> edges;
  for (const auto& node : graph.nodes()) {
    for (GraphNode* dependent : dependents_of(*node)) {
      edges.push_back({node.get(), dependent});
    }
  }
  return edges;
}

// `wanted` says whether each of the edges has to exist; nothing changes unless all of them fit.
template <class Change>
hipError_t change_edges(void* handle, Nodes from, Nodes to, size_t count, bool wanted, Change&& change) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    const Graph* graph = find_graph(runtime, handle);
    if (graph == nullptr || (count != 0 && (from == nullptr || to == nullptr))) {
      return hipErrorInvalidValue;
    }
    const size_t nodes = graph->nodes().size();
    if (count > nodes * nodes) {  // an edge comes once
      return hipErrorInvalidValue;
    }
    for (size_t index = 0; index < count; ++index) {
      if (!graph->has(from[index]) || !graph->has(to[index]) || from[index] == to[index] ||
          depends_on(*to[index], from[index]) != wanted) {
        return hipErrorInvalidValue;
      }
    }
    for (size_t index = 0; index < count; ++index) {
      change(to[index]->dependencies, from[index]);
    }
    return hipSuccess;
  });
}

}  // namespace

}  // namespace ktrace::softdev::hip

using namespace ktrace::softdev::hip;

KTRACE_HIP_EXPORT hipError_t hipGraphAddDependencies(void* graph, Nodes from, Nodes to, size_t count) {
  return change_edges(graph, from, to, count, false,
                      [](std::vector<GraphNode*>& before, GraphNode* node) { before.push_back(node); });
}

KTRACE_HIP_EXPORT hipError_t hipGraphRemoveDependencies(void* graph, Nodes from, Nodes to, size_t count) {
  return change_edges(graph, from, to, count, true, [](std::vector<GraphNode*>& before, GraphNode* node) {
    before.erase(std::remove(before.begin(), before.end(), node), before.end());
  });
}

KTRACE_HIP_EXPORT hipError_t hipGraphGetNodes(void* graph, GraphNode** nodes, size_t* count) {
  return list_of_graph(graph, nodes, count, [](const Graph& found) { return found.order(); });
}

KTRACE_HIP_EXPORT hipError_t hipGraphGetRootNodes(void* graph, GraphNode** nodes, size_t* count) {
  return list_of_graph(graph, nodes, count, roots_of);
}

KTRACE_HIP_EXPORT hipError_t hipGraphNodeGetDependencies(GraphNode* node, GraphNode** nodes, size_t* count) {
  return list_of_node(node, nodes, count, [](const GraphNode& found) { return found.dependencies; });
}

KTRACE_HIP_EXPORT hipError_t hipGraphNodeGetDependentNodes(GraphNode* node, GraphNode** nodes,
                                                           size_t* count) {
  return list_of_node(node, nodes, count, dependents_of);
}

KTRACE_HIP_EXPORT hipError_t hipGraphGetEdges(void* graph, GraphNode** from, GraphNode** to, size_t* count) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    const Graph* found = find_graph(runtime, graph);
    if (found == nullptr || count == nullptr || (from == nullptr) != (to == nullptr)) {
      return hipErrorInvalidValue;
    }
    return list(edges_of(*found), from == nullptr, count, [&](size_t index, const Edge& edge) {
      from[index] = edge.from;
      to[index] = edge.to;
    });
  });
}

KTRACE_HIP_EXPORT hipError_t hipGraphNodeGetType(GraphNode* handle, int* type) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    const GraphNode* node = find_node(runtime, handle);
    if (type == nullptr || node == nullptr) {
      return hipErrorInvalidValue;
    }
    *type = static_cast<int>(node->type);
    return hipSuccess;
  });
}
