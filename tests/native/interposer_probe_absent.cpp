// Stands for the parts of the interposer that reach into a running HIP or the whole session: what the probe
// tests calls none of them, and aborts if it does.
#include <cstdlib>

#include "api_table.hpp"
#include "caller_slots.hpp"
#include "hooks.hpp"
#include "hsa.hpp"
#include "session.hpp"
#include "untraced_children.hpp"

namespace ktrace {

void bind_callers(std::mutex&, const FunctionForCaller&) { std::abort(); }
bool is_table_expected(const LoadedObject&) { std::abort(); }
void* find_hook(const char*, int) { std::abort(); }
bool sample_hsa_clock(const std::string&, ktrace_clock_record*) { std::abort(); }
bool convert_hsa_tick(const std::string&, std::uint64_t, ktrace_clock_record*) { std::abort(); }
void count_untraced_children_in(ktrace_status*) { std::abort(); }
Session* Session::existing() noexcept { std::abort(); }
void Session::count_unseen_libraries() { std::abort(); }

}  // namespace ktrace
