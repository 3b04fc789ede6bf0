#include "selection.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "clocks.hpp"
#include "file_descriptor.hpp"
#include "kernel_name.hpp"

namespace ktrace {
namespace {

constexpr int most_refused = 20;
constexpr std::size_t longest_name = 200;

std::uint64_t now_ns(const HipLibrary& hip) {
  return hip.is_software() ? hip.ktrace_softdev_now_ns() : read_host_clocks().monotonic_ns;
}

}  // namespace

bool is_collecting(const std::vector<Period>& periods, std::uint64_t elapsed_ns) {
  for (const Period& period : periods) {
    const std::uint64_t cycle = period.delay_ns + period.duration_ns;
    const std::uint64_t round = elapsed_ns / cycle;
    if (period.repeat == 0 || round < period.repeat) return elapsed_ns % cycle >= period.delay_ns;
    elapsed_ns -= period.repeat * cycle;
  }
  return periods.empty();
}

Selection::Selection(const Config& config, Status* status)
    : m_config(config), m_status(status), m_patterns(config) {}

void Selection::begin(const HipLibrary& hip) {
  if (m_config.periods.empty()) return;
  m_began_ns = now_ns(hip);
  m_hip = &hip;
}

bool Selection::is_in_period() const {
  const HipLibrary* hip = m_hip;
  return m_config.periods.empty() || !hip || is_collecting(m_config.periods, now_ns(*hip) - m_began_ns);
}

bool Selection::wants_kernel(const Kernel& kernel) {
  const Kernel::Wanted known = kernel.wanted.load(std::memory_order_relaxed);
  if (known != Kernel::Wanted::unknown) return known == Kernel::Wanted::yes;
  const bool is_wanted = m_patterns.choose(kernel.metadata.name);
  const std::lock_guard lock(m_mutex);
  if (kernel.wanted.exchange(is_wanted ? Kernel::Wanted::yes : Kernel::Wanted::no) != Kernel::Wanted::unknown)
    return is_wanted;
  m_kernels.push_back(&kernel);
  if (!is_wanted) list_refused(kernel);
  return is_wanted;
}

// With the lock held. One line for the user who wonders why nothing was recorded; all processes of the
// session append to one file.
void Selection::list_refused(const Kernel& kernel) {
  if (m_config.session_dir.empty() || ++m_refused_count > most_refused) return;
  const std::string path = m_config.session_dir + "/" + refused_kernels_file;
  const FileDescriptor file(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
  const std::string line = short_kernel_name(kernel.metadata.name).substr(0, longest_name) + "\n";
  if (file.is_open() && write(file.get(), line.data(), line.size()) < 0) return;  // it is a hint, no more
}

bool Selection::is_in_range(std::uint64_t launch) const {
  if (m_config.iterations.empty()) return true;
  return std::any_of(
      m_config.iterations.begin(), m_config.iterations.end(),
      [&](const IterationRange& range) { return range.first <= launch && launch <= range.last; });
}

bool Selection::wants_launch(const Kernel& kernel) {
  if (!wants_kernel(kernel)) return m_status->add_unselected_launch(), false;
  if (m_config.iterations.empty() && m_config.periods.empty()) return true;
  const std::uint64_t launch = kernel.launches.fetch_add(1, std::memory_order_relaxed) + 1;
  if (is_in_range(launch) && is_in_period()) return true;
  m_status->count(&ktrace_status::skipped_launches);
  return false;
}

void Selection::restart_in_child() {
  for (const Kernel* kernel : m_kernels) kernel->launches = 0;
}

}  // namespace ktrace
