// hipGraphAdd*Node, hipGraph*NodeGet*, hipGraph*NodeSet*,
// hipGraphExec*NodeSet*: one set of calls per type.
#include <algorithm>

#include "hip/fat_binary.hpp"
#include "hip/graph_work.hpp"

namespace ktrace::softdev::hip {

namespace {

using Nodes = GraphNode* const*;

// Each of them exists in `graph`, and none comes twice.
bool are_dependencies(const Graph& graph, Nodes dependencies, size_t count) {
  if (count != 0 && dependencies == nullptr) {
    return false;
  }
  return std::all_of(dependencies, dependencies + count, [&](const GraphNode* node) {
    return graph.has(node) && std::count(dependencies, dependencies + count, node) == 1;
  });
}

// `make` checks the parameters and fills in the work; if it fails there is no
// node.
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

bool is_copy(NodeType type) {
  return type == NodeType::copy || type == NodeType::copy_to_symbol || type == NodeType::copy_from_symbol;
}

// Memory copies may turn into each other; all other nodes keep their type.
bool fits(NodeType type, NodeType wanted) { return type == wanted || (is_copy(type) && is_copy(wanted)); }

template <class Make>
hipError_t set_node(GraphNode* handle, NodeType type, Make&& make) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    GraphNode* node = find_node(runtime, handle);
    return node == nullptr || !fits(node->type, type) ? hipErrorInvalidValue : make(runtime, node->work);
  });
}

// The exec's own copy of a node of the graph that it was instantiated from,
// null for every other node.
GraphNode* find_in_exec(const Runtime& runtime, void* exec, GraphNode* handle) {
  const auto found = runtime.graph_execs.find(exec);
  const GraphNode* node = find_node(runtime, handle);
  return found == runtime.graph_execs.end() || node == nullptr ? nullptr
                                                               : found->second->graph->find_clone_of(*node);
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

auto from_kernel(const hipKernelNodeParams* params) {
  return [=](Runtime& runtime, NodeWork& work) { return make_kernel(runtime, params, work); };
}
auto from_box(const hipMemcpy3DParms* box) {
  return [=](Runtime& runtime, NodeWork& work) { return make_copy(runtime, box, work); };
}
auto from_line(void* destination, const void* source, size_t size, hipMemcpyKind kind) {
  return [=](Runtime& runtime, NodeWork& work) {
    return make_linear_copy(runtime, destination, source, size, kind, work);
  };
}
auto to_symbol(const void* symbol, const void* source, size_t size, size_t offset, hipMemcpyKind kind) {
  return [=](Runtime& runtime, NodeWork& work) {
    return make_copy_to_symbol(runtime, symbol, source, size, offset, kind, work);
  };
}
auto from_symbol(void* destination, const void* symbol, size_t size, size_t offset, hipMemcpyKind kind) {
  return [=](Runtime& runtime, NodeWork& work) {
    return make_copy_from_symbol(runtime, destination, symbol, size, offset, kind, work);
  };
}
auto from_fill(const hipMemsetParams* params) {
  return [=](Runtime& runtime, NodeWork& work) { return make_fill(runtime, params, work); };
}
auto from_host(const hipHostNodeParams* params) {
  return [=](Runtime&, NodeWork& work) { return make_host(params, work); };
}
auto from_event(hipEvent_t event) {
  return [=](Runtime& runtime, NodeWork& work) { return make_event(runtime, event, work); };
}
auto from_graph(void* graph) {
  return [=](Runtime& runtime, NodeWork& work) { return make_child(runtime, graph, work); };
}

// HIP calls another topology here an unknown error.
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

hipError_t get_event(GraphNode* node, NodeType type, hipEvent_t* event) {
  return get_params<EventWork>(node, type, event, [&](const EventWork& work) {
    *event = work.event;
    return hipSuccess;
  });
}

}  // namespace

}  // namespace ktrace::softdev::hip

using namespace ktrace::softdev::hip;

