#include "names.hpp"

namespace ktrace::reader {
namespace {

// A table of ids is not much larger than the events in it, whatever ids damaged words have.
constexpr std::uint64_t least_ids = 64, ids_per_event = 4;

}  // namespace

std::size_t Names::Hash::operator()(const Key& key) const {
  std::uint64_t mixed = (std::uint64_t{key.unit} << 32 | key.id) * 0x9e3779b97f4a7c15u;
  mixed = (mixed ^ mixed >> 29 ^ key.kernel) * 0xbf58476d1ce4e5b9u;
  return static_cast<std::size_t>(mixed ^ mixed >> 32);
}

Names::Names(const std::uint32_t* units, std::size_t kernels, const ktrace_reader_event* events,
             std::size_t count, std::uint32_t bases)
    : m_named(count), m_next_base(bases) {
  m_own.reserve(kernels);
  for (std::size_t i = 0; i < kernels; ++i) m_own.push_back({units[i], 0, {}});
  for (std::size_t i = 0; i < count; ++i)
    if (is_own(events[i])) ++m_own[events[i].kernel].events;
  for (std::size_t i = 0; i < count; ++i) add(events[i]);
}

bool Names::is_own(const ktrace_reader_event& event) const {
  return event.kernel < m_own.size() && event.unit == m_own[event.kernel].unit;
}

void Names::add(const ktrace_reader_event& event) {
  const auto row = static_cast<std::uint32_t>(m_events.size());
  m_events.push_back(event);
  if (!m_row_by_key.emplace(Key{event.kernel, event.unit, event.id}, row).second) return;
  if (!is_own(event)) return;
  Own& own = m_own[event.kernel];
  if (event.id >= least_ids + ids_per_event * own.events) return;
  if (event.id >= own.rows_by_id.size()) own.rows_by_id.resize(event.id + 1, none);
  own.rows_by_id[event.id] = row;
}

std::uint32_t Names::find_by_key(std::uint32_t kernel, const Event& event) {
  const std::uint32_t own_unit = kernel < m_own.size() ? m_own[kernel].unit : 0;
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
  const ktrace_reader_event event{key.kernel, key.unit, key.id, noted, base.first->second, 0};
  if (is_own(event)) ++m_own[key.kernel].events;
  add(event);
  return row;
}

}  // namespace ktrace::reader
