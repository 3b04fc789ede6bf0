// Every way in which the C library starts a program: passed through as it is, counted where the program will
// not be traced.
//
// The environment of a program is its starter's business: it is looked at and never changed. All of this may
// run between vfork and exec, where the memory is the parent's, and in signal handlers.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdarg>
#include <cstddef>

#include "hooks.hpp"
#include "loader.hpp"
#include "untraced_children.hpp"

extern "C" char** environ;
extern "C" long syscall(long number, ...) noexcept;

namespace ktrace {
namespace {

using Strings = char* const*;

// Result, name, parameters; spawn's attributes and popen's FILE are opaque here.
#define KTRACE_STARTERS(X)                                                              \
  X(int, execve, (const char*, Strings, Strings))                                       \
  X(int, execv, (const char*, Strings))                                                 \
  X(int, execvp, (const char*, Strings))                                                \
  X(int, execvpe, (const char*, Strings, Strings))                                      \
  X(int, fexecve, (int, Strings, Strings))                                              \
  X(int, execveat, (int, const char*, Strings, Strings, int))                           \
  X(int, posix_spawn, (int*, const char*, const void*, const void*, Strings, Strings))  \
  X(int, posix_spawnp, (int*, const char*, const void*, const void*, Strings, Strings)) \
  X(int, system, (const char*))                                                         \
  X(void*, popen, (const char*, const char*))

struct Starters {
#define KTRACE_STARTER_POINTER(Result, name, parameters) Result(*name) parameters;
  KTRACE_STARTERS(KTRACE_STARTER_POINTER)
#undef KTRACE_STARTER_POINTER
};

// The next ones in load order, which may be another preloaded library's. Looked up when this library is
// loaded: the loader's locks are not to be taken between vfork and exec.
Starters next;

__attribute__((constructor)) void find_next() {
  if (next.execve || !real_dlsym()) return;
#define KTRACE_FIND_STARTER(Result, name, parameters) \
  next.name = reinterpret_cast<Result(*) parameters>(real_dlsym()(RTLD_NEXT, #name));
  KTRACE_STARTERS(KTRACE_FIND_STARTER)
#undef KTRACE_FIND_STARTER
  if (!next.execveat) dlerror();  // before glibc 2.34, and nobody asked
}

// Another library's constructor may start a program before ours has run.
const Starters& starters() {
  if (!next.execve) find_next();
  return next;
}

// Of an argument list, its terminating null included; `list` is at the argument behind `first`.
std::size_t length_of(const char* first, va_list* list) {
  std::size_t length = 1;
  for (const char* argument = first; argument; ++length) argument = va_arg(*list, const char*);
  return length;
}

// The list as an array, which execl and its kind need, too.
void copy_arguments(const char* first, va_list* list, char** arguments) {
  const char* argument = first;
  for (; argument; argument = va_arg(*list, const char*)) *arguments++ = const_cast<char*>(argument);
  *arguments = nullptr;
}

// exec returns only where it failed.
template <class Result>
Result failed(UntracedStart start, Result result) {
  start.take_back();
  return result;
}

}  // namespace

extern "C" {

// Under names of our own in C++: the C library's headers declare theirs with other attributes.
KTRACE_EXPORT int start_execve(const char*, Strings, Strings) __asm__("execve");
KTRACE_EXPORT int start_execv(const char*, Strings) __asm__("execv");
KTRACE_EXPORT int start_execvp(const char*, Strings) __asm__("execvp");
KTRACE_EXPORT int start_execvpe(const char*, Strings, Strings) __asm__("execvpe");
KTRACE_EXPORT int start_fexecve(int, Strings, Strings) __asm__("fexecve");
KTRACE_EXPORT int start_execveat(int, const char*, Strings, Strings, int) __asm__("execveat");
KTRACE_EXPORT int start_execl(const char*, const char*, ...) __asm__("execl");
KTRACE_EXPORT int start_execlp(const char*, const char*, ...) __asm__("execlp");
KTRACE_EXPORT int start_execle(const char*, const char*, ...) __asm__("execle");
KTRACE_EXPORT int start_posix_spawn(int*, const char*, const void*, const void*, Strings,
                                    Strings) __asm__("posix_spawn");
KTRACE_EXPORT int start_posix_spawnp(int*, const char*, const void*, const void*, Strings,
                                     Strings) __asm__("posix_spawnp");
KTRACE_EXPORT int start_system(const char*) __asm__("system");
KTRACE_EXPORT void* start_popen(const char*, const char*) __asm__("popen");

int start_execve(const char* path, Strings arguments, Strings environment) {
  const UntracedStart start(environment);
  return failed(start, starters().execve(path, arguments, environment));
}

int start_execv(const char* path, Strings arguments) {
  const UntracedStart start(environ);
  return failed(start, starters().execv(path, arguments));
}

int start_execvp(const char* file, Strings arguments) {
  const UntracedStart start(environ);
  return failed(start, starters().execvp(file, arguments));
}

int start_execvpe(const char* file, Strings arguments, Strings environment) {
  const UntracedStart start(environment);
  return failed(start, starters().execvpe(file, arguments, environment));
}

int start_fexecve(int file, Strings arguments, Strings environment) {
  const UntracedStart start(environment);
  return failed(start, starters().fexecve(file, arguments, environment));
}

int start_execveat(int folder, const char* path, Strings arguments, Strings environment, int flags) {
  const UntracedStart start(environment);
  if (starters().execveat)
    return failed(start, starters().execveat(folder, path, arguments, environment, flags));
  return failed(start, static_cast<int>(syscall(SYS_execveat, folder, path, arguments, environment, flags)));
}

int start_execl(const char* path, const char* first, ...) {
  va_list list;
  va_start(list, first);
  auto** arguments = static_cast<char**>(__builtin_alloca(length_of(first, &list) * sizeof(char*)));
  va_end(list);
  va_start(list, first);
  copy_arguments(first, &list, arguments);
  va_end(list);
  return start_execv(path, arguments);
}

int start_execlp(const char* file, const char* first, ...) {
  va_list list;
  va_start(list, first);
  auto** arguments = static_cast<char**>(__builtin_alloca(length_of(first, &list) * sizeof(char*)));
  va_end(list);
  va_start(list, first);
  copy_arguments(first, &list, arguments);
  va_end(list);
  return start_execvp(file, arguments);
}

int start_execle(const char* path, const char* first, ...) {
  va_list list;
  va_start(list, first);
  auto** arguments = static_cast<char**>(__builtin_alloca(length_of(first, &list) * sizeof(char*)));
  Strings environment = va_arg(list, Strings);
  va_end(list);
  va_start(list, first);
  copy_arguments(first, &list, arguments);
  va_end(list);
  return start_execve(path, arguments, environment);
}

int start_posix_spawn(int* pid, const char* path, const void* actions, const void* attributes,
                      Strings arguments, Strings environment) {
  UntracedStart start(environment);
  const int error = starters().posix_spawn(pid, path, actions, attributes, arguments, environment);
  if (error != 0) start.take_back();
  return error;
}

int start_posix_spawnp(int* pid, const char* file, const void* actions, const void* attributes,
                       Strings arguments, Strings environment) {
  UntracedStart start(environment);
  const int error = starters().posix_spawnp(pid, file, actions, attributes, arguments, environment);
  if (error != 0) start.take_back();
  return error;
}

// The shell that these two start has this process's environment. Without a command nothing is started.
int start_system(const char* command) {
  if (!command) return starters().system(command);
  UntracedStart start(environ);
  const int status = starters().system(command);
  if (status == -1) start.take_back();
  return status;
}

void* start_popen(const char* command, const char* mode) {
  UntracedStart start(environ);
  void* stream = starters().popen(command, mode);
  if (!stream) start.take_back();
  return stream;
}

}  // extern "C"
}  // namespace ktrace
