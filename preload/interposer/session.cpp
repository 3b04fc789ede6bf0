#include "session.hpp"

#include <pthread.h>

#include <cstdio>
#include <cstdlib>

#include "program.hpp"

namespace ktrace {
namespace {

// Never destroyed: hooks run until the last instruction of the process.
std::atomic<Session*> the_session{nullptr};
std::atomic<bool> is_decided{false};

std::mutex& start_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

void say_on_stderr(const std::string& line) { std::fprintf(stderr, "ktrace: %s\n", line.c_str()); }

// Said in the status file, too: without one, `ktrace run` would take the process for one that never called
// HIP.
void refuse(const ConfigResult& result) {
  say_on_stderr(result.trouble);
  Status status;
  std::string trouble;
  if (!status.open(result.session_dir, program_path(), &trouble)) return say_on_stderr(trouble);
  status.say_trouble(result.trouble);
  status.set_flag(KTRACE_STATUS_REFUSED);
}

}  // namespace

Session* Session::of_this_process(const HipLibrary& hip) noexcept {
  try {
    if (!is_decided) {
      const std::lock_guard lock(start_mutex());
      if (!is_decided) {
        ConfigResult result = read_config();
        if (!result.trouble.empty()) refuse(result);
        if (result.config) {
          auto session = std::make_unique<Session>(std::move(*result.config));
          if (session->open_status()) {
            the_session = session.release();
            register_process_hooks();
          }
        }
        is_decided = true;
      }
    }
    Session* session = the_session;
    if (session && session->m_is_new_in_child.exchange(false)) session->open_status();
    if (session && hip.is_software()) session->m_status.set_flag(KTRACE_STATUS_SOFTWARE_DEVICE);
    return session;
  } catch (...) {
    return nullptr;
  }
}

Session::Session(Config config)
    : m_config(std::move(config)),
      m_losses(&m_status),
      m_registry(&m_status, &m_losses),
      m_recorder(std::make_unique<Recorder>(m_config, &m_status, &m_losses)) {}

bool Session::open_status() {
  std::string trouble;
  if (m_status.open(m_config.session_dir, program_path(), &trouble)) return true;
  say_on_stderr(trouble + ": the program runs untraced");
  return false;
}

// HIP was initialised before its first call came here, so this runs before its own end at exit.
void Session::register_process_hooks() {
  std::atexit([] { the_session.load()->close(); });
  pthread_atfork([] { the_session.load()->lock_for_fork(); }, [] { the_session.load()->unlock_in_parent(); },
                 [] { the_session.load()->restart_in_child(); });
}

void Session::note_own_failure(const char* what) noexcept {
  try {
    m_status.say_trouble(std::string("inside ktrace: ") + what);
  } catch (...) {
  }
}

Device& Session::device(const HipLibrary& hip, int index) {
  const DeviceKey key{&hip, index};
  {
    const std::lock_guard lock(m_device_mutex);
    const auto known = m_devices.find(key);
    if (known != m_devices.end()) return *known->second;
  }
  auto made = std::make_unique<Device>(hip, index, m_config.memory);  // calls HIP: no lock may be held
  const std::lock_guard lock(m_device_mutex);
  return *m_devices.emplace(key, std::move(made)).first->second;
}

void Session::on_device_reset(const HipLibrary& hip) {
  int index = 0;
  hip.hipGetDevice(&index);
  const std::lock_guard lock(m_device_mutex);
  const auto known = m_devices.find({&hip, index});
  if (known != m_devices.end()) known->second->forget_buffers();
}

void Session::close() {
  guarded([this] { m_registry.read_unread(); });
  guarded([this] { m_recorder->close(); });
}

void Session::lock_for_fork() {
  lock_hip_libraries_for_fork();
  m_registry.lock_for_fork();
  m_device_mutex.lock();
  m_streams.lock_for_fork();
  m_losses.lock_for_fork();
}

void Session::unlock_in_parent() {
  m_losses.unlock_after_fork();
  m_streams.unlock_after_fork();
  m_device_mutex.unlock();
  m_registry.unlock_in_parent();
  unlock_hip_libraries_in_parent();
}

// Modules and functions are the parent's, as far as its HIP still answers. Buffers, the writer and the file
// are not: their objects are left behind as they are, because a thread that is gone may have been in the
// middle of changing them.
void Session::restart_in_child() {
  m_losses.clear_in_child();
  m_recorder->abandon_file();
  m_recorder.release();
  for (auto& [key, device] : m_devices) device.release();
  m_devices.clear();
  m_status.restart_in_child();
  m_dispatches = 0;
  m_recorder = std::make_unique<Recorder>(m_config, &m_status, &m_losses);
  m_is_new_in_child = true;
  m_losses.unlock_after_fork();
  m_streams.unlock_after_fork();
  m_device_mutex.unlock();
  m_registry.renew_lock_in_child();
  renew_hip_libraries_lock_in_child();
}

}  // namespace ktrace
