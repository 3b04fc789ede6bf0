#include "hip_library.hpp"

#include <dlfcn.h>

#include <atomic>
#include <map>
#include <mutex>
#include <new>
#include <shared_mutex>

#include "loader.hpp"

namespace ktrace {
namespace {

// Never destroyed: hooks run until the last instruction of the process.
struct Libraries {
  std::shared_mutex mutex;
  HipLibrary entries[most_hip_libraries];
  std::atomic<int> count{0};
  std::map<std::string, int>
      index_by_caller;  // by path of the calling object; filled with several copies only
};

Libraries& libraries() {
  static auto* all = new Libraries;
  return *all;
}

using Resolver = void* (*)(void* handle, const char* name);

void* resolve_in_library(void* handle, const char* name) { return real_dlsym()(handle, name); }

// What the loader would have bound the program to: another preloaded library may stand between us and HIP.
void* resolve_next(void* handle, const char* name) {
  if (void* next = real_dlsym()(RTLD_NEXT, name)) return next;
  return real_dlsym()(handle, name);
}

void fill(HipLibrary& library, void* handle, Resolver resolve) {
#define KTRACE_HIP_RESOLVE(result, name, parameters) \
  library.name = reinterpret_cast<result(*) parameters>(resolve(handle, #name));
  KTRACE_HIP_HOOKED(KTRACE_HIP_RESOLVE)
  KTRACE_HIP_USED(KTRACE_HIP_RESOLVE)
#undef KTRACE_HIP_RESOLVE
}

int find_entry(Libraries& all, const std::string& path) {
  for (int i = 0; i < all.count; ++i)
    if (all.entries[i].path == path) return i;
  return -1;
}

// The loader is asked before the lock is taken: it has locks of its own.
int add_library(const std::string& path) {
  Libraries& all = libraries();
  {
    const std::shared_lock lock(all.mutex);
    if (const int index = find_entry(all, path); index >= 0) return index;
  }
  void* handle = handle_of_loaded(path);
  if (!handle || !real_dlsym()) return -1;
  HipLibrary library;
  library.path = path;
  const bool is_first_in_scope = object_path(real_dlsym()(RTLD_NEXT, "hipInit")) == path;
  fill(library, handle, is_first_in_scope ? resolve_next : resolve_in_library);

  const std::unique_lock lock(all.mutex);
  if (const int index = find_entry(all, path); index >= 0) return index;
  if (all.count == most_hip_libraries) return -1;
  library.index = all.count;
  all.entries[library.index] = library;
  all.count = library.index + 1;
  return library.index;
}

void add_loaded_libraries() {
  if (!real_dlsym()) return;
  void* next = real_dlsym()(RTLD_NEXT, "hipInit");
  if (next && is_hip_library(object_path(next))) add_library(object_path(next));
  for (const std::string& path : loaded_hip_libraries()) add_library(path);
}

int find_for_caller(const std::string& caller, const char* name) {
  if (void* handle = caller.empty() ? nullptr : handle_of_loaded(caller)) {
    const int index = hip_library_of_function(real_dlsym()(handle, name));
    dlclose(handle);
    if (index >= 0) return index;
  }
  return 0;  // the program itself: the global scope, where the first copy was found
}

}  // namespace

std::string error_words(const HipLibrary& hip, hipError_t error) {
  const char* name = hip.hipGetErrorName ? hip.hipGetErrorName(error) : nullptr;
  return name ? name : "error " + std::to_string(error);
}

HipLibrary& hip_library(int index) { return libraries().entries[index]; }

int hip_library_of_function(const void* address) {
  if (!address) return -1;
  const std::string path = object_path(address);
  return is_hip_library(path) ? add_library(path) : -1;
}

int hip_library_of_caller(const void* return_address, const char* name) {
  Libraries& all = libraries();
  static std::atomic<unsigned long long> looked_at{0};
  const unsigned long long loads = objects_loaded_so_far();
  if (looked_at != loads) {
    add_loaded_libraries();
    looked_at = loads;  // afterwards: a second thread that comes meanwhile must look for itself
  }
  if (all.count < 2) return 0;

  const std::string caller = object_path(return_address);
  {
    const std::shared_lock lock(all.mutex);
    const auto known = all.index_by_caller.find(caller);
    if (known != all.index_by_caller.end()) return known->second;
  }
  const int index = find_for_caller(caller, name);
  const std::unique_lock lock(all.mutex);
  all.index_by_caller.emplace(caller, index);
  return index;
}

void lock_hip_libraries_for_fork() { libraries().mutex.lock(); }
void unlock_hip_libraries_in_parent() { libraries().mutex.unlock(); }
void renew_hip_libraries_lock_in_child() { new (&libraries().mutex) std::shared_mutex; }

}  // namespace ktrace
