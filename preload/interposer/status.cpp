#include "status.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "file_descriptor.hpp"
#include "untraced_children.hpp"

namespace ktrace {
namespace {

void add(ktrace_u64* counter, std::uint64_t count) { __atomic_fetch_add(counter, count, __ATOMIC_RELAXED); }

template <std::size_t Size>
void copy_text(char (&target)[Size], const std::string& text) {
  const std::size_t length = std::min(text.size(), Size - 1);
  std::memcpy(target, text.data(), length);
  target[length] = '\0';
}

constexpr int most_names = 1000;

// Process ids come round again within one session; nothing that was counted may vanish by that.
FileDescriptor create_status_file(const std::string& dir, std::string* path) {
  const std::string stem = dir + "/" + std::to_string(getpid());
  for (int attempt = 1; attempt <= most_names; ++attempt) {
    *path = stem + (attempt == 1 ? "" : "." + std::to_string(attempt)) + ".status";
    FileDescriptor file(::open(path->c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (file.is_open() || errno != EEXIST) return file;
  }
  return FileDescriptor();
}

}  // namespace

Status::Status() : m_status(&m_unmapped) {
  m_unmapped.magic = KTRACE_STATUS_MAGIC;
  m_unmapped.size = sizeof m_unmapped;
}

bool Status::open(const std::string& dir, const std::string& program, std::string* trouble) {
  m_status->pid = static_cast<ktrace_u32>(getpid());
  copy_text(m_status->program, program);
  std::string path;
  const FileDescriptor file = create_status_file(dir, &path);
  // Written, not only made longer: a full disk must fail here, not kill the program by SIGBUS later.
  if (!file.is_open() ||
      write(file.get(), m_status, sizeof *m_status) != static_cast<ssize_t>(sizeof *m_status)) {
    *trouble = "cannot write " + path + ": " + std::strerror(errno);
    return false;
  }
  void* mapped = mmap(nullptr, sizeof *m_status, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) {
    *trouble = "cannot map " + path + ": " + std::strerror(errno);
    return false;
  }
  m_status = static_cast<ktrace_status*>(mapped);
  count_untraced_children_in(m_status);
  return true;
}

void Status::restart_in_child() {
  const ktrace_u32 flags = m_status->flags & KTRACE_STATUS_SOFTWARE_DEVICE;
  const ktrace_end_record counts = m_status->counts;
  const ktrace_u64 unread_fat_binaries = m_status->unread_fat_binaries;
  // In place: the handler of a crash, which may fork, has little stack.
  std::memset(&m_unmapped, 0, sizeof m_unmapped);
  m_unmapped.magic = KTRACE_STATUS_MAGIC;
  m_unmapped.size = sizeof m_unmapped;
  m_unmapped.flags = flags;
  m_unmapped.counts.code_objects = counts.code_objects;
  m_unmapped.counts.annotated_code_objects = counts.annotated_code_objects;
  m_unmapped.counts.annotated_kernels = counts.annotated_kernels;
  m_unmapped.unread_fat_binaries = unread_fat_binaries;
  m_status = &m_unmapped;  // the parent's mapping stays: it is shared, and not ours to write
}

void Status::add_code_object(std::uint64_t annotated_kernels) {
  add(&m_status->counts.code_objects, 1);
  add(&m_status->counts.annotated_code_objects, annotated_kernels > 0);
  add(&m_status->counts.annotated_kernels, annotated_kernels);
}

std::uint64_t Status::add_launch() { return add_launches(1); }
std::uint64_t Status::add_launches(std::uint64_t count) {
  return __atomic_add_fetch(&m_status->counts.launches, count, __ATOMIC_RELAXED);
}
void Status::add_annotated_launch() { add(&m_status->counts.annotated_launches, 1); }
void Status::add_unselected_launch() { add(&m_status->unselected_launches, 1); }
void Status::add_unseen_launch() { add(&m_status->unseen_launches, 1); }
void Status::add_unread_fat_binary() { add(&m_status->unread_fat_binaries, 1); }
void Status::remove_unread_fat_binary() {
  __atomic_fetch_sub(&m_status->unread_fat_binaries, 1, __ATOMIC_RELAXED);
}

void Status::add_dispatch() { add(&m_status->counts.dispatches, 1); }
void Status::add_claim_launch() { add(&m_status->claim_launches, 1); }
void Status::add_grown_launch() { add(&m_status->grown_launches, 1); }
void Status::add_dropped_words(std::uint64_t count) { add(&m_status->dropped_words, count); }
void Status::count(ktrace_u64 ktrace_status::* counter, std::uint64_t amount) {
  add(&(m_status->*counter), amount);
}
void Status::add_bytes(std::uint64_t count) { add(&m_status->bytes, count); }

void Status::add_loss(ktrace_loss_reason reason, std::uint64_t count) {
  add(&m_status->losses[reason], count);
}

void Status::set_flag(ktrace_status_flag flag) {
  if (__atomic_load_n(&m_status->flags, __ATOMIC_RELAXED) & flag) return;  // as nearly always
  __atomic_fetch_or(&m_status->flags, flag, __ATOMIC_RELAXED);
}

void Status::set_output(const std::string& path) {
  const std::lock_guard lock(m_text_mutex);
  copy_text(m_status->output, path);
}

std::string Status::output() {
  const std::lock_guard lock(m_text_mutex);
  return m_status->output;
}

bool Status::has_trouble() {
  const std::lock_guard lock(m_text_mutex);
  return m_status->message[0] != '\0';
}

void Status::say_trouble(const std::string& message) {
  const std::lock_guard lock(m_text_mutex);
  if (m_status->message[0] == '\0') copy_text(m_status->message, message);
}

void Status::say_trouble(const char* message, const char* why) noexcept {
  const std::lock_guard lock(m_text_mutex);
  if (m_status->message[0] == '\0')
    std::snprintf(m_status->message, sizeof m_status->message, "%s: %s", message, why);
}

// Other threads go on counting.
ktrace_end_record Status::counts() const {
  static_assert(sizeof(ktrace_end_record) % sizeof(ktrace_u64) == 0);
  ktrace_u64 read[sizeof(ktrace_end_record) / sizeof(ktrace_u64)];
  const auto* counter = reinterpret_cast<const ktrace_u64*>(&m_status->counts);
  for (ktrace_u64& value : read) value = __atomic_load_n(counter++, __ATOMIC_RELAXED);
  ktrace_end_record record;
  std::memcpy(&record, read, sizeof record);
  return record;
}

}  // namespace ktrace
