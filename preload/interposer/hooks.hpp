// The shape of a hook.
#pragma once

#include "hip_library.hpp"
#include "session.hpp"

#define KTRACE_EXPORT __attribute__((visibility("default")))

namespace ktrace {

// HIP calls its own exports, and the application's calls inside HIP's callbacks are its own again only
// outside of hooks.
class HookScope {
 public:
  HookScope();
  ~HookScope();
  HookScope(const HookScope&) = delete;
  HookScope& operator=(const HookScope&) = delete;
  bool is_outermost() const { return m_is_outermost; }

 private:
  bool m_is_outermost;
};

// What a call answers for which there is no HIP, or none that has the function.
template <class Result>
Result answer_without_hip() {
  return Result();
}
template <>
inline hipError_t answer_without_hip<hipError_t>() {
  return hip_error_shared_object_init_failed;
}

// Our function for `name` in the copy of HIP with that index; null if we do not stand in for it. The first is
// for callers, and passes on to a copy with a table; the second is for that table.
void* find_hook(const char* name, int library);
void* find_table_hook(const char* name, int library);
// The function that we export under that name; null if there is none.
void* exported_hook(const char* name);
// Whether it is one of the names.
bool is_hooked(const char* name);
// After HIP answered a question for the address of `name` with `*function`.
void replace_by_hook(const char* name, void** function, const HipLibrary& hip);

}  // namespace ktrace

// Defines the exported function, and for every copy of HIP one that handles its calls and one that dlsym on
// that copy answers. The body sees the parameters, `hip` (the copy), and `session`; it calls HIP and returns
// HIP's answer.
#define KTRACE_HOOK_WITH_BODY(Result, name, parameters, arguments, ...)                             \
  template <int Library>                                                                            \
  Result name##_hook parameters noexcept {                                                          \
    HipLibrary& hip = hip_library(Library);                                                         \
    if (!hip.name) return answer_without_hip<Result>();                                             \
    const HookScope scope;                                                                          \
    Session* const session = scope.is_outermost() ? Session::of_this_process(hip, #name) : nullptr; \
    if (!session) return hip.name arguments;                                                        \
    __VA_ARGS__                                                                                     \
  }                                                                                                 \
  template <int Library>                                                                            \
  Result name##_bound parameters noexcept {                                                         \
    HipLibrary& hip = hip_library(Library);                                                         \
    if (hip.call_path == CallPath::symbols) return name##_hook<Library> arguments;                  \
    if (!hip.exported.name) return answer_without_hip<Result>();                                    \
    const PassedOn passed_on(hip);                                                                  \
    return hip.exported.name arguments;                                                             \
  }                                                                                                 \
  template Result name##_hook<0> parameters noexcept;                                               \
  template Result name##_hook<1> parameters noexcept;                                               \
  template Result name##_hook<2> parameters noexcept;                                               \
  template Result name##_hook<3> parameters noexcept;                                               \
  template Result name##_bound<0> parameters noexcept;                                              \
  template Result name##_bound<1> parameters noexcept;                                              \
  template Result name##_bound<2> parameters noexcept;                                              \
  template Result name##_bound<3> parameters noexcept;                                              \
  extern "C" KTRACE_EXPORT Result name parameters {                                                 \
    const Binding binding = binding_of_caller(__builtin_return_address(0), #name);                  \
    switch (binding.library) {                                                                      \
      case 0:                                                                                       \
        return name##_bound<0> arguments;                                                           \
      case 1:                                                                                       \
        return name##_bound<1> arguments;                                                           \
      case 2:                                                                                       \
        return name##_bound<2> arguments;                                                           \
      case 3:                                                                                       \
        return name##_bound<3> arguments;                                                           \
      default:                                                                                      \
        return reinterpret_cast<Result(*) parameters>(binding.function) arguments;                  \
    }                                                                                               \
  }

// A call that we only look at: `before` and `after` are statements, the latter run only after a success.
#define KTRACE_HOOK_BEFORE(name, parameters, arguments, before)    \
  KTRACE_HOOK_WITH_BODY(hipError_t, name, parameters, arguments, { \
    session->guarded([&] { before; });                             \
    return hip.name arguments;                                     \
  })
#define KTRACE_HOOK(name, parameters, arguments, after)            \
  KTRACE_HOOK_WITH_BODY(hipError_t, name, parameters, arguments, { \
    const hipError_t result = hip.name arguments;                  \
    if (result == hip_success) session->guarded([&] { after; });   \
    return result;                                                 \
  })

// A launch: `request` is a LaunchRequest, `call` the arguments for HIP, written with `launch.params()`,
// `launch.extra()`.
#define KTRACE_LAUNCH_HOOK(name, parameters, arguments, request, call) \
  KTRACE_HOOK_WITH_BODY(hipError_t, name, parameters, arguments, {     \
    TracedLaunch launch(*session, hip, request);                       \
    const hipError_t result = hip.name call;                           \
    launch.finish(result);                                             \
    return result;                                                     \
  })
