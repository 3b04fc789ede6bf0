#include "hip_library.hpp"

#include <dlfcn.h>

#include <map>
#include <mutex>
#include <new>
#include <set>
#include <shared_mutex>

#include "api_table.hpp"
#include "loader.hpp"

namespace ktrace {
namespace {

// Never destroyed: hooks run until the last instruction of the process.
struct Libraries {
  std::shared_mutex mutex;
  HipLibrary entries[most_hip_libraries];
  std::atomic<int> count{0};
  std::set<std::uintptr_t> unhooked;  // where the copies past the most are loaded
  std::atomic<unsigned long long> looked_at{0};
  // By address in the caller and name; filled with several copies only.
  std::map<std::pair<const void*, const char*>, Binding> binding_by_call;
  unsigned long long binding_changes = 0;
  UnseenLibraries unseen;
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

HipFunctions functions_of(void* handle, Resolver resolve) {
  HipFunctions functions;
#define KTRACE_HIP_RESOLVE(result, name, parameters) \
  functions.name = reinterpret_cast<result(*) parameters>(resolve(handle, #name));
  KTRACE_HIP_HOOKED(KTRACE_HIP_RESOLVE)
  KTRACE_HIP_USED(KTRACE_HIP_RESOLVE)
#undef KTRACE_HIP_RESOLVE
  return functions;
}

int find_entry(const Libraries& all, std::uintptr_t base) {
  for (int i = 0; i < all.count; ++i)
    if (all.entries[i].base == base) return i;
  return -1;
}

// Caller holds the lock.
void count_unhooked(Libraries& all, std::uintptr_t base) {
  if (all.unhooked.insert(base).second) all.unseen.unhooked.add();
}

// The loader is asked before the lock is taken: it has locks of its own.
int add_library(const LoadedObject& object) {
  Libraries& all = libraries();
  {
    const std::shared_lock lock(all.mutex);
    if (const int index = find_entry(all, object.base); index >= 0) return index;
    if (all.unhooked.count(object.base)) return -1;
  }
  void* handle = handle_of_loaded(object.path);
  if (!handle || !real_dlsym()) return -1;
  // The same file in another namespace, which has another copy of us or none.
  const bool is_elsewhere = object_of_handle(handle).base != object.base;
  HipFunctions functions;
  if (!is_elsewhere) {
    const bool is_next = object_of(real_dlsym()(RTLD_NEXT, "hipInit")).base == object.base;
    functions = functions_of(handle, is_next ? resolve_next : resolve_in_library);
  }
  const bool has_table = is_table_expected(object);

  const std::unique_lock lock(all.mutex);
  if (const int index = find_entry(all, object.base); index >= 0) return index;
  if (is_elsewhere || all.count == most_hip_libraries) return count_unhooked(all, object.base), -1;
  HipLibrary& library = all.entries[all.count];
  static_cast<HipFunctions&>(library) = library.exported = functions;
  library.index = all.count;
  library.path = object.path;
  library.base = object.base;
  if (has_table) library.call_path = CallPath::table_expected;
  all.count = library.index + 1;
  return library.index;
}

void add_loaded_libraries() {
  const std::vector<LoadedObject> loaded = loaded_hip_libraries();
  if (loaded.empty() || !real_dlsym()) return;
  const Libraries& all = libraries();
  if (all.count == 0) {  // the one that callers see first is the first
    const LoadedObject next = object_of(real_dlsym()(RTLD_NEXT, "hipInit"));
    if (is_hip_library(next.path)) add_library(next);
  }
  for (const LoadedObject& object : loaded) add_library(object);
}

// The loader's order: the global scope, then what the caller was loaded with.
void* function_for(const LoadedObject& caller, const char* name) {
  if (void* next = real_dlsym()(RTLD_NEXT, name)) return next;
  void* handle = caller.path.empty() ? nullptr : handle_of_loaded(caller.path);
  if (!handle) return nullptr;
  void* function = real_dlsym()(handle, name);
  dlclose(handle);
  return function;
}

Binding find_binding(const void* return_address, const char* name) {
  void* function = function_for(object_of(return_address), name);
  const LoadedObject owner = object_of(function);
  if (!is_hip_library(owner.path)) return {};  // somebody's wrapper around the copy that callers see first
  return {add_library(owner), function};
}

}  // namespace

PassedOn::~PassedOn() {
  if (m_hip.call_path != CallPath::table_expected) return;
  CallPath expected = CallPath::table_expected;
  m_hip.call_path.compare_exchange_strong(expected, CallPath::symbols);
}

std::string error_words(const HipLibrary& hip, hipError_t error) {
  const char* name = hip.hipGetErrorName ? hip.hipGetErrorName(error) : nullptr;
  return name ? name : "error " + std::to_string(error);
}

HipLibrary& hip_library(int index) { return libraries().entries[index]; }

UnseenLibraries& unseen_libraries() { return libraries().unseen; }

int hip_library_of(const void* address) {
  if (!address) return -1;
  const LoadedObject object = object_of(address);
  return is_hip_library(object.path) ? add_library(object) : -1;
}

int hip_library_of_table(const void* table) {
  const LoadedObject object = object_of(table);
  return object.path.empty() ? -1 : add_library(object);
}

Binding binding_of_caller(const void* return_address, const char* name) {
  Libraries& all = libraries();
  const unsigned long long changes = object_changes_so_far();
  if (all.looked_at != changes) {
    add_loaded_libraries();
    all.looked_at = changes;  // afterwards: a second thread that comes meanwhile must look for itself
  }
  if (all.count < 2) return {};
  {
    const std::shared_lock lock(all.mutex);
    const auto known = all.binding_by_call.find({return_address, name});
    if (known != all.binding_by_call.end() && all.binding_changes == changes) return known->second;
  }
  const Binding binding = find_binding(return_address, name);
  const std::unique_lock lock(all.mutex);
  if (all.binding_changes != changes) all.binding_by_call.clear();
  all.binding_changes = changes;
  all.binding_by_call[{return_address, name}] = binding;
  return binding;
}

void lock_hip_libraries_for_fork() { libraries().mutex.lock(); }
void unlock_hip_libraries_in_parent() { libraries().mutex.unlock(); }
void renew_hip_libraries_lock_in_child() {
  new (&libraries().mutex) std::shared_mutex;
  libraries().unseen.unbound.restart_in_child();
  libraries().unseen.unhooked.restart_in_child();
}

}  // namespace ktrace
