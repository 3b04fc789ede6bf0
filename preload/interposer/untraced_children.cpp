#include "untraced_children.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "config.hpp"

namespace ktrace {
namespace {

constexpr char own_name[] = "libktrace_preload.so";
constexpr int most_names = 1000;

// Set when the library is loaded: `env -i` empties the environment before it starts its program.
char session_dir[PATH_MAX];
std::atomic<ktrace_status*> status_of_this_process{nullptr};

__attribute__((constructor)) void remember_session() {
  const char* value = std::getenv(environment_session_dir);
  if (value && std::strlen(value) < sizeof session_dir) std::strcpy(session_dir, value);
}

// The value if `variable` is `name`=value, else null.
const char* value_of(const char* variable, const char* name) {
  const std::size_t length = std::strlen(name);
  return std::strncmp(variable, name, length) == 0 && variable[length] == '=' ? variable + length + 1
                                                                              : nullptr;
}

// LD_PRELOAD is separated by spaces or colons, and knows no quoting.
bool lists_own_name(const char* preloads) {
  for (const char* at = preloads; *at;) {
    const std::size_t length = std::strcspn(at, " :");
    const char* end = at + length;
    const char* name = end;
    while (name > at && name[-1] != '/') --name;
    if (static_cast<std::size_t>(end - name) == sizeof own_name - 1 &&
        std::memcmp(name, own_name, sizeof own_name - 1) == 0)
      return true;
    at = *end ? end + 1 : end;
  }
  return false;
}

bool is_traced(char* const* environment) {
  bool is_preloaded = false, has_session = false;
  for (; environment && *environment; ++environment) {
    if (const char* preloads = value_of(*environment, "LD_PRELOAD"))
      is_preloaded = is_preloaded || lists_own_name(preloads);
    if (const char* dir = value_of(*environment, environment_session_dir))
      has_session = has_session || *dir != '\0';
  }
  return is_preloaded && has_session;
}

// The name of a status file, as Status gives it.
class FileName {
 public:
  FileName(long process, int attempt) {
    add_number(process);
    if (attempt > 1) {
      add(".");
      add_number(attempt);
    }
    add(".status");
  }
  const char* c_str() const { return m_text; }

 private:
  void add(const char* text) {
    const std::size_t length = std::strlen(text);
    std::memcpy(m_text + m_length, text, length);
    m_length += length;
  }
  void add_number(long number) {
    char digits[24] = "";
    char* at = digits + sizeof digits - 1;
    do *--at = static_cast<char>('0' + number % 10);
    while ((number /= 10) > 0);
    add(at);
  }

  char m_text[64] = "";
  std::size_t m_length = 0;
};

// Through syscall(), because open and write are cancellation points. The folder has a descriptor of its own
// for a moment: there is no room for a whole path where this runs.
int create_status_file(long pid) {
  const long folder = syscall(SYS_openat, AT_FDCWD, session_dir, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
  if (folder < 0) return -1;
  long file = -1;
  for (int attempt = 1; attempt <= most_names; ++attempt) {
    const FileName name(pid, attempt);
    file = syscall(SYS_openat, folder, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file >= 0 || errno != EEXIST) break;
  }
  syscall(SYS_close, folder);
  return static_cast<int>(file);
}

// A process that never called HIP has no status file: it gets one for this count alone. Filled in where it
// is mapped: a handler of a crash may have a stack of 8 KiB in all.
ktrace_status* open_bystander_status() {
  static const ktrace_status empty{};
  const long pid = syscall(SYS_getpid);
  const int file = create_status_file(pid);
  if (file < 0) return nullptr;
  void* mapped = MAP_FAILED;
  // Written, not only made longer: on a full disk the mapping would kill the program.
  if (syscall(SYS_write, file, &empty, sizeof empty) == static_cast<long>(sizeof empty))
    mapped = mmap(nullptr, sizeof empty, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  syscall(SYS_close, file);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const status = static_cast<ktrace_status*>(mapped);
  status->pid = static_cast<ktrace_u32>(pid);
  status->flags = KTRACE_STATUS_BYSTANDER;
  syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", status->program, sizeof status->program - 1);
  status->size = sizeof *status;
  status->magic = KTRACE_STATUS_MAGIC;
  return status;
}

ktrace_status* status_to_count_in() {
  ktrace_status* status = status_of_this_process.load(std::memory_order_acquire);
  if (status) return status;
  const int error = errno;
  status = open_bystander_status();
  errno = error;
  ktrace_status* other = nullptr;
  if (status && !status_of_this_process.compare_exchange_strong(other, status)) status = other;
  return status;
}

}  // namespace

void count_untraced_children_in(ktrace_status* mapped) {
  status_of_this_process.store(mapped, std::memory_order_release);
}

bool was_started_traced() { return session_dir[0] != '\0'; }
const char* session_dir_at_start() { return session_dir; }

UntracedStart::UntracedStart(char* const* environment) noexcept
    : m_status(was_started_traced() && !is_traced(environment) ? status_to_count_in() : nullptr) {
  if (m_status) __atomic_fetch_add(&m_status->untraced_children, 1, __ATOMIC_RELAXED);
}

void UntracedStart::take_back() noexcept {
  if (m_status) __atomic_fetch_sub(&m_status->untraced_children, 1, __ATOMIC_RELAXED);
}

}  // namespace ktrace
