// The calls for memory copy nodes: boxes, lines, and variables of the program.
#include "hip/graph_node_calls.hpp"

namespace ktrace::softdev::hip {

namespace {

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
}  // namespace

}  // namespace ktrace::softdev::hip

using namespace ktrace::softdev::hip;

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
