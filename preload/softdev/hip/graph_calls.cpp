// hipGraph*: making, taking apart, instantiating, updating and launching
// graphs.
#include <algorithm>

#include "hip/capture.hpp"
#include "hip/graph.hpp"

namespace ktrace::softdev::hip {

namespace {

using Nodes = GraphNode* const*;

constexpr unsigned long long known_flags = 15;  // auto free, upload, device launch, node priority

hipError_t own_graph(Runtime& runtime, std::unique_ptr<Graph> graph, void** handle) {
  *handle = graph.get();
  runtime.graphs.emplace(*handle, std::move(graph));
  return hipSuccess;
}

hipError_t instantiate(Runtime& runtime, void** exec, void* handle, unsigned long long flags) {
  const Graph* graph = find_graph(runtime, handle);
  if (exec == nullptr || graph == nullptr || flags > known_flags) {
    return hipErrorInvalidValue;
  }
  auto made = std::make_shared<GraphExec>();
  made->graph = graph->clone(nullptr);
  made->flags = flags;
  if (!made->graph->schedule()) {
    return hipErrorInvalidValue;  // a cycle
  }
  *exec = made.get();
  runtime.graph_execs.emplace(*exec, std::move(made));
  return hipSuccess;
}

hipError_t instantiate_call(void** exec, void* graph, unsigned long long flags) {
  return call(cost::call, [&](Runtime& runtime) { return instantiate(runtime, exec, graph, flags); });
}

// On a capturing stream the graph becomes a child of the one that is being
// captured, as it is now.
hipError_t launch_graph(void* exec, hipStream_t stream) {
  return stream_call(
      cost::enqueue, stream, hipErrorContextIsDestroyed,
      [&](Runtime& runtime, DeviceState& state, Stream& target, DeviceWork& locks) -> hipError_t {
        const auto found = runtime.graph_execs.find(exec);
        if (found == runtime.graph_execs.end()) {
          return hipErrorInvalidValue;
        }
        const std::shared_ptr<GraphExec> graph = found->second;  // another thread may destroy it
        if (target.capture != nullptr) {
          return capture_work(target, NodeType::graph,
                              ChildWork{graph->graph->clone(runtime.graph_registry.get())});
        }
        return run_graph(runtime, state, target, locks, *graph->graph);
      });
}

// The way in which HIP lists things: how many there are without an array; as
// many as fit, and nulls behind them, with one.
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

// `wanted` says whether each of the edges has to exist; nothing changes unless
// all of them fit.
template <class Change>
hipError_t change_edges(void* handle, Nodes from, Nodes to, size_t count, bool wanted, Change&& change) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    const Graph* graph = find_graph(runtime, handle);
    if (graph == nullptr || (count != 0 && (from == nullptr || to == nullptr))) {
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

hipError_t update_exec(Runtime& runtime, void* exec, void* handle, UpdateResult& result) {
  const auto found = runtime.graph_execs.find(exec);
  const Graph* graph = find_graph(runtime, handle);
  if (found == runtime.graph_execs.end() || graph == nullptr) {
    return hipErrorInvalidValue;
  }
  result = compare_graphs(*found->second->graph, *graph);
  if (result.result != hipGraphExecUpdateSuccess) {
    return hipErrorGraphExecUpdateFailure;
  }
  update_graph(*found->second->graph, *graph);
  return hipSuccess;
}

}  // namespace

}  // namespace ktrace::softdev::hip

using namespace ktrace::softdev::hip;

KTRACE_HIP_EXPORT hipError_t hipGraphCreate(void** graph, unsigned flags) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    return graph == nullptr || flags != 0
               ? hipErrorInvalidValue
               : own_graph(runtime, std::make_unique<Graph>(runtime.graph_registry.get()), graph);
  });
}

// Child graphs and graphs under capture are not the program's to destroy.
KTRACE_HIP_EXPORT hipError_t hipGraphDestroy(void* graph) {
  return call(cost::call, [&](Runtime& runtime) {
    return runtime.graphs.erase(graph) != 0 ? hipSuccess : hipErrorInvalidValue;
  });
}

KTRACE_HIP_EXPORT hipError_t hipGraphClone(void** clone, void* original) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    const Graph* graph = find_graph(runtime, original);
    return clone == nullptr || graph == nullptr
               ? hipErrorInvalidValue
               : own_graph(runtime, graph->clone(runtime.graph_registry.get()), clone);
  });
}

