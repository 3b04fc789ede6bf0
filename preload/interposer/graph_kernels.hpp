// The kernel nodes of a graph: what each launches, and its parameters with another trace argument.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "code_object.hpp"
#include "hip_library.hpp"
#include "sizing.hpp"

namespace ktrace {

class Session;

struct GraphKernel {
  hipGraphNode_t node = nullptr;
  hipGraphNode_t child = nullptr;  // the outermost child graph that holds it; null: the graph itself does
  const Kernel* kernel = nullptr;  // null: not annotated
  bool is_unseen = false;          // whether it is annotated, nobody knows
  hipKernelNodeParams params{};    // with pointers of HIP's, or of the application

  Shape shape() const { return {params.gridDim, params.blockDim}; }
};

// What a node with these parameters launches on that device. Calls HIP only for a kernel with several builds.
GraphKernel graph_kernel(Session& session, const HipLibrary& hip, int device,
                         const hipKernelNodeParams& params);

// Those of `graph` and of its child graphs, in the order in which HIP lists them. Throws std::runtime_error
// if HIP does not list them. Sets HIP's last error.
std::vector<GraphKernel> graph_kernels(Session& session, const HipLibrary& hip, hipGraph_t graph, int device);

// A node's parameters, values included, in memory of ours: HIP frees its own when a node gets new ones.
class NodeParams {
 public:
  // False, with the reason in `trouble`, if they do not look as the kernel's metadata says.
  bool copy(const Kernel& kernel, const hipKernelNodeParams& params, std::string* trouble);
  // The parameters with `buffer` as trace argument. Valid until the next call, or until this object goes.
  const hipKernelNodeParams* with(std::uint64_t buffer);
  // As they were.
  const hipKernelNodeParams* original() { return with(m_original); }

 private:
  hipKernelNodeParams m_params{};
  std::vector<std::uint8_t> m_values;
  std::vector<void*> m_places;
  void* m_extra[5] = {};
  std::size_t m_size = 0;
  std::size_t m_trace_offset = 0;
  std::uint64_t m_original = 0;
};

}  // namespace ktrace
