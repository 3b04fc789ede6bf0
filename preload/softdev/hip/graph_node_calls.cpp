// What the calls about single nodes share.
#include "hip/graph_node_calls.hpp"

namespace ktrace::softdev::hip {

bool are_dependencies(const Graph& graph, Nodes dependencies, size_t count) {
  return graph.has_all(dependencies, count) &&
         std::all_of(dependencies, dependencies + count, [&](const GraphNode* node) {
           return std::count(dependencies, dependencies + count, node) == 1;
         });
}

bool is_copy(NodeType type) {
  return type == NodeType::copy || type == NodeType::copy_to_symbol || type == NodeType::copy_from_symbol;
}

bool fits(NodeType type, NodeType wanted) { return type == wanted || (is_copy(type) && is_copy(wanted)); }

GraphNode* find_in_exec(const Runtime& runtime, void* exec, GraphNode* handle) {
  const auto found = runtime.graph_execs.find(exec);
  const GraphNode* node = find_node(runtime, handle);
  return found == runtime.graph_execs.end() || node == nullptr ? nullptr
                                                               : found->second->graph->find_clone_of(*node);
}

hipError_t set_child_in_exec(void* exec, GraphNode* handle, void* child) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    GraphNode* node = find_in_exec(runtime, exec, handle);
    const Graph* graph = find_graph(runtime, child);
    if (node == nullptr || graph == nullptr || node->type != NodeType::graph) {
      return hipErrorInvalidValue;
    }
    Graph& target = *std::get<ChildWork>(node->work).graph;
    if (graph == handle->graph || compare_graphs(target, *graph).result != hipGraphExecUpdateSuccess) {
      return hipErrorUnknown;
    }
    update_graph(target, *graph);
    return hipSuccess;
  });
}

}  // namespace ktrace::softdev::hip