KTRACE_HIP_EXPORT hipError_t hipGraphAddKernelNode(GraphNode** node, void* graph, Nodes dependencies,
                                                   size_t count, const hipKernelNodeParams* params) {
  return add_node(node, graph, dependencies, count, NodeType::kernel, from_kernel(params));
}
KTRACE_HIP_EXPORT hipError_t hipGraphKernelNodeSetParams(GraphNode* node, const hipKernelNodeParams* params) {
  return set_node(node, NodeType::kernel, from_kernel(params));
}
KTRACE_HIP_EXPORT hipError_t hipGraphExecKernelNodeSetParams(void* exec, GraphNode* node,
                                                             const hipKernelNodeParams* params) {
  return set_in_exec(exec, node, NodeType::kernel, from_kernel(params));
}
// The pointers in the answer are the node's own and live until its parameters
// change.
KTRACE_HIP_EXPORT hipError_t hipGraphKernelNodeGetParams(GraphNode* node, hipKernelNodeParams* params) {
  return get_params<KernelWork>(node, NodeType::kernel, params, [&](const KernelWork& work) {
    read_kernel(*work.launch, *params);
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipGraphAddMemcpyNode(GraphNode** node, void* graph, Nodes dependencies,
                                                   size_t count, const hipMemcpy3DParms* box) {
  return add_node(node, graph, dependencies, count, NodeType::copy, from_box(box));
}
KTRACE_HIP_EXPORT hipError_t hipGraphMemcpyNodeSetParams(GraphNode* node, const hipMemcpy3DParms* box) {
  return set_node(node, NodeType::copy, from_box(box));
}
KTRACE_HIP_EXPORT hipError_t hipGraphExecMemcpyNodeSetParams(void* exec, GraphNode* node,
                                                             hipMemcpy3DParms* box) {
  return set_in_exec(exec, node, NodeType::copy, from_box(box));
}
KTRACE_HIP_EXPORT hipError_t hipGraphMemcpyNodeGetParams(GraphNode* node, hipMemcpy3DParms* box) {
  return get_params<CopyWork>(node, NodeType::copy, box, [&](const CopyWork& work) {
    *box = work.box;
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipGraphAddMemcpyNode1D(GraphNode** node, void* graph, Nodes dependencies,
                                                     size_t count, void* destination, const void* source,
                                                     size_t size, hipMemcpyKind kind) {
  return add_node(node, graph, dependencies, count, NodeType::copy,
                  from_line(destination, source, size, kind));
}
KTRACE_HIP_EXPORT hipError_t hipGraphMemcpyNodeSetParams1D(GraphNode* node, void* destination,
                                                           const void* source, size_t size,
                                                           hipMemcpyKind kind) {
  return set_node(node, NodeType::copy, from_line(destination, source, size, kind));
}
KTRACE_HIP_EXPORT hipError_t hipGraphExecMemcpyNodeSetParams1D(void* exec, GraphNode* node, void* destination,
                                                               const void* source, size_t size,
                                                               hipMemcpyKind kind) {
  return set_in_exec(exec, node, NodeType::copy, from_line(destination, source, size, kind));
}

KTRACE_HIP_EXPORT hipError_t hipGraphAddMemcpyNodeToSymbol(GraphNode** node, void* graph, Nodes dependencies,
                                                           size_t count, const void* symbol,
                                                           const void* source, size_t size, size_t offset,
                                                           hipMemcpyKind kind) {
  return add_node(node, graph, dependencies, count, NodeType::copy_to_symbol,
                  to_symbol(symbol, source, size, offset, kind));
}
KTRACE_HIP_EXPORT hipError_t hipGraphMemcpyNodeSetParamsToSymbol(GraphNode* node, const void* symbol,
                                                                 const void* source, size_t size,
                                                                 size_t offset, hipMemcpyKind kind) {
  return set_node(node, NodeType::copy_to_symbol, to_symbol(symbol, source, size, offset, kind));
}
KTRACE_HIP_EXPORT hipError_t hipGraphExecMemcpyNodeSetParamsToSymbol(void* exec, GraphNode* node,
                                                                     const void* symbol, const void* source,
                                                                     size_t size, size_t offset,
                                                                     hipMemcpyKind kind) {
  return set_in_exec(exec, node, NodeType::copy_to_symbol, to_symbol(symbol, source, size, offset, kind));
}

KTRACE_HIP_EXPORT hipError_t hipGraphAddMemcpyNodeFromSymbol(GraphNode** node, void* graph,
                                                             Nodes dependencies, size_t count,
                                                             void* destination, const void* symbol,
                                                             size_t size, size_t offset, hipMemcpyKind kind) {
  return add_node(node, graph, dependencies, count, NodeType::copy_from_symbol,
                  from_symbol(destination, symbol, size, offset, kind));
}
KTRACE_HIP_EXPORT hipError_t hipGraphMemcpyNodeSetParamsFromSymbol(GraphNode* node, void* destination,
                                                                   const void* symbol, size_t size,
                                                                   size_t offset, hipMemcpyKind kind) {
  return set_node(node, NodeType::copy_from_symbol, from_symbol(destination, symbol, size, offset, kind));
}
KTRACE_HIP_EXPORT hipError_t hipGraphExecMemcpyNodeSetParamsFromSymbol(void* exec, GraphNode* node,
                                                                       void* destination, const void* symbol,
                                                                       size_t size, size_t offset,
                                                                       hipMemcpyKind kind) {
  return set_in_exec(exec, node, NodeType::copy_from_symbol,
                     from_symbol(destination, symbol, size, offset, kind));
}

KTRACE_HIP_EXPORT hipError_t hipGraphAddMemsetNode(GraphNode** node, void* graph, Nodes dependencies,
                                                   size_t count, const hipMemsetParams* params) {
  return add_node(node, graph, dependencies, count, NodeType::fill, from_fill(params));
}
KTRACE_HIP_EXPORT hipError_t hipGraphMemsetNodeSetParams(GraphNode* node, const hipMemsetParams* params) {
  return set_node(node, NodeType::fill, from_fill(params));
}
KTRACE_HIP_EXPORT hipError_t hipGraphExecMemsetNodeSetParams(void* exec, GraphNode* node,
                                                             const hipMemsetParams* params) {
  return set_in_exec(exec, node, NodeType::fill, from_fill(params));
}
KTRACE_HIP_EXPORT hipError_t hipGraphMemsetNodeGetParams(GraphNode* node, hipMemsetParams* params) {
  return get_params<FillWork>(node, NodeType::fill, params, [&](const FillWork& work) {
    *params = work.params;
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipGraphAddHostNode(GraphNode** node, void* graph, Nodes dependencies,
                                                 size_t count, const hipHostNodeParams* params) {
  return add_node(node, graph, dependencies, count, NodeType::host, from_host(params));
}
KTRACE_HIP_EXPORT hipError_t hipGraphHostNodeSetParams(GraphNode* node, const hipHostNodeParams* params) {
  return set_node(node, NodeType::host, from_host(params));
}
KTRACE_HIP_EXPORT hipError_t hipGraphExecHostNodeSetParams(void* exec, GraphNode* node,
                                                           const hipHostNodeParams* params) {
  return set_in_exec(exec, node, NodeType::host, from_host(params));
}
KTRACE_HIP_EXPORT hipError_t hipGraphHostNodeGetParams(GraphNode* node, hipHostNodeParams* params) {
  return get_params<HostWork>(node, NodeType::host, params, [&](const HostWork& work) {
    *params = work.params;
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipGraphAddChildGraphNode(GraphNode** node, void* graph, Nodes dependencies,
                                                       size_t count, void* child) {
  return add_node(node, graph, dependencies, count, NodeType::graph, from_graph(child));
}
KTRACE_HIP_EXPORT hipError_t hipGraphExecChildGraphNodeSetParams(void* exec, GraphNode* node, void* child) {
  return set_child_in_exec(exec, node, child);
}
// The node's own copy: what is changed in it before the instantiation counts.
KTRACE_HIP_EXPORT hipError_t hipGraphChildGraphNodeGetGraph(GraphNode* node, void** graph) {
  return get_params<ChildWork>(node, NodeType::graph, graph, [&](const ChildWork& work) {
    *graph = work.graph.get();
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipGraphAddEmptyNode(GraphNode** node, void* graph, Nodes dependencies,
                                                  size_t count) {
  return add_node(node, graph, dependencies, count, NodeType::empty,
                  [](Runtime&, NodeWork&) { return hipSuccess; });
}

KTRACE_HIP_EXPORT hipError_t hipGraphAddEventRecordNode(GraphNode** node, void* graph, Nodes dependencies,
                                                        size_t count, hipEvent_t event) {
  return add_node(node, graph, dependencies, count, NodeType::record, from_event(event));
}
KTRACE_HIP_EXPORT hipError_t hipGraphEventRecordNodeSetEvent(GraphNode* node, hipEvent_t event) {
  return set_node(node, NodeType::record, from_event(event));
}
KTRACE_HIP_EXPORT hipError_t hipGraphExecEventRecordNodeSetEvent(void* exec, GraphNode* node,
                                                                 hipEvent_t event) {
  return set_in_exec(exec, node, NodeType::record, from_event(event));
}
KTRACE_HIP_EXPORT hipError_t hipGraphEventRecordNodeGetEvent(GraphNode* node, hipEvent_t* event) {
  return get_event(node, NodeType::record, event);
}

KTRACE_HIP_EXPORT hipError_t hipGraphAddEventWaitNode(GraphNode** node, void* graph, Nodes dependencies,
                                                      size_t count, hipEvent_t event) {
  return add_node(node, graph, dependencies, count, NodeType::wait, from_event(event));
}
KTRACE_HIP_EXPORT hipError_t hipGraphEventWaitNodeSetEvent(GraphNode* node, hipEvent_t event) {
  return set_node(node, NodeType::wait, from_event(event));
}
KTRACE_HIP_EXPORT hipError_t hipGraphExecEventWaitNodeSetEvent(void* exec, GraphNode* node,
                                                               hipEvent_t event) {
  return set_in_exec(exec, node, NodeType::wait, from_event(event));
}
KTRACE_HIP_EXPORT hipError_t hipGraphEventWaitNodeGetEvent(GraphNode* node, hipEvent_t* event) {
  return get_event(node, NodeType::wait, event);
}

// The calls for whatever type the union says.
KTRACE_HIP_EXPORT hipError_t hipGraphAddNode(GraphNode** node, void* graph, Nodes dependencies, size_t count,
                                             hipGraphNodeParams* params) {
  if (params == nullptr) {
    return finish_call(hipErrorInvalidValue);
  }
  switch (static_cast<NodeType>(params->type)) {
    case NodeType::kernel:
      return hipGraphAddKernelNode(node, graph, dependencies, count, &params->kernel);
    case NodeType::copy:
      return hipGraphAddMemcpyNode(node, graph, dependencies, count, &params->memcpy.copyParams);
    case NodeType::fill:
      return hipGraphAddMemsetNode(node, graph, dependencies, count, &params->memset);
    case NodeType::host:
      return hipGraphAddHostNode(node, graph, dependencies, count, &params->host);
    case NodeType::graph:
      return hipGraphAddChildGraphNode(node, graph, dependencies, count, params->graph);
    case NodeType::empty:
      return hipGraphAddEmptyNode(node, graph, dependencies, count);
    case NodeType::wait:
      return hipGraphAddEventWaitNode(node, graph, dependencies, count, params->eventWait);
    case NodeType::record:
      return hipGraphAddEventRecordNode(node, graph, dependencies, count, params->eventRecord);
    default:
      return finish_call(hipErrorInvalidValue);
  }
}

KTRACE_HIP_EXPORT hipError_t hipGraphNodeSetParams(GraphNode* node, hipGraphNodeParams* params) {
  if (params == nullptr) {
    return finish_call(hipErrorInvalidValue);
  }
  switch (static_cast<NodeType>(params->type)) {
    case NodeType::kernel:
      return hipGraphKernelNodeSetParams(node, &params->kernel);
    case NodeType::copy:
      return hipGraphMemcpyNodeSetParams(node, &params->memcpy.copyParams);
    case NodeType::fill:
      return hipGraphMemsetNodeSetParams(node, &params->memset);
    case NodeType::host:
      return hipGraphHostNodeSetParams(node, &params->host);
    case NodeType::graph:
      return set_node(node, NodeType::graph, from_graph(params->graph));
    case NodeType::wait:
      return hipGraphEventWaitNodeSetEvent(node, params->eventWait);
    case NodeType::record:
      return hipGraphEventRecordNodeSetEvent(node, params->eventRecord);
    default:
      return finish_call(hipErrorInvalidValue);
  }
}

KTRACE_HIP_EXPORT hipError_t hipGraphExecNodeSetParams(void* exec, GraphNode* node,
                                                       hipGraphNodeParams* params) {
  if (params == nullptr) {
    return finish_call(hipErrorInvalidValue);
  }
  switch (static_cast<NodeType>(params->type)) {
    case NodeType::kernel:
      return hipGraphExecKernelNodeSetParams(exec, node, &params->kernel);
    case NodeType::copy:
      return hipGraphExecMemcpyNodeSetParams(exec, node, &params->memcpy.copyParams);
    case NodeType::fill:
      return hipGraphExecMemsetNodeSetParams(exec, node, &params->memset);
    case NodeType::host:
      return hipGraphExecHostNodeSetParams(exec, node, &params->host);
    case NodeType::graph:
      return hipGraphExecChildGraphNodeSetParams(exec, node, params->graph);
    case NodeType::wait:
      return hipGraphExecEventWaitNodeSetEvent(exec, node, params->eventWait);
    case NodeType::record:
      return hipGraphExecEventRecordNodeSetEvent(exec, node, params->eventRecord);
    default:
      return finish_call(hipErrorInvalidValue);
  }
}

namespace {

// HIP switches only what the device does by itself.
bool can_be_switched(NodeType type) {
  return type == NodeType::kernel || type == NodeType::fill || is_copy(type);
}

}  // namespace

KTRACE_HIP_EXPORT hipError_t hipGraphNodeSetEnabled(void* exec, GraphNode* handle, unsigned is_enabled) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    GraphNode* node = find_in_exec(runtime, exec, handle);
    if (node == nullptr || !can_be_switched(node->type)) {
      return hipErrorInvalidValue;
    }
    node->is_enabled = is_enabled != 0;
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipGraphNodeGetEnabled(void* exec, GraphNode* handle, unsigned* is_enabled) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    const GraphNode* node = find_in_exec(runtime, exec, handle);
    if (node == nullptr || is_enabled == nullptr || !can_be_switched(node->type)) {
      return hipErrorInvalidValue;
    }
    *is_enabled = node->is_enabled ? 1 : 0;
    return hipSuccess;
  });
}
