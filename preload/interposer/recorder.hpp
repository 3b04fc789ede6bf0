// The writer: follows traced dispatches to their end and appends what they left to the recording.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "code_object.hpp"
#include "config.hpp"
#include "copy_back.hpp"
#include "device.hpp"
#include "dispatch_queue.hpp"
#include "flydsl.hpp"
#include "hang.hpp"
#include "losses.hpp"
#include "recording_file.hpp"
#include "status.hpp"

namespace ktrace {

class Recorder {
 public:
  Recorder(const Config& config, Status* status, LossBook* losses);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Takes the dispatch over. Wakes the writer only where it sleeps for good. On the software device, returns
  // when it is in the file.
  void add(PendingDispatch pending);
  // Has the writer free what Device::has_surplus speaks of.
  void sweep(Device& device);
  // Appends what a dispatch has left so far; on any thread.
  bool record_unfinished(const PendingDispatch& dispatch, CopiedDispatch copied);
  // Appends a buffer of FlyDSL's and its launches; on any thread.
  bool record_flydsl(const FlydslCopy& copy);
  // Takes clock samples of it at the end, though no dispatch was added for it.
  void note_device(Device& device);
  void set_hang_watch(HangWatch* hang) { m_hang = hang; }
  // After the recording could not be written, tracing more would be for nothing.
  bool has_failed() const { return m_failed.load(std::memory_order_relaxed); }
  // Waits for outstanding dispatches as long as they go on ending, within limits, and writes the last chunks.
  void close();

  // Before a call that destroys everything on `device`: waits, for a limited time, until what is outstanding
  // on it is copied back. Keeps the writer away from HIP as long as the result lives.
  std::unique_lock<std::mutex> hold_for_reset(const Device& device);

  // In a child of fork, where there is no writer and the file is the parent's. This object is not used any
  // more then.
  void abandon_file() { m_file.abandon(); }

 private:
  void run(const HipLibrary& hip);
  void follow(const HipLibrary& hip);
  void give_up(const char* why) noexcept;
  bool wait_for_work(const HipLibrary& hip);
  void sleep_until_woken();
  void make_way_for_reset();
  bool process_finished();
  bool process_if_finished(PendingDispatch& pending);
  void process(PendingDispatch& pending, hipError_t outcome);
  void note_processed(const PendingDispatch& pending);
  void lose_failed(const PendingDispatch& pending, hipError_t outcome);
  void start_writer(const HipLibrary& hip);
  void lose_late();
  void lose_late(const PendingDispatch& pending);
  bool record(const PendingDispatch& pending, CopiedDispatch copied);
  bool append_dispatch(const PendingDispatch& pending, CopiedDispatch copied);
  bool append_flydsl(const FlydslCopy& copy);
  bool append_flydsl_launch(const FlydslLaunch& launch);
  bool write_flydsl_names();
  void process_flydsl(PendingDispatch& pending);
  void lose_outstanding();
  bool is_past_deadline() const;
  void put_off_deadline();
  void finish();
  void end_file();

  std::uint64_t completion_time(const PendingDispatch& pending);

  bool begin_file(const PendingDispatch& first);
  bool append(ktrace_chunk_type type, Payload payload);
  bool write_process(const PendingDispatch& first);
  bool write_device(const Device& device);
  bool write_code_object(const CodeObject& object);
  bool write_kernel(const Kernel& kernel);
  bool write_losses();
  bool has_writer_begun() const;
  bool write_due_sample(const Device& device, const std::vector<ktrace_wave_header>& headers);
  bool write_sample(const Device& device);
  bool write_last_samples();
  bool write_end();

  const Config& m_config;
  Status* m_status;
  LossBook* m_losses;
  HangWatch* m_hang = nullptr;  // null without --hang

  DispatchQueue m_queue;
  std::atomic<bool> m_is_running{false};
  std::atomic<bool> m_has_begun{false};  // the writer, after its own first call of HIP
  std::atomic<bool> m_is_asleep{false};  // the writer: until somebody wakes it

  std::mutex m_mutex;  // of what wakes somebody; never held across a call of HIP
  std::condition_variable m_changed;
  std::mutex m_in_hip;           // held by the writer while it calls HIP, and during a reset
  std::atomic<int> m_resets{0};  // that wait for it

  std::atomic<bool> m_failed{false};
  std::atomic<bool> m_is_closing{false};
  std::atomic<bool> m_is_finished{false};
  std::atomic<std::uint64_t> m_outstanding{0};     // dispatches that are neither recorded nor counted as lost
  std::atomic<std::uint64_t> m_last_moment_ns{0};  // CLOCK_MONOTONIC; the deadline never goes past it
  std::atomic<std::uint64_t> m_deadline_ns{0};     // CLOCK_MONOTONIC
  std::vector<const Device*> m_devices;            // that dispatches were added for, in order
  std::uint64_t m_end_host_ns = 0;
  std::vector<ktrace_clock_record> m_last_samples;  // set before m_is_closing is

  // Of the writer's thread.
  std::vector<PendingDispatch> m_batch;  // taken from the queue, and not finished
  std::mutex m_file_mutex;               // of all below
  bool m_is_file_ended = false;
  RecordingFile m_file;
  std::map<const Device*, std::unique_ptr<CopyBack>> m_copy_back_by_device;
  struct ClockPace {
    std::uint64_t next_ns = 0;  // CLOCK_MONOTONIC, when a sample is due
    std::uint64_t newest_tick = 0;
  };
  std::map<const Device*, ClockPace> m_clock_pace;
  std::vector<const Device*> m_written_devices;  // in the order of their chunks
  std::map<const CodeObject*, std::uint32_t> m_number_by_code_object;
  std::map<const Kernel*, std::uint32_t> m_number_by_kernel;
  std::uint64_t m_flydsl_copies = 0;
  std::string m_flydsl_names;  // as last written
};

}  // namespace ktrace
