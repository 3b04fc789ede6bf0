// One launch of an instantiated graph: each of its kernels is a launch of its own in the recording.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graphs.hpp"
#include "session.hpp"

namespace ktrace {

// Made before HIP is called, finished after. Neither throws.
class GraphReplay {
 public:
  GraphReplay(Session& session, const HipLibrary& hip, hipGraphExec_t exec, hipStream_t stream) noexcept;
  GraphReplay(const GraphReplay&) = delete;
  GraphReplay& operator=(const GraphReplay&) = delete;

  void finish(hipError_t result) noexcept;

 private:
  struct Traced {
    const GraphNode* node;
    PendingDispatch dispatch;
  };

  void begin(hipGraphExec_t exec);
  void prepare(const GraphNode& node, std::uint64_t launch);
  bool calm(const GraphNode& node);
  bool trace(const GraphNode& node, std::uint64_t launch);
  bool upload(const GraphNode& node, const PendingDispatch& dispatch);
  void follow();
  hipError_t collect(const Traced& traced);
  void hand_over(Traced traced, hipError_t error);
  void refuse();
  void lose(const GraphNode& node, ktrace_loss_reason reason, const std::string& words);
  hipError_t checked(hipError_t error);

  Session& m_session;
  const HipLibrary& m_hip;
  const hipStream_t m_stream;
  Graphs::Entry m_graph;  // null: not known, or not launched but captured
  std::optional<InTurn> m_turn;
  std::vector<Traced> m_traced;
  std::vector<GraphSlot*> m_unused;  // slots of kernels that run untraced
  std::uint64_t m_unseen = 0;
  bool m_is_unknown = false;  // nobody saw how this graph was made
  bool m_has_erred = false;   // a call of ours
};

}  // namespace ktrace
