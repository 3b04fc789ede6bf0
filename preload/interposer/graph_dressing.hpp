// A graph of the application whose annotated kernels hold the addresses of slots while HIP instantiates it,
// or updates an instantiated one from it.
#pragma once

#include <optional>
#include <vector>

#include "graphs.hpp"
#include "session.hpp"

namespace ktrace {

// What a node is that launches `kernel`; without a slot.
GraphNode describe_graph_node(const GraphKernel& kernel);

// The same with a slot of `graph` if one can be had: `own`, if it is large
// enough, else another. `share` is how much memory a new one may take, in bytes.
GraphNode make_graph_node(Session& session, InstantiatedGraph& graph, const GraphKernel& kernel,
                          GraphSlot* own, std::uint64_t share);

// For each of so many annotated kernels of `graph`.
std::uint64_t slot_share(Session& session, const InstantiatedGraph& graph, std::size_t kernels);

// After nodes were replaced: which slots the others may have.
void mark_taken_slots(InstantiatedGraph& graph);

// Leaves the slots to the writer's thread: when the device is done with them, others may have them.
void release_slots(Session& session, InstantiatedGraph& graph) noexcept;

// Made before HIP is called, finished after; the application's graph is then as it was. Neither throws.
class GraphDressing {
 public:
  // For a new instantiated graph.
  GraphDressing(Session& session, const HipLibrary& hip, hipGraph_t graph) noexcept;
  // For an update of a known one; of all of it, or of what stands in the place of its node `child`.
  GraphDressing(Session& session, const HipLibrary& hip, hipGraph_t graph, Graphs::Entry target,
                hipGraphNode_t child) noexcept;
  ~GraphDressing();
  GraphDressing(const GraphDressing&) = delete;
  GraphDressing& operator=(const GraphDressing&) = delete;

  void finish_instantiation(hipError_t result, const hipGraphExec_t* exec) noexcept;
  void finish_update(hipError_t result) noexcept;

 private:
  struct Dressed {
    hipGraphNode_t node;
    NodeParams params;
  };

  // A failure is counted: what the graph's kernels are is not known then.
  template <class Body>
  void dress(Body&& body) noexcept;
  void read_and_assign(int device);
  void assign(int device);
  void put_in(const GraphKernel& kernel, GraphNode* node);
  void undress() noexcept;
  bool is_replaced(const GraphNode& node) const;

  Session& m_session;
  const HipLibrary& m_hip;
  const hipGraph_t m_graph;
  const Graphs::Entry m_target;
  const hipGraphNode_t m_child = nullptr;
  const InTurn m_dressing;
  std::optional<InTurn> m_changing;
  std::vector<GraphNode> m_nodes;
  std::vector<Dressed> m_dressed;
  bool m_is_complete = false;
};

}  // namespace ktrace
