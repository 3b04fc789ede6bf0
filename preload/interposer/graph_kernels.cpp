#include "graph_kernels.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "session.hpp"

namespace ktrace {
namespace {

constexpr int deepest_nesting = 64;

void check(const HipLibrary& hip, hipError_t error, const char* call) {
  if (error != hip_success)
    throw std::runtime_error(std::string(call) + " returned " + error_words(hip, error));
}

std::vector<hipGraphNode_t> nodes_of(const HipLibrary& hip, hipGraph_t graph) {
  std::size_t count = 0;
  check(hip, hip.hipGraphGetNodes(graph, nullptr, &count), "hipGraphGetNodes");
  std::vector<hipGraphNode_t> nodes(count);
  if (count > 0) check(hip, hip.hipGraphGetNodes(graph, nodes.data(), &count), "hipGraphGetNodes");
  return nodes;
}

class Reader {
 public:
  Reader(Session& session, const HipLibrary& hip, int device)
      : m_session(session), m_hip(hip), m_device(device) {}

  void read(hipGraph_t graph, hipGraphNode_t child, int depth) {
    if (depth > deepest_nesting) throw std::runtime_error("child graphs are nested too deeply");
    for (const hipGraphNode_t node : nodes_of(m_hip, graph)) {
      int type = 0;
      check(m_hip, m_hip.hipGraphNodeGetType(node, &type), "hipGraphNodeGetType");
      if (type == hip_node_type_kernel) add(node, child);
      if (type != hip_node_type_graph || !m_hip.hipGraphChildGraphNodeGetGraph) continue;
      hipGraph_t inner = nullptr;
      check(m_hip, m_hip.hipGraphChildGraphNodeGetGraph(node, &inner), "hipGraphChildGraphNodeGetGraph");
      read(inner, child ? child : node, depth + 1);
    }
  }
  std::vector<GraphKernel> take() { return std::move(m_kernels); }

 private:
  void add(hipGraphNode_t node, hipGraphNode_t child) {
    hipKernelNodeParams params{};
    check(m_hip, m_hip.hipGraphKernelNodeGetParams(node, &params), "hipGraphKernelNodeGetParams");
    m_kernels.push_back(graph_kernel(m_session, m_hip, m_device, params));
    m_kernels.back().node = node;
    m_kernels.back().child = child;
  }

  Session& m_session;
  const HipLibrary& m_hip;
  const int m_device;
  std::vector<GraphKernel> m_kernels;
};

}  // namespace

GraphKernel graph_kernel(Session& session, const HipLibrary& hip, int device,
                         const hipKernelNodeParams& params) {
  GraphKernel found;
  found.params = params;
  // A host function or a hipFunction_t: no handle is both.
  FoundFunction function = session.registry().find_function(params.func);
  if (!function.is_known) function = session.registry().find_host_function(params.func);
  found.is_unseen = !function.is_known;
  if (!function.builds) return found;
  found.kernel = function.builds->builds.size() == 1
                     ? function.builds->builds.front().kernel
                     : function.builds->pick(session.device(hip, device).facts().target);
  // Its replays go on writing to the buffer that it was captured with.
  if (found.kernel && found.kernel->is_of_flydsl) found.kernel = nullptr;
  return found;
}

std::vector<GraphKernel> graph_kernels(Session& session, const HipLibrary& hip, hipGraph_t graph,
                                       int device) {
  if (!hip.hipGraphGetNodes || !hip.hipGraphNodeGetType || !hip.hipGraphKernelNodeGetParams)
    throw std::runtime_error("this HIP does not list the nodes of a graph");
  Reader reader(session, hip, device);
  reader.read(graph, nullptr, 0);
  return reader.take();
}

bool NodeParams::copy(const Kernel& kernel, const hipKernelNodeParams& params, std::string* trouble) {
  const std::vector<KernelArgument>& arguments = kernel.metadata.arguments;
  std::size_t end = std::size_t{kernel.trace_offset} + sizeof m_original;
  for (const KernelArgument& argument : arguments)
    end = std::max(end, std::size_t{argument.offset} + argument.size);
  m_params = params;
  m_trace_offset = kernel.trace_offset;
  m_values.assign(end, 0);
  if (params.extra) {
    if (params.extra[0] != extra_buffer_pointer || params.extra[2] != extra_buffer_size || !params.extra[1] ||
        !params.extra[3])
      return *trouble = "the tags of its argument buffer are not pointer, size, end", false;
    std::size_t size = 0;
    std::memcpy(&size, params.extra[3], sizeof size);
    m_values.resize(std::max(size, end));
    std::memcpy(m_values.data(), params.extra[1], size);
  } else if (params.kernelParams) {
    for (const KernelArgument& argument : arguments) {
      void* const place = params.kernelParams[&argument - arguments.data()];
      if (!place) return *trouble = "an argument of its list is missing", false;
      std::memcpy(m_values.data() + argument.offset, place, argument.size);
    }
  } else {
    return *trouble = "it has no argument list", false;
  }
  for (const KernelArgument& argument : arguments) m_places.push_back(m_values.data() + argument.offset);
  std::memcpy(&m_original, m_values.data() + m_trace_offset, sizeof m_original);
  return true;
}

const hipKernelNodeParams* NodeParams::with(std::uint64_t buffer) {
  std::memcpy(m_values.data() + m_trace_offset, &buffer, sizeof buffer);
  if (!m_params.extra) {
    m_params.kernelParams = m_places.data();
    return &m_params;
  }
  m_size = m_values.size();
  m_extra[0] = extra_buffer_pointer;
  m_extra[1] = m_values.data();
  m_extra[2] = extra_buffer_size;
  m_extra[3] = &m_size;
  m_extra[4] = extra_end;
  m_params.extra = m_extra;
  return &m_params;
}

}  // namespace ktrace
