// The graphs that HIP may launch, and the memory that their kernels write to.
//
// A graph's arguments are fixed when it is instantiated, so each annotated kernel node of each instantiated
// graph has memory of its own, its slot. After each replay what is in the slot goes into an ordinary trace
// buffer, as if the kernel had been launched with that.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "device.hpp"
#include "graph_kernels.hpp"
#include "graph_turn.hpp"

namespace ktrace {

// All zero, and so without effect, whenever no replay uses it. `memory->finished` is recorded behind that.
struct GraphSlot {
  std::unique_ptr<TraceBuffer> memory;
  bool is_followed = false;  // `finished` was recorded: the next replay waits for it
  bool is_taken = false;     // a node of the graph has it
};

// A kernel node of an instantiated graph.
struct GraphNode {
  hipGraphNode_t node = nullptr;
  hipGraphNode_t child = nullptr;
  const Kernel* kernel = nullptr;
  bool is_unseen = false;
  bool is_enabled = true;
  Shape shape{};
  std::uint32_t shared_bytes = 0;

  GraphSlot* slot = nullptr;  // null: `refusal` and `refusal_words` say why, if the kernel is annotated
  Layout layout;
  bool is_grown = false;
  ktrace_loss_reason refusal = KTRACE_LOSS_ARGUMENT;
  std::string refusal_words;
};

struct InstantiatedGraph {
  Turn turn;  // of who replays or changes it
  Device* device = nullptr;
  hipStream_t copies = nullptr;  // ours
  std::vector<GraphNode> nodes;
  std::vector<std::unique_ptr<GraphSlot>> slots;  // also those that no node uses any more
};

class Graphs {
 public:
  Graphs() = default;
  Graphs(const Graphs&) = delete;
  Graphs& operator=(const Graphs&) = delete;

  using Entry = std::shared_ptr<InstantiatedGraph>;
  // Null: not known.
  Entry find(const HipLibrary& hip, hipGraphExec_t exec) const;
  void insert(const HipLibrary& hip, hipGraphExec_t exec, Entry graph);
  Entry take(const HipLibrary& hip, hipGraphExec_t exec);

  // The device that a graph was made on, which its kernels are loaded on.
  void note_device(const HipLibrary& hip, hipGraph_t graph, int device);
  int device_of(const HipLibrary& hip, hipGraph_t graph) const;  // -1: not known
  void forget_graph(const HipLibrary& hip, hipGraph_t graph);

  // A stream of ours on which slots are copied and cleared. Null if HIP makes none.
  hipStream_t copies(const Device& device);

  // Bytes of a device's slots that may still be taken, and the account of what is.
  std::uint64_t room(const Device& device, std::uint64_t memory) const;
  void charge(const Device& device, std::uint64_t size);
  void discharge(const Device& device, std::uint64_t size);

  // After hipDeviceReset, without touching HIP.
  void forget_device(const Device& device);

  // Of threads that put slots into a graph of the application, where another must not see them.
  Turn& dressing() { return m_dressing; }

 private:
  template <class Handle>
  using Key = std::pair<const HipLibrary*, Handle>;

  mutable std::mutex m_mutex;
  std::map<Key<hipGraphExec_t>, Entry> m_entries;
  std::map<Key<hipGraph_t>, int> m_device_by_graph;
  std::map<const Device*, hipStream_t> m_stream_by_device;
  std::map<const Device*, std::uint64_t> m_bytes_by_device;
  Turn m_dressing;
};

}  // namespace ktrace
