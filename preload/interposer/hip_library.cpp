#include "hip_library.hpp"

#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>
#include <shared_mutex>

#include "api_table.hpp"
#include "caller_slots.hpp"
#include "fork_lock.hpp"
#include "hooks.hpp"
#include "loader.hpp"

namespace ktrace {
namespace {

using FileId = std::pair<dev_t, ino_t>;

// Never destroyed: hooks run until the last instruction of the process.
struct Libraries {
  std::shared_mutex mutex;
  std::mutex writing;  // of callers' slots; nothing else is done with it in hand
  HipLibrary entries[most_hip_libraries];
  std::atomic<int> count{0};
  std::atomic<int> copies{0};         // those past the most, too
  std::set<std::uintptr_t> unhooked;  // where the copies past the most are loaded
  std::set<FileId> unbound;           // files opened without the RTLD_DEEPBIND that they were to have
  std::atomic<unsigned long long> looked_at{0};
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
  if (!all.unhooked.insert(base).second) return;
  ++all.copies;
  all.unseen.unhooked.add();
  if (Session* session = Session::existing()) session->count_unseen_libraries();
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
  if (is_elsewhere || all.count == most_hip_libraries) {
    count_unhooked(all, object.base);
    return -1;
  }
  HipLibrary& library = all.entries[all.count];
  static_cast<HipFunctions&>(library) = library.exported = functions;
  library.index = all.count;
  library.path = object.path;
  library.base = object.base;
  if (has_table) library.call_path = CallPath::table_expected;
  all.count = library.index + 1;
  ++all.copies;
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

FileId file_id(const std::string& path) {
  struct stat facts{};
  return stat(path.c_str(), &facts) == 0 ? FileId{facts.st_dev, facts.st_ino} : FileId{};
}

bool is_unbound(const std::string& path) {
  Libraries& all = libraries();
  const FileId id = file_id(path);
  const std::shared_lock lock(all.mutex);
  return all.unbound.count(id) != 0;
}

void* ask_loader(void* handle, const char* name, const char* version) {
  return version ? real_dlvsym()(handle, name, version) : real_dlsym()(handle, name);
}

void* function_in_object(const LoadedObject& object, const char* name, const char* version) {
  void* handle = object.path.empty() ? nullptr : handle_of_loaded(object.path);
  if (!handle) return nullptr;
  void* function = ask_loader(handle, name, version);
  dlclose(handle);
  return function;
}

Binding binding_in_scope(const LoadedObject& caller, const char* name) {
  void* function = function_in_scope(caller, name);
  const LoadedObject owner = object_of(function);
  if (!is_hip_library(owner.path)) return {};  // somebody's wrapper around the copy that callers see first
  return {add_library(owner), function};
}

// Of several copies, each caller's references go to its own from now on. Answers where a call that has just
// come by `name` goes, if all that were not bound before agree.
std::optional<Binding> bind_new_callers(const char* called) {
  std::optional<Binding> of_call;
  bool agree = true;
  bind_callers(libraries().writing, [&](const LoadedObject& caller, const char* name) -> void* {
    const Binding binding = binding_in_scope(caller, name);
    if (!binding.function) return nullptr;
    if (std::strcmp(name, called) == 0) {
      agree = agree && (!of_call || of_call->function == binding.function);
      of_call = binding;
    }
    return binding.library < 0 ? binding.function : find_hook(name, binding.library);
  });
  return agree ? of_call : std::nullopt;
}

}  // namespace

void note_passed_on(HipLibrary& hip) noexcept {
  if (hip.call_path != CallPath::table_expected) return;
  CallPath expected = CallPath::table_expected;
  hip.call_path.compare_exchange_strong(expected, CallPath::symbols);
}

std::string error_words(const HipLibrary& hip, hipError_t error) {
  const char* name = hip.hipGetErrorName ? hip.hipGetErrorName(error) : nullptr;
  return name ? name : "error " + std::to_string(error);
}

bool is_fault(hipError_t error) {
  return error == hip_error_illegal_address || error == hip_error_launch_failure;
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

void note_unbound(const std::vector<std::string>& files) {
  Libraries& all = libraries();
  std::set<FileId> ids;
  for (const std::string& file : files) ids.insert(file_id(file));
  all.unseen.unbound.add();
  if (Session* session = Session::existing()) session->count_unseen_libraries();
  const std::unique_lock lock(all.mutex);
  all.unbound.insert(ids.begin(), ids.end());
}

void* function_in_scope(const LoadedObject& caller, const char* name, const char* version) {
  const bool is_local_first = is_unbound(caller.path);
  if (is_local_first)
    if (void* own = function_in_object(caller, name, version)) return own;
  if (void* next = ask_loader(RTLD_NEXT, name, version)) return next;
  return is_local_first ? nullptr : function_in_object(caller, name, version);
}

void* next_for_caller(const void* return_address, const char* name) {
  const std::vector<void*> definitions = definitions_of(name);
  if (definitions.size() == 1) return definitions.front();
  if (definitions.empty() || !real_dlsym()) return nullptr;
  // Somebody who stands in front of us has a definition, too, and means another one.
  const LoadedObject caller = object_of(return_address);
  const auto is_another = [&](void* one) { return one && object_of(one).base != caller.base; };
  if (void* next = function_in_scope(caller, name); is_another(next)) return next;
  const auto other = std::find_if(definitions.begin(), definitions.end(), is_another);
  return other == definitions.end() ? nullptr : *other;
}

std::optional<Binding> look_at_loaded_objects(const char* called) {
  Libraries& all = libraries();
  const unsigned long long changes = object_changes_so_far();
  if (all.looked_at == changes) return std::nullopt;
  add_loaded_libraries();
  const std::optional<Binding> of_call = all.copies > 1 ? bind_new_callers(called) : std::nullopt;
  all.looked_at = changes;  // afterwards: a second thread that comes meanwhile must look for itself
  return of_call;
}

// With several copies only calls through a place that is not bound yet come here.
Binding binding_of_caller(const void* return_address, const char* name) {
  const std::optional<Binding> of_call = look_at_loaded_objects(name);
  if (libraries().copies < 2) return {};
  if (of_call) return *of_call;
  return binding_in_scope(object_of(return_address), name);
}

void lock_hip_libraries_for_fork() {
  libraries().mutex.lock();
  libraries().writing.lock();
}
void unlock_hip_libraries_in_parent() {
  libraries().writing.unlock();
  libraries().mutex.unlock();
}
void renew_hip_libraries_lock_in_child() {
  libraries().writing.unlock();
  renew_in_child(libraries().mutex);
  libraries().unseen.unbound.restart_in_child();
  libraries().unseen.unhooked.restart_in_child();
}

}  // namespace ktrace
