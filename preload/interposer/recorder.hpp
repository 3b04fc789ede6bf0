// The writer: follows traced dispatches to their end and appends what they left to the recording.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "code_object.hpp"
#include "config.hpp"
#include "copy_back.hpp"
#include "device.hpp"
#include "losses.hpp"
#include "recording_file.hpp"
#include "status.hpp"

namespace ktrace {

// A traced dispatch between its launch and its chunk.
struct PendingDispatch {
  const HipLibrary* hip = nullptr;
  Device* device = nullptr;
  const Kernel* kernel = nullptr;
  std::unique_ptr<TraceBuffer> buffer;
  Layout layout;
  ktrace_dispatch_record record{};
  bool is_grown = false;      // its regions are larger than the rule's
  bool is_discarded = false;  // not to be recorded: only its buffer is to be got rid of
};

class Recorder {
 public:
  Recorder(const Config& config, Status* status, LossBook* losses);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Takes the dispatch over. On the software device, returns when it is in the file.
  void add(PendingDispatch pending);
  // After the recording could not be written, tracing more would be for nothing.
  bool has_failed() const { return m_failed.load(std::memory_order_relaxed); }
  // Waits for outstanding dispatches, for a limited time, and writes the last chunks.
  void close();

  // In a child of fork, where there is no writer and the file is the parent's. This object is not used any
  // more then.
  void abandon_file() { m_file.abandon(); }

 private:
  void run(const HipLibrary& hip);
  bool wait_for_work(std::deque<PendingDispatch>* batch);
  bool process_finished(std::deque<PendingDispatch>* batch);
  void process(PendingDispatch pending, hipError_t outcome);
  bool record(const PendingDispatch& pending, CopiedDispatch copied);
  void lose_outstanding(const std::deque<PendingDispatch>& batch);
  bool is_past_deadline() const;
  void finish();

  std::uint64_t completion_time(const PendingDispatch& pending);

  bool begin_file(const PendingDispatch& first);
  bool append(ktrace_chunk_type type, Payload payload);
  bool write_process(const PendingDispatch& first);
  bool write_device(const Device& device);
  bool write_code_object(const CodeObject& object);
  bool write_kernel(const Kernel& kernel);
  bool write_losses();
  bool write_last_samples();
  bool write_end();

  const Config& m_config;
  Status* m_status;
  LossBook* m_losses;

  std::mutex m_mutex;  // of the queue; never held across a call of HIP
  std::condition_variable m_changed;
  std::deque<PendingDispatch> m_queue;
  bool m_is_running = false;
  std::uint64_t m_added = 0;
  std::uint64_t m_processed = 0;

  std::atomic<bool> m_failed{false};
  std::atomic<bool> m_is_closing{false};
  std::atomic<bool> m_is_finished{false};
  std::atomic<std::uint64_t> m_deadline_ns{0};  // CLOCK_MONOTONIC
  std::vector<const Device*> m_devices;         // that dispatches were added for, in order
  std::uint64_t m_end_host_ns = 0;
  std::vector<ktrace_clock_record> m_last_samples;  // set before m_is_closing is

  // Of the writer's thread.
  RecordingFile m_file;
  std::map<const Device*, std::unique_ptr<CopyBack>> m_copy_back_by_device;
  std::vector<const Device*> m_written_devices;  // in the order of their chunks
  std::map<const CodeObject*, std::uint32_t> m_number_by_code_object;
  std::map<const Kernel*, std::uint32_t> m_number_by_kernel;
};

}  // namespace ktrace
