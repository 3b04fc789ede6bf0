#include "losses.hpp"

#include "kernel_name.hpp"

namespace ktrace {
namespace {

// Words may hold numbers that differ at every launch; then only the reason is kept apart.
constexpr std::size_t most_entries = 1000;

}  // namespace

void LossBook::add(ktrace_loss_reason reason, const std::string& kernel, const std::string& words,
                   std::uint64_t count) noexcept {
  m_status->add_loss(reason, count);
  try {
    add_words(reason, kernel, words, count);
  } catch (...) {
  }
}

void LossBook::add_words(ktrace_loss_reason reason, const std::string& kernel, const std::string& words,
                         std::uint64_t count) {
  if (!m_status->has_trouble())  // demangling takes longer than counting
    m_status->say_trouble(kernel.empty() ? words : "kernel `" + readable_kernel_name(kernel) + "`: " + words);
  const std::lock_guard lock(m_mutex);
  const auto key = std::make_tuple(reason, kernel, words);
  if (m_counts.count(key) == 0 && m_counts.size() >= most_entries)
    m_counts[std::make_tuple(reason, std::string(), std::string("further ones"))] += count;
  else
    m_counts[key] += count;
}

std::vector<Loss> LossBook::all() const {
  const std::lock_guard lock(m_mutex);
  std::vector<Loss> losses;
  for (const auto& [key, count] : m_counts)
    losses.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), count});
  return losses;
}

}  // namespace ktrace
