// The shape of a hook.
//
// HIP's function may be left by a thread's cancellation, or by an exception of HIP. The unwinder is then the
// application's, which the C++ runtime in this library cannot answer: nothing that is live while HIP's
// function runs may have to be cleaned up. So there is no `noexcept`, no catch and no object with a
// destructor around such a call. Where there has to be one, cancellation waits until the hook is done.
#pragma once

#include <pthread.h>

#include <new>
#include <type_traits>
#include <utility>

#include "hip_library.hpp"
#include "session.hpp"

#define KTRACE_EXPORT __attribute__((visibility("default")))

namespace ktrace {

// A hook on its way. HIP calls its own exports, and the application's calls inside HIP's callbacks are its
// own again only outside of hooks.
struct HookFrame {
  std::uintptr_t mark;
  bool is_outermost;
  int cancel_state;  // the application's
};

// Whether it is the thread's outermost one.
bool enter_hook(HookFrame* frame) noexcept;
void leave_hook(HookFrame* frame) noexcept;

// Our own work is not left half done. Not `noexcept`: the second may be where a cancellation happens.
inline int forbid_cancellation() {
  int before = PTHREAD_CANCEL_ENABLE;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  return before;
}
inline void allow_cancellation(int before) {
  if (before != PTHREAD_CANCEL_DISABLE) pthread_setcancelstate(before, nullptr);
}

// `after` is skipped if `call` is left in another way than by its return.
template <class Call, class After>
auto call_and_then(Call&& call, After&& after) -> decltype(call()) {
  if constexpr (std::is_void_v<decltype(call())>) {
    call();
    after();
  } else {
    const auto answer = call();
    after();
    return answer;
  }
}

// The session, if the call is one for it; cancellation is forbidden then.
inline Session* begin_hook(HookFrame* frame, const HipLibrary& hip, const char* name) {
  if (!enter_hook(frame)) return nullptr;
  frame->cancel_state = forbid_cancellation();
  Session* const session = Session::of_this_process(hip, name);
  if (!session) allow_cancellation(frame->cancel_state);
  return session;
}
inline void end_hook(HookFrame* frame, const Session* session) {
  leave_hook(frame);
  if (session) allow_cancellation(frame->cancel_state);
}

// HIP's function as the application would have called it.
template <class Call>
auto call_hip(HookFrame* frame, Call&& call) -> decltype(call()) {
  allow_cancellation(frame->cancel_state);
  return call_and_then(call, [frame] { frame->cancel_state = forbid_cancellation(); });
}

// An object that is left behind as it is if HIP's function does not return.
template <class T>
class LeftBehind {
 public:
  template <class... Arguments>
  __attribute__((noinline)) T& make(Arguments&&... arguments) {
    return *new (m_memory) T(std::forward<Arguments>(arguments)...);
  }
  __attribute__((noinline)) void destroy() { std::launder(reinterpret_cast<T*>(m_memory))->~T(); }

