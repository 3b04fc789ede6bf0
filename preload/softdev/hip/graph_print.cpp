// hipGraphDebugDotPrint, and the attributes of kernel nodes.
#include <cstdio>
#include <memory>
#include <string>

#include "hip/graph.hpp"

namespace ktrace::softdev::hip {

namespace {

const char* word_for(NodeType type) {
  switch (type) {
    case NodeType::kernel:
      return "KERNEL";
    case NodeType::copy:
    case NodeType::copy_from_symbol:
    case NodeType::copy_to_symbol:
      return "MEMCPY";
    case NodeType::fill:
      return "MEMSET";
    case NodeType::host:
      return "HOST";
    case NodeType::graph:
      return "GRAPH";
    case NodeType::wait:
      return "EVENT_WAIT";
    case NodeType::record:
      return "EVENT_RECORD";
    default:
      return "EMPTY";
  }
}

std::string label_of(const GraphNode& node) {
  const auto* kernel = std::get_if<KernelWork>(&node.work);
  return kernel == nullptr ? word_for(node.type) : kernel->launch->kernel->name;
}

// Nodes are named by their serial numbers: addresses would differ from run to run.
void print_nodes(std::FILE* file, const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    std::fprintf(file, "  n%llu [label=\"%s\"];\n", static_cast<unsigned long long>(node->serial),
                 label_of(*node).c_str());
    for (const GraphNode* before : node->dependencies) {
      std::fprintf(file, "  n%llu -> n%llu;\n", static_cast<unsigned long long>(before->serial),
                   static_cast<unsigned long long>(node->serial));
    }
    if (const auto* child = std::get_if<ChildWork>(&node->work)) {
      std::fprintf(file, "  subgraph cluster_%llu {\n", static_cast<unsigned long long>(node->serial));
      print_nodes(file, *child->graph);
      std::fprintf(file, "  }\n");
    }
  }
}

bool is_attribute(int attribute) {
  return attribute == hipLaunchAttributeAccessPolicyWindow || attribute == hipLaunchAttributeCooperative ||
         attribute == hipLaunchAttributePriority;
}

GraphNode* find_kernel_node(const Runtime& runtime, GraphNode* handle) {
  GraphNode* node = find_node(runtime, handle);
  return node == nullptr || node->type != NodeType::kernel ? nullptr : node;
}

}  // namespace

}  // namespace ktrace::softdev::hip

using namespace ktrace::softdev::hip;

KTRACE_HIP_EXPORT hipError_t hipGraphDebugDotPrint(void* graph, const char* path, unsigned) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    const Graph* found = find_graph(runtime, graph);
    if (found == nullptr || path == nullptr) {
      return hipErrorInvalidValue;
    }
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "w"), std::fclose);
    if (file == nullptr) {
      return hipErrorOperatingSystem;
    }
    std::fprintf(file.get(), "digraph {\n");
    print_nodes(file.get(), *found);
    std::fprintf(file.get(), "}\n");
    return hipSuccess;
  });
}

// Kept and told; of what they ask for, the model has nothing.
KTRACE_HIP_EXPORT hipError_t hipGraphKernelNodeSetAttribute(GraphNode* handle, int attribute,
                                                            const decltype(hipLaunchAttribute::val)* value) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    GraphNode* node = find_kernel_node(runtime, handle);
    if (node == nullptr || value == nullptr || !is_attribute(attribute)) {
      return hipErrorInvalidValue;
    }
    node->attributes[attribute] = *value;
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipGraphKernelNodeGetAttribute(GraphNode* handle, int attribute,
                                                            decltype(hipLaunchAttribute::val)* value) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    const GraphNode* node = find_kernel_node(runtime, handle);
    if (node == nullptr || value == nullptr || !is_attribute(attribute)) {
      return hipErrorInvalidValue;
    }
    const auto found = node->attributes.find(attribute);
    *value = found == node->attributes.end() ? decltype(hipLaunchAttribute::val){} : found->second;
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipGraphKernelNodeCopyAttributes(GraphNode* source, GraphNode* destination) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    const GraphNode* from = find_kernel_node(runtime, source);
    GraphNode* to = find_kernel_node(runtime, destination);
    if (from == nullptr || to == nullptr) {
      return hipErrorInvalidValue;
    }
    to->attributes = from->attributes;
    return hipSuccess;
  });
}
