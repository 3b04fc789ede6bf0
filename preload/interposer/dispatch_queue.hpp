// Traced dispatches on their way from the application's threads to the writer.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "code_object.hpp"
#include "device.hpp"

namespace ktrace {

// A traced dispatch between its launch and its chunk.
struct PendingDispatch {
  const HipLibrary* hip = nullptr;
  Device* device = nullptr;
  const Kernel* kernel = nullptr;
  std::unique_ptr<TraceBuffer> buffer;
  Layout layout;
  ktrace_dispatch_record record{};
  bool is_grown = false;             // its regions are larger than the rule's
  bool is_discarded = false;         // not to be recorded: only its buffer, if any, is to be got rid of
  bool is_kept = false;              // discarded, but its buffer is used again when its event has come
  hipError_t failure = hip_success;  // its end cannot be followed: nothing is known of its event
  std::uint64_t flydsl_size = 0;     // bytes, where FlyDSL's kernel writes to it
  bool* is_processed = nullptr;      // for whom waits for it
};

// Any thread adds, one takes: no thread of the application ever waits here.
class DispatchQueue {
 public:
  DispatchQueue() = default;
  DispatchQueue(const DispatchQueue&) = delete;
  DispatchQueue& operator=(const DispatchQueue&) = delete;
  ~DispatchQueue() { take(nullptr); }

  void add(PendingDispatch pending) {
    Node* const node = new Node{std::move(pending), m_newest.load(std::memory_order_relaxed)};
    while (!m_newest.compare_exchange_weak(node->older, node)) {
    }
  }

  // Appends what was added, oldest first; false if that is nothing.
  bool take(std::vector<PendingDispatch>* all) {
    Node* oldest = nullptr;
    for (Node* node = m_newest.exchange(nullptr); node;) {
      Node* const older = node->older;
      node->older = oldest;
      oldest = node;
      node = older;
    }
    const bool has_any = oldest != nullptr;
    while (oldest) {
      const std::unique_ptr<Node> node(oldest);
      oldest = node->older;
      if (all) all->push_back(std::move(node->pending));
    }
    return has_any;
  }

  bool is_empty() const { return m_newest.load() == nullptr; }

 private:
  struct Node {
    PendingDispatch pending;
    Node* older;
  };
  std::atomic<Node*> m_newest{nullptr};
};

}  // namespace ktrace
