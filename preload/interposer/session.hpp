// The one object of a traced process: what hooks tell it, and what they ask it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "captures.hpp"
#include "config.hpp"
#include "device.hpp"
#include "flydsl.hpp"
#include "graphs.hpp"
#include "hang.hpp"
#include "losses.hpp"
#include "recorder.hpp"
#include "registry.hpp"
#include "selection.hpp"
#include "status.hpp"
#include "streams.hpp"

namespace ktrace {

class Session {
 public:
  // Begins with the first call of any hook. Null if nobody asked for tracing, or if what they asked for could
  // not be understood, which is said once.
  // `call`: the function of HIP that was called.
  static Session* of_this_process(const HipLibrary& hip, const char* call) noexcept;
  // Null before the first call of HIP, too.
  static Session* existing() noexcept;

  explicit Session(Config config);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Config& config() const { return m_config; }
  Status& status() { return m_status; }
  LossBook& losses() { return m_losses; }
  Registry& registry() { return m_registry; }
  Recorder& recorder() { return *m_recorder; }
  HipStreams& streams() { return m_streams; }
  Selection& selection() { return m_selection; }
  Graphs& graphs() { return *m_graphs; }
  HangWatch* hang() { return m_hang.get(); }  // null without --hang

  // Runs bookkeeping that must not reach the application, whatever happens. False if it was not completed.
  // Never part of its caller, which may have to be free of any catch.
  template <class Body>
  __attribute__((noinline)) bool guarded(Body&& body) noexcept {
    try {
      body();
      return true;
    } catch (const std::exception& error) {
      note_own_failure(error.what());
    } catch (...) {
      note_own_failure("an exception without a name");
    }
    return false;
  }

  Device& device(const HipLibrary& hip, int index);
  std::uint64_t next_dispatch();  // its number, from 1
  // HIP on hardware does not survive a fork: nothing of ours may call it in the child.
  bool is_left_by_parent(const HipLibrary& hip) const { return m_is_hip_of_parent && !hip.is_software(); }
  // See LastError.
  std::atomic<bool>& is_last_error_watched() { return m_is_last_error_watched; }
  Captures& captures() { return m_captures; }
  FlydslBuffers& flydsl() { return m_flydsl; }
  // Around a call that destroys what is on a device; of the calling thread without an index.
  class Reset {
   public:
    Reset(Session& session, const HipLibrary& hip, std::optional<int> device) noexcept;
    Reset(const Reset&) = delete;
    Reset& operator=(const Reset&) = delete;
    void finish(hipError_t result) noexcept;

   private:
    Session& m_session;
    const HipLibrary& m_hip;
    std::optional<int> m_index;
    Device* m_device = nullptr;  // null: nothing of ours is on it
    std::unique_lock<std::mutex> m_hold;
  };
  void count_unseen_libraries();
  void close();

 private:
  bool open_status();
  void make_hang_watch();
  void begin_in_child(const HipLibrary& hip);
  void note_own_failure(const char* what) noexcept;
  void lock_for_fork();
  void unlock_in_parent();
  void restart_in_child();
  static void register_process_hooks();

  using DeviceKey = std::pair<const HipLibrary*, int>;
  static constexpr int most_fast_devices = 64;

  std::atomic<Device*>* fast_device(const HipLibrary& hip, int index);
  Device* find_device(const HipLibrary& hip, int index);

  const Config m_config;
  Status m_status;
  LossBook m_losses;
  Registry m_registry;
  Selection m_selection;
  std::unique_ptr<Recorder> m_recorder;
  std::unique_ptr<HangWatch> m_hang;
  std::unique_ptr<Graphs> m_graphs = std::make_unique<Graphs>();
  HipStreams m_streams;
  Captures m_captures;
  FlydslBuffers m_flydsl;
  std::mutex m_device_mutex;
  std::map<DeviceKey, std::unique_ptr<Device>> m_devices;
  // The same, for launches, which take no lock. Devices past them are looked up in the map.
  std::atomic<Device*> m_fast_devices[most_hip_libraries][most_fast_devices] = {};
  std::atomic<std::uint64_t> m_dispatches{0};
  std::atomic<bool> m_is_last_error_watched{false};
  std::atomic<bool> m_is_new_in_child{false};
  std::atomic<bool> m_has_hip_begun{false};
  std::atomic<bool> m_is_hip_of_parent{false};
};

}  // namespace ktrace
