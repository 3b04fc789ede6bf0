// dlopen as programs see it: the loader's own, except that a library which brings HIP is not opened with
// RTLD_DEEPBIND.
//
// With that flag its calls of HIP would be bound to HIP's own functions, past ours.
#include <dlfcn.h>

#include "elf_needs.hpp"
#include "hooks.hpp"
#include "loader.hpp"

#ifndef __x86_64__
#error "the transparent jump below is written for x86-64 only"
#endif

// What follows is called from assembly, the first only with RTLD_DEEPBIND; it answers the flags to use.
extern "C" __attribute__((visibility("hidden"))) int ktrace_dlopen_flags(
    const char* name, int flags, const void* return_address) noexcept {
  using namespace ktrace;
  const ErrnoKept errno_kept;
  try {
    if (!name || !*name || (flags & RTLD_NOLOAD)) return flags;
    const Needs needs = find_needs(name, return_address);
    if (!needs.has_hip && needs.is_known) return flags;
    // Nothing opens a file that is not there.
    if (!needs.has_hip && needs.files.empty() && std::string(name).find('/') != std::string::npos)
      return flags;
    note_unbound(needs.files);
    return flags & ~RTLD_DEEPBIND;
  } catch (...) {
    return flags;
  }
}

extern "C" __attribute__((visibility("hidden"))) void* ktrace_real_dlopen() noexcept {
  return reinterpret_cast<void*>(ktrace::real_dlopen());
}

// A jump, not a call: the loader looks at its return address for the caller's run path and namespace.
static_assert(RTLD_DEEPBIND == 8);
asm(".text\n"
    ".p2align 4\n"
    ".globl dlopen\n"
    ".type dlopen, @function\n"
    "dlopen:\n"
    "  push %rdi\n"
    "  push %rsi\n"
    "  sub $8, %rsp\n"
    "  test $8, %esi\n"
    "  je 1f\n"
    "  mov 24(%rsp), %rdx\n"
    "  call ktrace_dlopen_flags\n"
    "  mov %rax, 8(%rsp)\n"
    "1:\n"
    "  call ktrace_real_dlopen\n"
    "  mov %rax, %r11\n"
    "  add $8, %rsp\n"
    "  pop %rsi\n"
    "  pop %rdi\n"
    "  jmp *%r11\n"
    ".size dlopen, . - dlopen\n");