 private:
  alignas(T) unsigned char m_memory[sizeof(T)];
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
// Where a call of an exported function goes.
Binding find_binding(const void* return_address, const char* name) noexcept;
inline Binding binding_of_call(const void* return_address, const char* name) {
  const int before = forbid_cancellation();
  const Binding binding = find_binding(return_address, name);
  allow_cancellation(before);
  return binding;
}
// Whether it is one of the names.
bool is_hooked(const char* name);
// After HIP answered a question for the address of `name` with `*function`.
void replace_by_hook(const char* name, void** function, const HipLibrary& hip);

}  // namespace ktrace

// Defines the exported function, and for every copy of HIP one that handles its calls and one that dlsym on
// that copy answers. The body sees the parameters, `hip` (the copy), and `session`; it calls HIP and returns
// HIP's answer. It calls HIP by KTRACE_CALL_HIP, or directly with cancellation still forbidden. Where there
// is no session, HIP's function runs below no frame of the body's: one that cleans up asks the runtime here.
#define KTRACE_CALL_HIP(...) call_hip(&hook_frame, [&] { return __VA_ARGS__; })
#define KTRACE_HOOK_WITH_BODY(Result, name, parameters, arguments, ...)                              \
  template <int Library>                                                                             \
  Result name##_hook parameters {                                                                    \
    HipLibrary& hip = hip_library(Library);                                                          \
    if (!hip.name) return answer_without_hip<Result>();                                              \
    HookFrame hook_frame;                                                                            \
    Session* const session = begin_hook(&hook_frame, hip, #name);                                    \
    const auto hook_end = [&] { end_hook(&hook_frame, session); };                                   \
    if (!session) return call_and_then([&] { return hip.name arguments; }, hook_end);                \
    const auto hook_body = [&]() __attribute__((noinline)) -> Result { __VA_ARGS__ };                \
    return call_and_then(hook_body, hook_end);                                                       \
  }                                                                                                  \
  template <int Library>                                                                             \
  Result name##_bound parameters {                                                                   \
    HipLibrary& hip = hip_library(Library);                                                          \
    if (hip.call_path == CallPath::symbols) return name##_hook<Library> arguments;                   \
    if (!hip.exported.name) return answer_without_hip<Result>();                                     \
    return call_and_then([&] { return hip.exported.name arguments; }, [&] { note_passed_on(hip); }); \
  }                                                                                                  \
  template Result name##_hook<0> parameters;                                                         \
  template Result name##_hook<1> parameters;                                                         \
  template Result name##_hook<2> parameters;                                                         \
  template Result name##_hook<3> parameters;                                                         \
  template Result name##_bound<0> parameters;                                                        \
  template Result name##_bound<1> parameters;                                                        \
  template Result name##_bound<2> parameters;                                                        \
  template Result name##_bound<3> parameters;                                                        \
  extern "C" KTRACE_EXPORT Result name parameters {                                                  \
    const Binding binding = binding_of_call(__builtin_return_address(0), #name);                     \
    switch (binding.library) {                                                                       \
      case 0:                                                                                        \
        return name##_bound<0> arguments;                                                            \
      case 1:                                                                                        \
        return name##_bound<1> arguments;                                                            \
      case 2:                                                                                        \
        return name##_bound<2> arguments;                                                            \
      case 3:                                                                                        \
        return name##_bound<3> arguments;                                                            \
      default:                                                                                       \
        return reinterpret_cast<Result(*) parameters>(binding.function) arguments;                   \
    }                                                                                                \
  }

// A call that we only look at: `before` and `after` are statements, the latter run only after a success.
#define KTRACE_HOOK_BEFORE(name, parameters, arguments, before)    \
  KTRACE_HOOK_WITH_BODY(hipError_t, name, parameters, arguments, { \
    session->guarded([&] { before; });                             \
    return KTRACE_CALL_HIP(hip.name arguments);                    \
  })
#define KTRACE_HOOK(name, parameters, arguments, after)            \
  KTRACE_HOOK_WITH_BODY(hipError_t, name, parameters, arguments, { \
    const hipError_t result = KTRACE_CALL_HIP(hip.name arguments); \
    if (result == hip_success) session->guarded([&] { after; });   \
    return result;                                                 \
  })

// A launch: `request` is a LaunchRequest, `call` the arguments for HIP, written with `launch.params()`,
// `launch.extra()`.
#define KTRACE_LAUNCH_HOOK(name, parameters, arguments, request, call) \
  KTRACE_HOOK_WITH_BODY(hipError_t, name, parameters, arguments, {     \
    LeftBehind<TracedLaunch> storage;                                  \
    TracedLaunch& launch = storage.make(*session, hip, request);       \
    const hipError_t result = KTRACE_CALL_HIP(hip.name call);          \
    launch.finish(result);                                             \
    storage.destroy();                                                 \
    return result;                                                     \
  })
