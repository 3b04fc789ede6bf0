// Which annotated kernel a handle of the application stands for. Calls no HIP function.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "code_object.hpp"
#include "losses.hpp"
#include "status.hpp"

namespace ktrace {

// The builds of one function for several targets, of which HIP picks one per device. Only functions with at
// least one annotated build are kept.
struct FunctionBuilds {
  struct Build {
    std::string target;
    const Kernel* kernel;  // null: that build is not annotated
  };
  std::vector<Build> builds;

  // Null where HIP would take a build that is not annotated. `device` is the device's own target id, "" if
  // unknown.
  const Kernel* pick(const std::string& device) const;
};

// What a handle of the application stands for.
struct FoundFunction {
  bool is_known = false;                   // its code object was seen and could be read
  const FunctionBuilds* builds = nullptr;  // null without any annotated build
};

// Libraries (hipLibrary_t) are modules here: HIP loads them later, but their kernels are known at once, and
// no handle is both.
class Registry {
 public:
  Registry(Status* status, LossBook* losses);
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  void add_module(const void* module, Bytes image);
  // By address alone, as hipModuleLoadData gets it.
  void add_module(const void* module, const void* image);
  void add_module_file(const void* module, const std::string& path);
  void remove_module(const void* module);
  void add_function(const void* module, const void* function, const std::string& name);
  // A hipFunction_t that HIP gave for a hipKernel_t.
  void add_function_of_kernel(const void* function, const void* kernel);
  void add_fat_binary(const void* handle, const void* wrapper);
  void remove_fat_binary(const void* handle);
  void add_host_function(const void* handle, const void* host_function, const std::string& name);
  // A hipFunction_t that HIP gave for a host function.
  void add_alias(const void* function, const void* host_function);

  // Builds are valid as long as the process runs.
  FoundFunction find_function(const void* function) const;
  FoundFunction find_host_function(const void* host_function);

  // Reads what was registered and never launched, as far as that is a bounded amount of work, while no
  // annotated kernel was launched: a program that is told that it has none is told the truth.
  void read_unread();

  void lock_for_fork() { m_mutex.lock(); }
  void unlock_in_parent() { m_mutex.unlock(); }
  // A read-write lock knows its owner by a thread id that the child does not have: it cannot be unlocked
  // there.
  void renew_lock_in_child() { new (&m_mutex) std::shared_mutex; }

 private:
  struct Object {
    std::string target;
    const CodeObject* code_object;
  };
  using Objects = std::vector<Object>;
  struct FatBinary {
    const void* image = nullptr;
    bool is_read = false;
    bool is_counted_unread = false;
    Objects objects;
    std::vector<const void*> host_functions;
    std::vector<const void*> functions;  // that HIP gave for them
  };
  struct Module {
    Objects objects;
    std::unordered_set<const void*> functions;
  };
  struct HostFunction {
    const void* handle;
    std::string name;
    bool is_resolved = false;
    FoundFunction found;
  };
  using ContentKey = std::pair<std::uint64_t, std::uint64_t>;  // size, hash

  Objects read_image(Bytes image, const std::string& origin);
  const CodeObject* intern(Bytes file, const std::string& origin);
  FoundFunction find_in(const Objects& objects, const std::string& name);
  void insert_module(const void* module, Objects objects);
  void read_fat_binary(const void* handle);
  void read_late(const void* handle);

  Status* m_status;
  LossBook* m_losses;
  mutable std::shared_mutex m_mutex;
  // Never removed from: launches and the writer keep pointers into them.
  std::map<ContentKey, std::unique_ptr<CodeObject>> m_code_objects;
  std::vector<std::unique_ptr<FunctionBuilds>> m_builds;

  std::unordered_map<const void*, Module> m_modules;
  std::unordered_map<const void*, FoundFunction> m_functions;
  std::unordered_map<const void*, FatBinary> m_fat_binaries;
  std::unordered_map<const void*, HostFunction> m_host_functions;
  std::uint64_t m_late_budget;  // bytes that may still be read after nobody needed them
};

}  // namespace ktrace
