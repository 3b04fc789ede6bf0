// The frame of the calls that add, change and read nodes, whatever their type.
#pragma once

#include <algorithm>

#include "hip/graph_work.hpp"

namespace ktrace::softdev::hip {

using Nodes = GraphNode* const*;

// Each of them exists in `graph`, and none comes twice.
bool are_dependencies(const Graph& graph, Nodes dependencies, size_t count);

// Memory copies may turn into each other; all other nodes keep their type.
bool is_copy(NodeType type);
bool fits(NodeType type, NodeType wanted);

// The exec's own copy of a node of the graph that it was instantiated from, null for every other node.
GraphNode* find_in_exec(const Runtime& runtime, void* exec, GraphNode* handle);

// HIP calls another topology here an unknown error.
hipError_t set_child_in_exec(void* exec, GraphNode* node, void* child);

// `make` checks the parameters and fills in the work; if it fails there is no node.
template <class Make>
hipError_t add_node(GraphNode** node, void* graph, Nodes dependencies, size_t count, NodeType type,
                    Make&& make) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    Graph* found = find_graph(runtime, graph);
    if (node == nullptr || found == nullptr || !are_dependencies(*found, dependencies, count)) {
      return hipErrorInvalidValue;
    }
    NodeWork work;
    const hipError_t error = make(runtime, work);
    if (error == hipSuccess) {
      *node = found->add(type, std::move(work), {dependencies, dependencies + count});
    }
    return error;
  });
}

template <class Make>
hipError_t set_node(GraphNode* handle, NodeType type, Make&& make) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    GraphNode* node = find_node(runtime, handle);
    return node == nullptr || !fits(node->type, type) ? hipErrorInvalidValue : make(runtime, node->work);
  });
}

template <class Make>
hipError_t set_in_exec(void* exec, GraphNode* handle, NodeType type, Make&& make) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    GraphNode* node = find_in_exec(runtime, exec, handle);
    return node == nullptr || !fits(node->type, type) ? hipErrorInvalidValue : make(runtime, node->work);
  });
}

// `read` gets the work, of the alternative that it names.
template <class Alternative, class Out, class Read>
hipError_t get_params(GraphNode* handle, NodeType type, Out* out, Read&& read) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    GraphNode* node = find_node(runtime, handle);
    if (out == nullptr || node == nullptr || !fits(node->type, type)) {
      return hipErrorInvalidValue;
    }
    return read(std::get<Alternative>(node->work));
  });
}

}  // namespace ktrace::softdev::hip
