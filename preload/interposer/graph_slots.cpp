// Slots for the annotated kernels of instantiated graphs.
#include <algorithm>

#include "graph_dressing.hpp"
#include "launch.hpp"

namespace ktrace {
namespace {

GraphSlot* find_slot(InstantiatedGraph& graph, GraphSlot* own, std::uint64_t size) {
  if (own && own->memory->capacity >= size) return own;
  for (const auto& slot : graph.slots)
    if (!slot->is_taken && slot->memory->capacity >= size) return slot.get();
  return nullptr;
}

// The memory may hold a control block of an earlier launch: it must have no effect before the first replay.
bool clear(const InstantiatedGraph& graph, TraceBuffer* memory) {
  const HipLibrary& hip = graph.device->hip();
  memory->is_zeroed = true;
  return hip.hipMemsetAsync(memory->memory, 0, static_cast<std::size_t>(memory->capacity), graph.copies) ==
             hip_success &&
         hip.hipEventRecord(memory->finished, graph.copies) == hip_success;
}

// Frees it, or keeps it for another use when what is on its way to it has come.
void give_back(Session& session, const InstantiatedGraph& graph, std::unique_ptr<TraceBuffer> memory,
               bool is_kept) {
  PendingDispatch pending;
  pending.hip = &graph.device->hip();
  pending.device = graph.device;
  pending.buffer = std::move(memory);
  pending.is_discarded = true;
  pending.is_kept = is_kept;
  session.recorder().add(std::move(pending));
}

GraphSlot* add_slot(Session& session, InstantiatedGraph& graph, GraphNode* node) {
  Acquired acquired = graph.device->acquire(node->layout);
  node->refusal = acquired.refusal;
  if (!acquired.buffer) return nullptr;
  if (!clear(graph, acquired.buffer.get())) {
    node->refusal = KTRACE_LOSS_COPY_FAILED;
    node->refusal_words = "its trace buffer could not be prepared";
    give_back(session, graph, std::move(acquired.buffer), false);
    return nullptr;
  }
  node->layout = acquired.layout;
  session.graphs().charge(*graph.device, acquired.buffer->capacity);
  graph.slots.push_back(std::make_unique<GraphSlot>());
  graph.slots.back()->memory = std::move(acquired.buffer);
  graph.slots.back()->is_followed = true;
  return graph.slots.back().get();
}

void refuse(GraphNode* node, ktrace_loss_reason reason, const std::string& words) {
  node->refusal = reason;
  node->refusal_words = words;
}

void give_slot(Session& session, InstantiatedGraph& graph, GraphSlot* own, std::uint64_t share,
               GraphNode* node) {
  Config config = session.config();
  config.memory = share;
  const std::uint32_t attempted_words = node->kernel->attempted_words.load();
  node->layout = choose_layout(node->shape, config, attempted_words);
  node->layout.flags = control_flags(config, node->kernel->note);
  node->is_grown =
      attempted_words != 0 && node->layout.region_log2 > choose_layout(node->shape, config, 0).region_log2;
  refuse(node, KTRACE_LOSS_POOL_EXHAUSTED,
         "it is a node of a graph, and `--memory` has no more room for one that is traced");
  if (node->layout.wave_slots == 0) return;
  node->slot = find_slot(graph, own, node->layout.buffer_size());
  if (!node->slot) node->slot = add_slot(session, graph, node);
  if (node->slot) node->slot->is_taken = true;
}

}  // namespace

GraphNode describe_graph_node(const GraphKernel& kernel) {
  GraphNode node;
  node.node = kernel.node;
  node.child = kernel.child;
  node.kernel = kernel.kernel;
  node.is_unseen = kernel.is_unseen;
  node.shape = kernel.shape();
  node.shared_bytes = kernel.params.sharedMemBytes;
  return node;
}

GraphNode make_graph_node(Session& session, InstantiatedGraph& graph, const GraphKernel& kernel,
                          GraphSlot* own, std::uint64_t share) {
  GraphNode node = describe_graph_node(kernel);
  if (!node.kernel || !session.selection().wants_kernel(*node.kernel)) return node;
  if (node.kernel->refusal != 0)
    refuse(&node, static_cast<ktrace_loss_reason>(node.kernel->refusal), node.kernel->refusal_words);
  else if (wave_count(node.shape) > 0 && graph.copies)
    give_slot(session, graph, own, share, &node);
  else
    refuse(&node, KTRACE_LOSS_COPY_FAILED, "HIP made no stream to copy its records on");
  return node;
}

// A graph that is updated may use what it has; a new one leaves something for the next.
std::uint64_t slot_share(Session& session, const InstantiatedGraph& graph, std::size_t kernels) {
  std::uint64_t room = session.graphs().room(*graph.device, session.config().memory);
  for (const auto& slot : graph.slots) room += slot->memory->capacity;
  return room / 2 / std::max<std::size_t>(kernels, 1);
}

void mark_taken_slots(InstantiatedGraph& graph) {
  for (const auto& slot : graph.slots) slot->is_taken = false;
  for (const GraphNode& node : graph.nodes)
    if (node.slot) node.slot->is_taken = true;
}

void release_slots(Session& session, InstantiatedGraph& graph) noexcept {
  session.guarded([&] {
    for (auto& slot : graph.slots) {
      session.graphs().discharge(*graph.device, slot->memory->capacity);
      give_back(session, graph, std::move(slot->memory), slot->is_followed);
    }
    graph.slots.clear();
    graph.nodes.clear();
  });
}

}  // namespace ktrace
