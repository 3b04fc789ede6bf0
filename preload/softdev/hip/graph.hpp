// Graphs: work that is kept and replayed.
//
// A graph's nodes run one after the other on the stream of the launch, in an order that respects their
// dependencies. Replays see the memory as it is then; parameters are the ones of the instantiation, or of the
// exec calls since. Nodes and graphs are handles of the program only while a registry knows them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "hip/call.hpp"
#include "hip/graph_abi.hpp"
#include "hip/launch.hpp"
#include "hip/runtime.hpp"

namespace ktrace::softdev::hip {

// HIP's numbers.
enum class NodeType : int {
  kernel = 0,
  copy = 1,
  fill = 2,
  host = 3,
  graph = 4,
  empty = 5,
  wait = 6,
  record = 7,
  copy_from_symbol = 12,
  copy_to_symbol = 13,
};

struct EmptyWork {};
struct KernelWork {
  std::shared_ptr<PreparedLaunch> launch;
};
struct CopyWork {
  hipMemcpy3DParms box;
};
struct FillWork {
  hipMemsetParams params;
};
struct HostWork {
  hipHostNodeParams params;
  std::function<void()> callback;  // instead of `params`, of hipStreamAddCallback
};
struct ChildWork {
  std::unique_ptr<Graph> graph;
};
struct EventWork {
  hipEvent_t event;
};
using NodeWork = std::variant<EmptyWork, KernelWork, CopyWork, FillWork, HostWork, ChildWork, EventWork>;

struct GraphNode {
  Graph* graph = nullptr;
  uint64_t serial = 0;  // unlike its address never used again
  NodeType type = NodeType::empty;
  NodeWork work;
  std::vector<GraphNode*> dependencies;
  bool is_enabled = true;
  std::map<int, decltype(hipLaunchAttribute::val)> attributes;  // of a kernel
};

// The graphs and nodes that are valid handles: the program's own, child graphs, and graphs under capture.
struct GraphRegistry {
  std::unordered_set<const void*> graphs;
  std::unordered_set<const void*> nodes;
  uint64_t next_serial = 1;
};

class Graph {
 public:
  // A graph without a registry is an instantiated one: nobody has handles to it.
  explicit Graph(GraphRegistry* registry);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  GraphNode* add(NodeType type, NodeWork work, std::vector<GraphNode*> dependencies);
  // Forgets the node and its edges.
  void remove(const GraphNode* node);
  bool has(const GraphNode* node) const;
  // Whether a list of the program's can be one of this graph's nodes: it is read as far as it is one.
  bool has_all(GraphNode* const* nodes, size_t count) const;

  // A copy with copies of all parameters, child graphs included.
  std::unique_ptr<Graph> clone(GraphRegistry* registry) const;
  // The clone's node for a node of the graph that it was cloned from, else null.
  GraphNode* find_clone_of(const GraphNode& original) const;

  // All nodes, each after its dependencies, otherwise in order of creation; shorter if there is a cycle.
  std::vector<GraphNode*> order() const;
  // Keeps the order for run_graph, in child graphs too. False if there is a cycle.
  bool schedule();
  const std::vector<GraphNode*>& sequence() const { return m_sequence; }
  const std::vector<std::unique_ptr<GraphNode>>& nodes() const { return m_nodes; }

 private:
  GraphRegistry* m_registry;
  std::vector<std::unique_ptr<GraphNode>> m_nodes;  // in order of creation
  std::unordered_map<uint64_t, GraphNode*> m_node_by_original;
  std::vector<GraphNode*> m_sequence;
};

// An instantiated graph.
struct GraphExec {
  std::unique_ptr<Graph> graph;
  unsigned long long flags = 0;
};

NodeWork copy_of(const NodeWork& work, GraphRegistry* registry);

// The program's handles, or null.
Graph* find_graph(const Runtime& runtime, void* handle);
GraphNode* find_node(const Runtime& runtime, GraphNode* handle);

// Runs one node's work on the stream. Kernels and host functions run without the state's lock.
hipError_t run_work(Runtime& runtime, DeviceState& state, Stream& stream, DeviceWork& locks, NodeType type,
                    const NodeWork& work);
hipError_t run_graph(Runtime& runtime, DeviceState& state, Stream& stream, DeviceWork& locks, Graph& graph);

struct UpdateResult {
  hipGraphExecUpdateResult result = hipGraphExecUpdateSuccess;
  GraphNode* node = nullptr;  // of the new graph
};
// Whether `graph` differs from `target`, which was instantiated, in parameters only.
UpdateResult compare_graphs(const Graph& target, const Graph& graph);
// Gives the target the parameters of a graph that compares equal.
void update_graph(Graph& target, const Graph& graph);

}  // namespace ktrace::softdev::hip
