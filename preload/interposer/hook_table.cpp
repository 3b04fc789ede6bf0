// The hooks by name, for the dlsym hook, and the guard against HIP's calls of itself.
#include <cstring>

#include "hooks.hpp"

namespace ktrace {
namespace {

// The outermost hook of the thread. One whose call did not return stays here after its frame is gone.
thread_local const HookFrame* outermost __attribute__((tls_model("initial-exec"))) = nullptr;

std::uintptr_t mark_of(const HookFrame* frame) {
  return reinterpret_cast<std::uintptr_t>(frame) ^ std::uintptr_t{0x6b74726163650000};
}

// A frame that is gone lies below the caller's, or was written over.
__attribute__((no_sanitize("address"))) bool is_live(const HookFrame* frame, const HookFrame* caller) {
  return reinterpret_cast<std::uintptr_t>(frame) > reinterpret_cast<std::uintptr_t>(caller) &&
         frame->mark == mark_of(frame);
}

}  // namespace

bool enter_hook(HookFrame* frame) noexcept {
  frame->is_outermost = !outermost || !is_live(outermost, frame);
  frame->mark = 0;
  if (!frame->is_outermost) return false;
  frame->mark = mark_of(frame);
  outermost = frame;
  return true;
}

void leave_hook(HookFrame* frame) noexcept {
  if (!frame->is_outermost) return;
  frame->mark = 0;
  outermost = nullptr;
}

Binding find_binding(const void* return_address, const char* name) noexcept {
  try {
    return binding_of_caller(return_address, name);
  } catch (...) {
    return {};
  }
}

#define KTRACE_DECLARE_HOOK(Result, name, parameters) \
  extern "C" Result name parameters;                  \
  template <int Library>                              \
  Result name##_hook parameters;                      \
  template <int Library>                              \
  Result name##_bound parameters;
KTRACE_HIP_HOOKED(KTRACE_DECLARE_HOOK)
#undef KTRACE_DECLARE_HOOK

namespace {

struct HookEntry {
  const char* name;
  void* exported;
  void* bound[most_hip_libraries];  // by library
  void* in_table[most_hip_libraries];
};

#define KTRACE_ADDRESS(Result, function, parameters) \
  reinterpret_cast<void*>(static_cast<Result(*) parameters>(function))
#define KTRACE_HOOK_ENTRY(Result, name, parameters)                                                         \
  {#name,                                                                                                   \
   KTRACE_ADDRESS(Result, name, parameters),                                                                \
   {KTRACE_ADDRESS(Result, name##_bound<0>, parameters),                                                    \
    KTRACE_ADDRESS(Result, name##_bound<1>, parameters),                                                    \
    KTRACE_ADDRESS(Result, name##_bound<2>, parameters),                                                    \
    KTRACE_ADDRESS(Result, name##_bound<3>, parameters)},                                                   \
   {KTRACE_ADDRESS(Result, name##_hook<0>, parameters), KTRACE_ADDRESS(Result, name##_hook<1>, parameters), \
    KTRACE_ADDRESS(Result, name##_hook<2>, parameters),                                                     \
    KTRACE_ADDRESS(Result, name##_hook<3>, parameters)}},
const HookEntry entries[] = {KTRACE_HIP_HOOKED(KTRACE_HOOK_ENTRY)};
#undef KTRACE_HOOK_ENTRY
#undef KTRACE_ADDRESS

bool is_library(int index) { return index >= 0 && index < most_hip_libraries; }

const HookEntry* find_entry(const char* name) {
  // Nearly every name that a program looks up is somebody else's.
  const bool may_be_hip =
      (name[0] == 'h' && name[1] == 'i') || (name[0] == '_' && (name[1] == '_' || name[1] == 'Z'));
  if (!may_be_hip) return nullptr;
  for (const HookEntry& entry : entries)
    if (std::strcmp(entry.name, name) == 0) return &entry;
  return nullptr;
}

}  // namespace

bool is_hooked(const char* name) { return find_entry(name) != nullptr; }

void* find_hook(const char* name, int library) {
  const HookEntry* entry = find_entry(name);
  return entry && is_library(library) ? entry->bound[library] : nullptr;
}

void* exported_hook(const char* name) {
  const HookEntry* entry = find_entry(name);
  return entry ? entry->exported : nullptr;
}

void* find_table_hook(const char* name, int library) {
  const HookEntry* entry = find_entry(name);
  return entry && is_library(library) ? entry->in_table[library] : nullptr;
}

void replace_by_hook(const char* name, void** function, const HipLibrary& hip) {
  if (!name || !function || !*function) return;
  // HIP may have chosen the per-thread spelling: what it chose decides.
  const std::string per_thread = std::string(name) + "_spt";
#define KTRACE_REPLACE(Result, hooked, parameters)                  \
  if ((per_thread == #hooked || std::strcmp(name, #hooked) == 0) && \
      *function == reinterpret_cast<void*>(hip.exported.hooked)) {  \
    *function = find_hook(#hooked, hip.index);                      \
    return;                                                         \
  }
  if (hip.call_path != CallPath::table) {
    KTRACE_HIP_HOOKED(KTRACE_REPLACE)
  }
#undef KTRACE_REPLACE
}

}  // namespace ktrace
