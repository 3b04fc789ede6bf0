// Unit keys and ids to events, and which lanes they have.
#pragma once

#include <unordered_map>
#include <vector>

#include "events.hpp"

namespace ktrace::reader {

class Names {
 public:
  Names(const std::uint32_t* units, std::size_t kernels, const ktrace_reader_event* events, std::size_t count,
        std::uint32_t bases);

  // Return the row of an event; one without a name is added.
  std::uint32_t find(std::uint32_t kernel, const Event& event) {
    if ((event.flags & has_unit) == 0 && kernel < m_own.size()) {
      const std::vector<std::uint32_t>& rows = m_own[kernel].rows_by_id;
      if (event.id < rows.size() && rows[event.id] != none) return rows[event.id];
    }
    return find_by_key(kernel, event);
  }

  const ktrace_reader_event& operator[](std::uint32_t row) const { return m_events[row]; }
  bool is_named(std::uint32_t row) const { return row < m_named; }
  void set_used(std::uint32_t row) { m_events[row].flags |= KTRACE_READER_EVENT_USED; }
  const std::vector<ktrace_reader_event>& events() const { return m_events; }

 private:
  struct Key {
    std::uint32_t kernel;
    std::uint32_t unit;
    std::uint32_t id;
    bool operator==(const Key& other) const {
      return kernel == other.kernel && unit == other.unit && id == other.id;
    }
  };
  // The events of a kernel's own unit: most of their ids are small, and those are found without a search.
  struct Own {
    std::uint32_t unit;
    std::uint32_t events;
    std::vector<std::uint32_t> rows_by_id;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };

  std::uint32_t find_by_key(std::uint32_t kernel, const Event& event);
  std::uint32_t add_unnamed(const Key& key, std::uint32_t kind);
  bool is_own(const ktrace_reader_event& event) const;
  void add(const ktrace_reader_event& event);

  std::vector<Own> m_own;  // of each kernel
  std::vector<ktrace_reader_event> m_events;
  std::size_t m_named;
  std::uint32_t m_next_base;
  std::unordered_map<Key, std::uint32_t, Hash> m_row_by_key;
  std::unordered_map<std::uint32_t, std::uint32_t> m_base_by_id;  // of events without a name
};

}  // namespace ktrace::reader
