// A kernel node's parameters on their way from the application into HIP. The application's arrays are never
// written to. Nothing here throws.
#pragma once

#include <optional>

#include "arguments.hpp"
#include "graphs.hpp"
#include "session.hpp"

namespace ktrace {

// Into a graph: with a null trace argument where the application passes none. A graph itself holds no address
// of ours.
class GraphParams {
 public:
  GraphParams(Session& session, const HipLibrary& hip, const hipKernelNodeParams* params) noexcept;
  GraphParams(const GraphParams&) = delete;
  GraphParams& operator=(const GraphParams&) = delete;

  bool is_annotated() const { return m_kernel.kernel != nullptr; }
  const hipKernelNodeParams* get();

 private:
  const hipKernelNodeParams* m_given;
  hipKernelNodeParams m_own{};
  LaunchArguments m_arguments;
  GraphKernel m_kernel;
};

// Into one node of an instantiated graph: with the address of a slot; a null one if there is none.
class ExecParams {
 public:
  ExecParams(Session& session, const HipLibrary& hip, hipGraphExec_t exec, hipGraphNode_t node,
             const hipKernelNodeParams* params) noexcept;
  ExecParams(const ExecParams&) = delete;
  ExecParams& operator=(const ExecParams&) = delete;

  const hipKernelNodeParams* get();
  void finish(hipError_t result) noexcept;

 private:
  void begin(const HipLibrary& hip, hipGraphNode_t node);
  void begin_unknown(const HipLibrary& hip);
  void give_slot(const HipLibrary& hip, const GraphKernel& kernel, GraphSlot* own);
  void insert_slot();
  GraphNode* known(hipGraphNode_t node) const;

  Session& m_session;
  const Graphs::Entry m_graph;  // null: not known
  std::optional<InTurn> m_turn;
  const hipKernelNodeParams* m_given;
  hipKernelNodeParams m_own{};
  LaunchArguments m_arguments;
  std::optional<GraphNode> m_node;
};

// The parameters in the struct of calls that take nodes of any type.
class AnyNodeParams {
 public:
  explicit AnyNodeParams(hipGraphNodeParams* given);

  const hipKernelNodeParams* kernel() const { return m_is_kernel ? &m_given->kernel : nullptr; }
  hipGraphNodeParams* with(const hipKernelNodeParams* kernel);

 private:
  hipGraphNodeParams* m_given;
  bool m_is_kernel;
  hipGraphNodeParams m_own{};
};

}  // namespace ktrace
