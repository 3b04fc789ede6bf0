// hipGraphAddNode, hipGraphNodeSetParams, hipGraphExecNodeSetParams: the calls for whatever type the union
// says.
#include "hip/graph_node_calls.hpp"

namespace ktrace::softdev::hip {

namespace {

hipError_t make_any(Runtime& runtime, const hipGraphNodeParams& params, NodeWork& work) {
  switch (static_cast<NodeType>(params.type)) {
    case NodeType::kernel:
      return make_kernel(runtime, &params.kernel, work);
    case NodeType::copy:
      return make_copy(runtime, &params.memcpy.copyParams, work);
    case NodeType::fill:
      return make_fill(runtime, &params.memset, work);
    case NodeType::host:
      return make_host(&params.host, work);
    case NodeType::graph:
      return make_child(runtime, params.graph, work);
    case NodeType::empty:
      return hipSuccess;
    case NodeType::wait:
      return make_event(runtime, params.eventWait, work);
    case NodeType::record:
      return make_event(runtime, params.eventRecord, work);
    default:
      return hipErrorInvalidValue;  // the symbol copies have no member in the union
  }
}

auto from_any(const hipGraphNodeParams& params) {
  return [&params](Runtime& runtime, NodeWork& work) { return make_any(runtime, params, work); };
}

NodeType type_of(const hipGraphNodeParams& params) { return static_cast<NodeType>(params.type); }

}  // namespace

}  // namespace ktrace::softdev::hip

using namespace ktrace::softdev::hip;

KTRACE_HIP_EXPORT hipError_t hipGraphAddNode(GraphNode** node, void* graph, Nodes dependencies, size_t count,
                                             hipGraphNodeParams* params) {
  return params == nullptr ? finish_call(hipErrorInvalidValue)
                           : add_node(node, graph, dependencies, count, type_of(*params), from_any(*params));
}

KTRACE_HIP_EXPORT hipError_t hipGraphNodeSetParams(GraphNode* node, hipGraphNodeParams* params) {
  return params == nullptr ? finish_call(hipErrorInvalidValue)
                           : set_node(node, type_of(*params), from_any(*params));
}

KTRACE_HIP_EXPORT hipError_t hipGraphExecNodeSetParams(void* exec, GraphNode* node,
                                                       hipGraphNodeParams* params) {
  if (params == nullptr) {
    return finish_call(hipErrorInvalidValue);
  }
  return type_of(*params) == NodeType::graph ? set_child_in_exec(exec, node, params->graph)
                                             : set_in_exec(exec, node, type_of(*params), from_any(*params));
}
