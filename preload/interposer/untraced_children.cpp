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

// A path as it grows, cut at its end.
class PathText {
 public:
  void add(const char* text) {
    const std::size_t room = sizeof m_text - 1 - m_length;
    const std::size_t length = std::strlen(text) < room ? std::strlen(text) : room;
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
  const char* c_str() const { return m_text; }

 private:
  char m_text[PATH_MAX + 64] = "";
  std::size_t m_length = 0;
};

// As Status names it. Through syscall(), because open and write are cancellation points.
int create_status_file(long pid) {
  long file = -1;
  for (int attempt = 1; attempt <= most_names; ++attempt) {
    PathText path;
    path.add(session_dir);
    path.add("/");
    path.add_number(pid);
    if (attempt > 1) {
      path.add(".");
      path.add_number(attempt);
    }
    path.add(".status");
    file = syscall(SYS_openat, AT_FDCWD, path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file >= 0 || errno != EEXIST) break;
  }
  return static_cast<int>(file);
}

// A process that never called HIP has no status file: it gets one for this count alone.
ktrace_status* open_bystander_status() {
  const long pid = syscall(SYS_getpid);
  const int file = create_status_file(pid);
  if (file < 0) return nullptr;
  ktrace_status status;
  std::memset(&status, 0, sizeof status);
  status.magic = KTRACE_STATUS_MAGIC;
  status.size = sizeof status;
  status.pid = static_cast<ktrace_u32>(pid);
  status.flags = KTRACE_STATUS_BYSTANDER;
  syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", status.program, sizeof status.program - 1);
  void* mapped = MAP_FAILED;
  // Written, not only made longer: on a full disk the mapping would kill the program.
  if (syscall(SYS_write, file, &status, sizeof status) == static_cast<long>(sizeof status))
    mapped = mmap(nullptr, sizeof status, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  syscall(SYS_close, file);
  return mapped == MAP_FAILED ? nullptr : static_cast<ktrace_status*>(mapped);
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
