// The HIP runtimes of this process: one entry per loaded copy, and which of them a caller means.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hip.hpp"
#include "loader.hpp"

namespace ktrace {

// A process may hold several copies (torch/lib and /opt/rocm): a call must reach the one that its caller is
// bound to.
inline constexpr int most_hip_libraries = 4;

// Where the calls of a copy are handled.
enum class CallPath {
  symbols,         // in the functions that the loader binds callers to
  table_expected,  // the copy is going to register its table within its first call, and that call goes to it
  table            // in the copy's API table; the functions that callers are bound to only pass on
};

// HipFunctions are what we call: the table's own entries once there is a table, so that a profiler which has
// put itself in front of them sees the application's calls alone.
struct HipLibrary : HipFunctions {
  int index = 0;
  std::string path;
  std::uintptr_t base = 0;
  HipFunctions exported;  // what callers would be bound to without us
  std::atomic<CallPath> call_path{CallPath::symbols};

  bool is_software() const { return ktrace_softdev_now_ns != nullptr; }
};

// After a call that was passed on: a copy whose first call has registered no table never will.
void note_passed_on(HipLibrary& hip) noexcept;

// The name of an error, as HIP gives it.
// Of a kernel, as told by a call after its launch.
bool is_fault(hipError_t error);
std::string error_words(const HipLibrary& hip, hipError_t error);

// By index, for hooks that belong to one copy. Index 0 without any HIP at all is a table of null pointers.
HipLibrary& hip_library(int index);

// Where a call goes.
struct Binding {
  int library = 0;           // an index, or -1: one copy more than we can tell apart
  void* function = nullptr;  // of that copy
};

// What the code at `return_address` is bound to for `name`; library 0 where that cannot be told.
Binding binding_of_caller(const void* return_address, const char* name);

// Finds the copies and callers that were loaded since it looked last. Where a call that has just come to our
// export `called` goes, if that can be told by what is new.
std::optional<Binding> look_at_loaded_objects(const char* called);

// The copy that `address`, a function or the table of it, belongs to; -1 if it is none, or one too many.
int hip_library_of(const void* address);

// As hip_library_of, for a copy whose file may have any name because its table tells what it is.
int hip_library_of_table(const void* table);

// Counted where they are met, which may be before there is a session to tell.
class UnseenCount {
 public:
  void add() { ++m_seen; }
  // What came since it was asked last.
  std::uint64_t take() {
    const std::uint64_t seen = m_seen;
    return m_taken == seen ? 0 : seen - m_taken.exchange(seen);
  }
  void restart_in_child() { m_taken = 0; }

 private:
  std::atomic<std::uint64_t> m_seen{0}, m_taken{0};
};

struct UnseenLibraries {
  UnseenCount unbound;   // opened as RTLD_DEEPBIND, which was taken away
  UnseenCount unhooked;  // copies of HIP past the most
};
UnseenLibraries& unseen_libraries();

// A library was opened without the RTLD_DEEPBIND that it was to have. Its calls still go where they would
// have gone with it: to what it was loaded with, before the global scope.
void note_unbound(const std::vector<std::string>& files);

// What a search for `name` in the caller's scope finds behind us: never our own exports.
void* function_in_scope(const LoadedObject& caller, const char* name, const char* version = nullptr);

// What a reference of the code at `return_address` to `name` would be bound to without us; null if nothing
// defines it. Takes the loader's lock only where several libraries do.
void* next_for_caller(const void* return_address, const char* name);

// Around fork, so that the child does not inherit a lock whose owner it does not have.
void lock_hip_libraries_for_fork();
void unlock_hip_libraries_in_parent();
void renew_hip_libraries_lock_in_child();

}  // namespace ktrace
