// The calls for all other nodes: kernels, fills, host functions, child graphs, events; and switching nodes
// off.
#include "hip/graph_node_calls.hpp"

namespace ktrace::softdev::hip {

namespace {

auto from_kernel(const hipKernelNodeParams* params) {
  return [=](Runtime& runtime, NodeWork& work) { return make_kernel(runtime, params, work); };
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
// The pointers in the answer are the node's own and live until its parameters change.
KTRACE_HIP_EXPORT hipError_t hipGraphKernelNodeGetParams(GraphNode* node, hipKernelNodeParams* params) {
  return get_params<KernelWork>(node, NodeType::kernel, params, [&](const KernelWork& work) {
    read_kernel(*work.launch, *params);
    return hipSuccess;
  });
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
