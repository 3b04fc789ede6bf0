// The findings of the process.
#include "core/check_report.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/dispatch.hpp"

namespace ktrace::softdev {

namespace {

// Kernel, offset and encoding: kernels of two code objects may have one name.
using Place = std::tuple<std::string, uint64_t, uint32_t, uint32_t>;

Place place_in_code(const Wave& wave, const Inst& inst) {
  const Kernel& kernel = *wave.dispatch->dispatch.kernel;
  return {kernel.name, wave.pc - kernel.entry, inst.words[0], inst.size > 4 ? inst.words[1] : 0};
}

const char* plural(uint64_t count) { return count == 1 ? "" : "s"; }

class Findings {
 public:
  ~Findings() {
    if (m_total) {
      std::fprintf(stderr, "ktrace: check: %" PRIu64 " finding%s at %zu instruction%s\n", m_total,
                   plural(m_total), m_count_by_place.size(), plural(m_count_by_place.size()));
    }
    if (m_count_by_place.size() > 1) {
      tell_places();
    }
  }
  void add(const Wave& wave, const Inst& inst, Rule rule, const std::string& what) {
    const std::lock_guard lock(m_mutex);
    ++m_total;
    const Place place = place_in_code(wave, inst);
    ++m_count_by_place[place];
    if (m_told.emplace(place, rule).second) {
      std::fprintf(stderr, "ktrace: check: %s: %s\n", place_of(wave, inst).c_str(), what.c_str());
    }
  }

 private:
  std::mutex m_mutex;
  uint64_t m_total = 0;
  std::map<Place, uint64_t> m_count_by_place;
  std::set<std::pair<Place, Rule>> m_told;

  // The most frequent ones first.
  void tell_places() const {
    constexpr size_t most_told = 20;
    std::vector<std::pair<uint64_t, const Place*>> places;
    for (const auto& [place, count] : m_count_by_place) {
      places.emplace_back(count, &place);
    }
    std::stable_sort(places.begin(), places.end(),
                     [](const auto& left, const auto& right) { return left.first > right.first; });
    for (size_t k = 0; k < places.size() && k < most_told; ++k) {
      std::fprintf(stderr, "ktrace: check: %" PRIu64 " at pc +0x%" PRIx64 " of kernel `%s`\n",
                   places[k].first, std::get<1>(*places[k].second), std::get<0>(*places[k].second).c_str());
    }
  }
};

}  // namespace

void report_finding(const Wave& wave, const Inst& inst, Rule rule, const std::string& what) {
  static Findings findings;
  findings.add(wave, inst, rule, what);
}

}  // namespace ktrace::softdev
