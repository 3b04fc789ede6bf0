// The findings of the process.
#include "core/check_report.hpp"

#include <cinttypes>
#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>

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
                   plural(m_total), m_places.size(), plural(m_places.size()));
    }
  }
  void add(const Wave& wave, const Inst& inst, Rule rule, const std::string& what) {
    const std::lock_guard lock(m_mutex);
    ++m_total;
    const Place place = place_in_code(wave, inst);
    m_places.insert(place);
    if (m_told.emplace(place, rule).second) {
      std::fprintf(stderr, "ktrace: check: %s: %s\n", place_of(wave, inst).c_str(), what.c_str());
    }
  }

 private:
  std::mutex m_mutex;
  uint64_t m_total = 0;
  std::set<Place> m_places;
  std::set<std::pair<Place, Rule>> m_told;
};

}  // namespace

void report_finding(const Wave& wave, const Inst& inst, Rule rule, const std::string& what) {
  static Findings findings;
  findings.add(wave, inst, rule, what);
}

}  // namespace ktrace::softdev
