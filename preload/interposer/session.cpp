#include "session.hpp"

#include <pthread.h>

#include <cstdio>
#include <cstdlib>

#include "exit_hook.hpp"
#include "flydsl_recording.hpp"
#include "program.hpp"
#include "untraced_children.hpp"

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

// All calls do but __hipRegisterFatBinary and its kind, which programs make before main.
bool begins_hip(const char* call) { return call[0] != '_' || call[1] != '_'; }

// A program may remove what `ktrace run` put into its environment before it calls HIP.
ConfigResult explain_missing_session() {
  if (!was_started_traced()) return {};
  return {std::nullopt, session_dir_at_start(),
          std::string(environment_session_dir) +
              " was removed from the environment before the first call of HIP: the program runs untraced"};
}

}  // namespace

Session* Session::existing() noexcept { return the_session; }

Session* Session::of_this_process(const HipLibrary& hip, const char* call) noexcept {
  try {
    if (!is_decided) {
      const std::lock_guard lock(start_mutex());
      if (!is_decided) {
        ConfigResult result = read_config();
        if (result.session_dir.empty()) result = explain_missing_session();
        if (!result.trouble.empty()) refuse(result);
        if (result.config) {
          auto session = std::make_unique<Session>(std::move(*result.config));
          if (session->open_status()) {
            session->m_selection.begin(hip);
            the_session = session.release();
            register_process_hooks();
          }
        }
        is_decided = true;
      }
    }
    Session* session = the_session;
    if (session && session->m_is_new_in_child) session->begin_in_child(hip);
    if (session && hip.is_software()) session->m_status.set_flag(KTRACE_STATUS_SOFTWARE_DEVICE);
    if (session && begins_hip(call) && !session->m_has_hip_begun) session->m_has_hip_begun = true;
    if (session) session->count_unseen_libraries();
    return session;
  } catch (...) {
    return nullptr;
  }
}

Session::Session(Config config)
    : m_config(std::move(config)),
      m_losses(&m_status),
      m_registry(&m_status, &m_losses),
      m_selection(m_config, &m_status),
      m_recorder(std::make_unique<Recorder>(m_config, &m_status, &m_losses)) {
  make_hang_watch();
}

void Session::make_hang_watch() {
  if (m_config.hang_ms == 0) return;
  m_hang = std::make_unique<HangWatch>(m_config, &m_status,
                                       [this](const PendingDispatch& dispatch, CopiedDispatch copied) {
                                         return m_recorder->record_unfinished(dispatch, std::move(copied));
                                       });
  m_recorder->set_hang_watch(m_hang.get());
}

bool Session::open_status() {
  std::string trouble;
  if (m_status.open(m_config.session_dir, program_path(), &trouble)) return true;
  say_on_stderr(trouble + ": the program runs untraced");
  return false;
}

void Session::count_unseen_libraries() {
  UnseenLibraries& unseen = unseen_libraries();
  if (const std::uint64_t count = unseen.unbound.take())
    m_status.count(&ktrace_status::unbound_libraries, count);
  if (const std::uint64_t count = unseen.unhooked.take())
    m_status.count(&ktrace_status::unhooked_copies, count);
}

// Other threads of the child wait: what they count belongs in the file.
void Session::begin_in_child(const HipLibrary& hip) {
  const std::lock_guard lock(start_mutex());
  if (!m_is_new_in_child) return;
  open_status();
  m_selection.begin(hip);
  m_is_new_in_child = false;
}

// HIP was initialised before its first call came here, so this runs before its own end at exit.
void Session::register_process_hooks() {
  std::atexit([] { the_session.load()->close(); });
  std::at_quick_exit([] { the_session.load()->close(); });
  pthread_atfork([] { the_session.load()->lock_for_fork(); }, [] { the_session.load()->unlock_in_parent(); },
                 [] { the_session.load()->restart_in_child(); });
}

void Session::note_own_failure(const char* what) noexcept {
  try {
    m_status.say_trouble(std::string("inside ktrace: ") + what);
  } catch (...) {
  }
}

std::atomic<Device*>* Session::fast_device(const HipLibrary& hip, int index) {
  return index >= 0 && index < most_fast_devices ? &m_fast_devices[hip.index][index] : nullptr;
}

Device* Session::find_device(const HipLibrary& hip, int index) {
  const std::lock_guard lock(m_device_mutex);
  const auto known = m_devices.find({&hip, index});
  return known == m_devices.end() ? nullptr : known->second.get();
}

