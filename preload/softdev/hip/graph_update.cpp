// Comparing an instantiated graph with a new version of it, and taking over the
// parameters.
#include <algorithm>
#include <unordered_map>

#include "hip/graph.hpp"

namespace ktrace::softdev::hip {

namespace {

using Places = std::unordered_map<const GraphNode*, size_t>;

Places places_of(const std::vector<GraphNode*>& nodes) {
  Places places;
  for (size_t place = 0; place < nodes.size(); ++place) {
    places[nodes[place]] = place;
  }
  return places;
}

std::vector<size_t> dependencies_of(const GraphNode& node, const Places& places) {
  std::vector<size_t> dependencies;
  std::transform(node.dependencies.begin(), node.dependencies.end(), std::back_inserter(dependencies),
                 [&](const GraphNode* before) { return places.at(before); });
  std::sort(dependencies.begin(), dependencies.end());
  return dependencies;
}

// A copy may not change its direction, a kernel not its device.
hipGraphExecUpdateResult compare_work(const NodeWork& target, const NodeWork& work) {
  if (const auto* copy = std::get_if<CopyWork>(&work)) {
    return std::get<CopyWork>(target).box.kind == copy->box.kind ? hipGraphExecUpdateSuccess
                                                                 : hipGraphExecUpdateErrorParametersChanged;
  }
  if (const auto* kernel = std::get_if<KernelWork>(&work)) {
    return std::get<KernelWork>(target).launch->device == kernel->launch->device
               ? hipGraphExecUpdateSuccess
               : hipGraphExecUpdateErrorUnsupportedFunctionChange;
  }
  if (const auto* child = std::get_if<ChildWork>(&work)) {
    return compare_graphs(*std::get<ChildWork>(target).graph, *child->graph).result;
  }
  return hipGraphExecUpdateSuccess;
}

}  // namespace

UpdateResult compare_graphs(const Graph& target, const Graph& graph) {
  const std::vector<GraphNode*> old_nodes = target.order();
  const std::vector<GraphNode*> new_nodes = graph.order();
  if (old_nodes.size() != new_nodes.size() || new_nodes.size() != graph.nodes().size()) {
    return {hipGraphExecUpdateErrorTopologyChanged, nullptr};
  }
  const Places old_places = places_of(old_nodes);
  const Places new_places = places_of(new_nodes);
  for (size_t place = 0; place < new_nodes.size(); ++place) {
    GraphNode& node = *new_nodes[place];
    if (node.type != old_nodes[place]->type) {
      return {hipGraphExecUpdateErrorNodeTypeChanged, &node};
    }
    if (dependencies_of(node, new_places) != dependencies_of(*old_nodes[place], old_places)) {
      return {hipGraphExecUpdateErrorTopologyChanged, &node};
    }
    const hipGraphExecUpdateResult result = compare_work(old_nodes[place]->work, node.work);
    if (result != hipGraphExecUpdateSuccess) {
      return {result, &node};
    }
  }
  return {};
}

void update_graph(Graph& target, const Graph& graph) {
  const std::vector<GraphNode*> old_nodes = target.order();
  const std::vector<GraphNode*> new_nodes = graph.order();
  for (size_t place = 0; place < new_nodes.size(); ++place) {
    if (const auto* child = std::get_if<ChildWork>(&new_nodes[place]->work)) {
      update_graph(*std::get<ChildWork>(old_nodes[place]->work).graph, *child->graph);
    } else {
      old_nodes[place]->work = copy_of(new_nodes[place]->work, nullptr);
    }
  }
}

}  // namespace ktrace::softdev::hip
