#include "names.hpp"

namespace ktrace::reader {
namespace {

constexpr std::uint32_t small_ids = 1u << 16;

}  // namespace

std::size_t Names::Hash::operator()(const Key& key) const {
  std::uint64_t mixed = (std::uint64_t{key.unit} << 32 | key.id) * 0x9e3779b97f4a7c15u;
  mixed = (mixed ^ mixed >> 29 ^ key.kernel) * 0xbf58476d1ce4e5b9u;
  return static_cast<std::size_t>(mixed ^ mixed >> 32);
}

Names::Names(const std::uint32_t* units, std::size_t kernels, const ktrace_reader_event* events,
             std::size_t count, std::uint32_t bases)
    : m_units(units, units + kernels), m_named(count), m_next_base(bases), m_rows_by_id(kernels) {
  for (std::size_t i = 0; i < count; ++i) add(events[i]);
}

void Names::add(const ktrace_reader_event& event) {
  const auto row = static_cast<std::uint32_t>(m_events.size());
  m_events.push_back(event);
  if (!m_row_by_key.emplace(Key{event.kernel, event.unit, event.id}, row).second) return;
  if (event.kernel >= m_units.size() || event.unit != m_units[event.kernel] || event.id >= small_ids) return;
  std::vector<std::uint32_t>& rows = m_rows_by_id[event.kernel];
  if (event.id >= rows.size()) rows.resize(event.id + 1, none);
  rows[event.id] = row;
}

std::uint32_t Names::find_by_key(std::uint32_t kernel, const Event& event) {
  const std::uint32_t own_unit = kernel < m_units.size() ? m_units[kernel] : 0;
  Key key{kernel, (event.flags & has_unit) != 0 ? event.unit : own_unit, event.id};
  auto found = m_row_by_key.find(key);
  if (found == m_row_by_key.end() && m_events.size() - m_named >= KTRACE_READER_MOST_UNNAMED) {
    key = {kernel, own_unit, KTRACE_READER_OTHER_ID};
    found = m_row_by_key.find(key);
  }
  return found != m_row_by_key.end() ? found->second : add_unnamed(key, event.kind);
}

// It is called after its id, and so are its lanes: ids of several units share them.
std::uint32_t Names::add_unnamed(const Key& key, std::uint32_t kind) {
  const auto base = m_base_by_id.emplace(key.id, m_next_base);
  m_next_base += base.second;
  const auto row = static_cast<std::uint32_t>(m_events.size());
  const std::uint32_t noted = kind == KTRACE_KIND_LONG_BEGIN ? std::uint32_t{KTRACE_KIND_RANGE} : kind;
  add({key.kernel, key.unit, key.id, noted, base.first->second, 0});
  return row;
}

}  // namespace ktrace::reader
