// dlsym and dlvsym as programs see them: the loader's own answers, except that a function of HIP that we hook
// is ours.
//
// hip-python, ctypes and Triton find HIP this way, and HIP's own hipGetProcAddress does.
#include <dlfcn.h>

#include "hooks.hpp"
#include "loader.hpp"

#ifndef __x86_64__
#error "the transparent jump below is written for x86-64 only"
#endif

namespace ktrace {
namespace {

struct Query {
  const char* name;
  const char* version;  // null: dlsym
};

void* ask_loader(void* handle, const Query& query) {
  return query.version ? real_dlvsym()(handle, query.name, query.version) : real_dlsym()(handle, query.name);
}

void* search_as_caller(const void* return_address, const Query& query) {
  return function_in_scope(object_of(return_address), query.name, query.version);
}

bool is_our_own(const void* address) {
  return address && object_path(address) == object_path(reinterpret_cast<const void*>(&is_hooked));
}

// dlerror is per thread, and callers ask it whether dlsym failed: it must tell of this call alone.
void set_error_state(bool has_found, const Query& query) {
  if (has_found)
    dlerror();
  else
    ask_loader(RTLD_NEXT, query);
}

}  // namespace
}  // namespace ktrace

// What follows is called from assembly, with the arguments of dlsym or dlvsym and the address that it will
// return to. Not answered: the loader is to answer by itself, in its caller's name, because RTLD_NEXT means
// "after the caller".
struct KtraceLookup {
  void* answer;
  bool is_answered;
};

extern "C" __attribute__((visibility("hidden"))) KtraceLookup
ktrace_look_up(void* handle, const char* name, const char* version, const void* return_address) noexcept {
  using namespace ktrace;
  const ErrnoKept errno_kept;
  try {
    if (!name || handle == RTLD_NEXT || !is_hooked(name) || !real_dlsym() || !real_dlvsym())
      return {nullptr, false};
    look_at_loaded_objects(name);
    const Query query{name, version};
    void* real = handle == RTLD_DEFAULT ? search_as_caller(return_address, query) : ask_loader(handle, query);
    // The program's own handle searches the global scope, where we come first.
    const bool is_global = handle == RTLD_DEFAULT || is_our_own(real);
    if (is_our_own(real)) real = search_as_caller(return_address, query);
    const int library = hip_library_of(real);
    const bool has_table = library >= 0 && hip_library(library).call_path == CallPath::table;
    if (library >= 0 && !has_table)
      real = find_hook(name, library);
    else if (!is_global)
      return {nullptr, false};
    // Without HIP, or without this function in it, a feature test must fail as it does without us.
    set_error_state(real != nullptr, query);
    return {real, true};
  } catch (...) {
    return {nullptr, false};
  }
}

extern "C" __attribute__((visibility("hidden"))) void* ktrace_real_dlsym() noexcept {
  return reinterpret_cast<void*>(ktrace::real_dlsym());
}

extern "C" __attribute__((visibility("hidden"))) void* ktrace_real_dlvsym() noexcept {
  return reinterpret_cast<void*>(ktrace::real_dlvsym());
}

// A jump, not a call: the loader looks at its return address to know who asks.
#define KTRACE_TRANSPARENT(exported, set_version, real) \
  asm(".text\n"                                         \
      ".p2align 4\n"                                    \
      ".globl " #exported                               \
      "\n"                                              \
      ".type " #exported ", @function\n" #exported      \
      ":\n"                                             \
      "  push %rdi\n"                                   \
      "  push %rsi\n"                                   \
      "  push %rdx\n"                                   \
      "  mov 24(%rsp), %rcx\n" set_version              \
      "  call ktrace_look_up\n"                         \
      "  test %dl, %dl\n"                               \
      "  jne 1f\n"                                      \
      "  call " #real                                   \
      "\n"                                              \
      "  mov %rax, %r11\n"                              \
      "  pop %rdx\n"                                    \
      "  pop %rsi\n"                                    \
      "  pop %rdi\n"                                    \
      "  jmp *%r11\n"                                   \
      "1:\n"                                            \
      "  add $24, %rsp\n"                               \
      "  ret\n"                                         \
      ".size " #exported ", . - " #exported "\n")

KTRACE_TRANSPARENT(dlsym, "  xor %edx, %edx\n", ktrace_real_dlsym);
KTRACE_TRANSPARENT(dlvsym, "", ktrace_real_dlvsym);