KTRACE_HIP_EXPORT hipError_t hipGraphNodeFindInClone(GraphNode** node, GraphNode* original, void* clone) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    const Graph* graph = find_graph(runtime, clone);
    const GraphNode* known = find_node(runtime, original);
    if (node == nullptr || graph == nullptr || known == nullptr) {
      return hipErrorInvalidValue;
    }
    GraphNode* found = graph->find_clone_of(*known);
    if (found == nullptr || !graph->has(found)) {
      return hipErrorInvalidValue;
    }
    *node = found;
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipGraphAddDependencies(void* graph, Nodes from, Nodes to, size_t count) {
  return change_edges(graph, from, to, count, false,
                      [](std::vector<GraphNode*>& before, GraphNode* node) { before.push_back(node); });
}

KTRACE_HIP_EXPORT hipError_t hipGraphRemoveDependencies(void* graph, Nodes from, Nodes to, size_t count) {
  return change_edges(graph, from, to, count, true, [](std::vector<GraphNode*>& before, GraphNode* node) {
    before.erase(std::remove(before.begin(), before.end(), node), before.end());
  });
}

KTRACE_HIP_EXPORT hipError_t hipGraphDestroyNode(GraphNode* node) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    if (find_node(runtime, node) == nullptr) {
      return hipErrorInvalidValue;
    }
    forget_captured(runtime, node);
    node->graph->remove(node);
    return hipSuccess;
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

KTRACE_HIP_EXPORT hipError_t hipGraphInstantiate(void** exec, void* graph, GraphNode** error_node, char* log,
                                                 size_t log_size) {
  if (error_node != nullptr) {
    *error_node = nullptr;
  }
  if (log != nullptr && log_size != 0) {
    *log = '\0';
  }
  return instantiate_call(exec, graph, 0);
}
KTRACE_HIP_EXPORT hipError_t hipGraphInstantiateWithFlags(void** exec, void* graph,
                                                          unsigned long long flags) {
  return instantiate_call(exec, graph, flags);
}
KTRACE_HIP_EXPORT hipError_t hipGraphInstantiateWithParams(void** exec, void* graph,
                                                           hipGraphInstantiateParams* params) {
  if (params == nullptr) {
    return finish_call(hipErrorInvalidValue);
  }
  const hipError_t error = instantiate_call(exec, graph, params->flags);
  params->errNode_out = nullptr;
  params->result_out = error == hipSuccess ? hipGraphInstantiateSuccess : hipGraphInstantiateError;
  return error;
}

KTRACE_HIP_EXPORT hipError_t hipGraphExecGetFlags(void* exec, unsigned long long* flags) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    const auto found = runtime.graph_execs.find(exec);
    if (flags == nullptr || found == runtime.graph_execs.end()) {
      return hipErrorInvalidValue;
    }
    *flags = found->second->flags;
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipGraphExecUpdate(void* exec, void* graph, GraphNode** error_node,
                                                hipGraphExecUpdateResult* result_out) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    if (error_node == nullptr || result_out == nullptr) {
      return hipErrorInvalidValue;
    }
    UpdateResult result;
    const hipError_t error = update_exec(runtime, exec, graph, result);
    if (error != hipErrorInvalidValue) {
      *error_node = result.node;
      *result_out = result.result;
    }
    return error;
  });
}

KTRACE_HIP_EXPORT hipError_t hipGraphExecDestroy(void* exec) {
  return call(cost::call, [&](Runtime& runtime) {
    return runtime.graph_execs.erase(exec) != 0 ? hipSuccess : hipErrorInvalidValue;
  });
}

KTRACE_HIP_EXPORT hipError_t hipGraphLaunch(void* exec, hipStream_t stream) {
  return launch_graph(exec, stream);
}
KTRACE_HIP_EXPORT hipError_t hipGraphLaunch_spt(void* exec, hipStream_t stream) {
  return launch_graph(exec, per_thread(stream));
}

// There is nothing to prepare.
KTRACE_HIP_EXPORT hipError_t hipGraphUpload(void* exec, hipStream_t stream) {
  return stream_call(cost::enqueue, stream, hipErrorInvalidValue,
                     [&](Runtime& runtime, DeviceState&, Stream&, DeviceWork&) {
                       return runtime.graph_execs.count(exec) != 0 ? hipSuccess : hipErrorInvalidValue;
                     });
}
