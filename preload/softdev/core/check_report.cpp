// The findings of the process.
#include "core/check_report.hpp"

#include <cinttypes>
#include <cstdio>
#include <map>
#include <mutex>
#include <utility>

#include "core/dispatch.hpp"

namespace ktrace::softdev {

namespace {

class Findings {
 public:
  ~Findings() {
    if (m_total) {
      std::fprintf(stderr, "ktrace: check: %" PRIu64 " findings at %zu instructions\n", m_total,
                   m_by_place.size());
    }
  }
  void add(const Wave& wave, const Inst& inst, const std::string& what) {
    const std::lock_guard lock(m_mutex);
    ++m_total;
    uint64_t& count =
        m_by_place[{wave.dispatch->dispatch.kernel->name, wave.pc - wave.dispatch->dispatch.kernel->entry}];
    if (count++ == 0) {
      std::fprintf(stderr, "ktrace: check: %s: %s\n", place_of(wave, inst).c_str(), what.c_str());
    }
  }

 private:
  std::mutex m_mutex;
  uint64_t m_total = 0;
  std::map<std::pair<std::string, uint64_t>, uint64_t> m_by_place;
};

}  // namespace

void report_finding(const Wave& wave, const Inst& inst, const std::string& what) {
  static Findings findings;
  findings.add(wave, inst, what);
}

}  // namespace ktrace::softdev
