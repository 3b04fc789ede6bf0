// The one object of a traced process: what hooks tell it, and what they ask it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "config.hpp"
#include "device.hpp"
#include "losses.hpp"
#include "recorder.hpp"
#include "registry.hpp"
#include "status.hpp"
#include "streams.hpp"

namespace ktrace {

class Session {
 public:
  // Begins with the first call of any hook. Null if nobody asked for tracing, or if what they asked for could
  // not be understood, which is said once.
  static Session* of_this_process(const HipLibrary& hip) noexcept;

  explicit Session(Config config);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Config& config() const { return m_config; }
  Status& status() { return m_status; }
  LossBook& losses() { return m_losses; }
  Registry& registry() { return m_registry; }
  Recorder& recorder() { return *m_recorder; }
  StreamNumbers& streams() { return m_streams; }

  // Runs bookkeeping that must not reach the application, whatever happens.
  template <class Body>
  void guarded(Body&& body) noexcept {
    try {
      body();
    } catch (const std::exception& error) {
      note_own_failure(error.what());
    } catch (...) {
      note_own_failure("an exception without a name");
    }
  }

  Device& device(const HipLibrary& hip, int index);
  std::uint64_t next_dispatch() { return ++m_dispatches; }
  void on_capture_begun() { m_has_captured = true; }
  bool has_captured() const { return m_has_captured; }
  void on_device_reset(const HipLibrary& hip);  // of the calling thread's device
  void close();

 private:
  bool open_status();
  void note_own_failure(const char* what) noexcept;
  void lock_for_fork();
  void unlock_in_parent();
  void restart_in_child();
  static void register_process_hooks();

  using DeviceKey = std::pair<const HipLibrary*, int>;

  const Config m_config;
  Status m_status;
  LossBook m_losses;
  Registry m_registry;
  std::unique_ptr<Recorder> m_recorder;
  StreamNumbers m_streams;
  std::mutex m_device_mutex;
  std::map<DeviceKey, std::unique_ptr<Device>> m_devices;
  std::atomic<std::uint64_t> m_dispatches{0};
  std::atomic<bool> m_has_captured{false};
  std::atomic<bool> m_is_new_in_child{false};
};

}  // namespace ktrace