Device& Session::device(const HipLibrary& hip, int index) {
  std::atomic<Device*>* const fast = fast_device(hip, index);
  if (Device* known = fast ? fast->load(std::memory_order_acquire) : find_device(hip, index)) return *known;
  const BufferMemory memory = m_config.hang_ms > 0 ? BufferMemory::host : BufferMemory::device;
  auto made =
      std::make_unique<Device>(hip, index, m_config.memory, memory);  // calls HIP: no lock may be held
  const std::lock_guard lock(m_device_mutex);
  Device& device = *m_devices.emplace(DeviceKey{&hip, index}, std::move(made)).first->second;
  if (fast) *fast = &device;
  return device;
}

Session::Reset::Reset(Session& session, const HipLibrary& hip, std::optional<int> device) noexcept
    : m_session(session), m_hip(hip), m_index(device) {
  m_session.guarded([&] {
    if (m_session.is_left_by_parent(hip)) return;
    int index = 0;
    if (!device && hip.hipGetDevice(&index) == hip_success) m_index = index;
    if (!m_index) return;
    m_device = m_session.find_device(hip, *m_index);
    if (m_device) m_hold = m_session.m_recorder->hold_for_reset(*m_device);
    if (m_device && m_session.m_hang) m_session.m_hang->leave_memory_of(*m_device);
  });
}

void Session::Reset::finish(hipError_t result) noexcept {
  m_session.guarded([&] {
    if (result != hip_success || !m_index) return;
    m_session.m_captures.end_on_device(m_hip, *m_index);
    if (!m_device) return;
    m_session.m_streams.forget_all();
    m_session.m_graphs->forget_device(*m_device);
    m_device->forget_buffers();
  });
}

std::uint64_t Session::next_dispatch() {
  const std::uint64_t number = ++m_dispatches;
  if (number == 1) close_before_exit([] { the_session.load()->close(); });
  return number;
}

void Session::close() {
  if (m_is_new_in_child) return;  // it never called HIP itself
  guarded([this] { m_registry.read_unread(); });
  guarded([this] { record_at_end(*this); });
  guarded([this] { m_recorder->close(); });
  guarded([this] {
    if (m_hang) m_hang->stop();
  });
}

void Session::lock_for_fork() {
  start_mutex().lock();
  lock_hip_libraries_for_fork();
  m_registry.lock_for_fork();
  m_device_mutex.lock();
  m_streams.lock_for_fork();
  m_captures.lock_for_fork();
  m_flydsl.lock_for_fork();
  m_losses.lock_for_fork();
  m_selection.lock_for_fork();
  m_status.lock_for_fork();
}

void Session::unlock_in_parent() {
  m_status.unlock_after_fork();
  m_selection.unlock_after_fork();
  m_losses.unlock_after_fork();
  m_flydsl.unlock_after_fork();
  m_captures.unlock_after_fork();
  m_streams.unlock_after_fork();
  m_device_mutex.unlock();
  m_registry.unlock_in_parent();
  unlock_hip_libraries_in_parent();
  start_mutex().unlock();
}

// Modules and functions are the parent's, as far as its HIP still answers. Buffers, the writer and the file
// are not: their objects are left behind as they are, because a thread that is gone may have been in the
// middle of changing them.
void Session::restart_in_child() {
  m_losses.clear_in_child();
  m_selection.restart_in_child();
  m_selection.unlock_after_fork();
  m_recorder->abandon_file();
  m_recorder.release();
  m_graphs.release();
  m_graphs = std::make_unique<Graphs>();
  for (auto& [key, device] : m_devices) device.release();
  m_devices.clear();
  for (auto& devices : m_fast_devices)
    for (std::atomic<Device*>& device : devices) device = nullptr;
  m_status.restart_in_child();
  m_status.unlock_after_fork();
  m_dispatches = 0;
  forget_closer();
  if (m_has_hip_begun) m_is_hip_of_parent = true;
  m_recorder = std::make_unique<Recorder>(m_config, &m_status, &m_losses);
  m_hang.release();
  make_hang_watch();
  m_is_new_in_child = true;
  m_losses.unlock_after_fork();
  m_flydsl.restart_in_child();
  m_flydsl.unlock_after_fork();
  m_captures.unlock_after_fork();
  m_streams.unlock_after_fork();
  m_device_mutex.unlock();
  m_registry.renew_lock_in_child();
  renew_hip_libraries_lock_in_child();
  start_mutex().unlock();
}

}  // namespace ktrace
