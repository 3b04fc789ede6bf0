// Which annotated kernel a handle of the application stands for. Calls no HIP function.
//
// HIP uses handles and addresses again once it is done with them, so what is known of one goes when HIP is
// told to let go of it, and when it turns up for something else.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <shared_mutex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "code_object.hpp"
#include "code_object_tap.hpp"
#include "image_store.hpp"
#include "losses.hpp"
#include "status.hpp"

namespace ktrace {

// The builds of one function for several targets, of which HIP picks one per device. Only functions with at
// least one annotated build are kept.
struct FunctionBuilds {
  struct Build {
    std::string target;
    const Kernel* kernel;  // null: that build is not annotated

    bool operator<(const Build& other) const {
      return std::tie(target, kernel) < std::tie(other.target, other.kernel);
    }
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
 private:
  struct Module {
    StoredImage image;
    std::unordered_set<const void*> functions;
    const void* library = nullptr;  // whose module it is, and with which it goes
  };

 public:
  Registry(Status* status, LossBook* losses);
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // By address alone, as hipModuleLoadData gets it.
  void add_module(const void* module, const void* image);
  void add_module_file(const void* module, const std::string& path);
  // A hipModule_t that HIP gave for a hipLibrary_t.
  void add_module_of_library(const void* module, const void* library);
  // Another thread may get the same handle for a new module as soon as HIP has let go of it, so it is taken
  // away before HIP is asked to unload, and put back if HIP refuses.
  struct TakenModule {
    const void* handle = nullptr;
    Module module;
    std::vector<std::pair<const void*, FoundFunction>> functions;
  };
  TakenModule take_module(const void* module);
  void put_back(TakenModule taken);

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
  // A kernel of code that HIP made itself, by its name: for handles that are not known otherwise.
  FoundFunction find_tapped(const std::string& name);
  // After a launch of a kernel that nobody could name: if there are archives that only HIP reads, they are
  // the likely reason. Counted once.
  void count_unread_archive();
  CodeObjectTap& tap() { return m_tap; }

  // Reads what was registered and never launched, as far as that is a bounded amount of work, while no
  // annotated kernel was launched: a program that is told that it has none is told the truth.
  void read_unread();

  void lock_for_fork();
  void unlock_in_parent();
  void renew_lock_in_child();

 private:
  struct Function {
    FoundFunction found;
    const void* owner;  // its module or fat binary
  };
  struct FatBinary {
    std::uint64_t serial = 0;     // tells it from an earlier one with the same handle
    const void* image = nullptr;  // null: there is none in memory
    bool is_read = false;
    bool is_counted_unread = false;
    StoredImage content;
    std::vector<const void*> host_functions;
    std::vector<const void*> functions;  // that HIP gave for them
  };
  struct HostFunction {
    const void* handle;
    std::string name;
    bool is_resolved = false;
    FoundFunction found;
  };

  FoundFunction find_in(const StoredImage& image, const std::string& name);
  const FunctionBuilds* intern_builds(FunctionBuilds builds);
  void insert_module(const void* module, StoredImage image);
  void erase_function(const void* function, const void* owner);
  void drop_module(const void* module);
  void drop_modules_of_library(const void* library);
  void drop_fat_binary(const void* handle);
  void read_fat_binary(const void* handle);
  void read_late(const void* handle);

  Status* m_status;
  LossBook* m_losses;
  ImageStore m_store;
  CodeObjectTap m_tap;
  mutable std::shared_mutex m_mutex;
  std::map<std::vector<FunctionBuilds::Build>, std::unique_ptr<FunctionBuilds>>
      m_builds;  // never removed from

  std::unordered_map<const void*, Module> m_modules;
  std::unordered_map<const void*, Function> m_functions;
  std::unordered_map<const void*, FatBinary> m_fat_binaries;
  std::unordered_map<const void*, HostFunction> m_host_functions;
  std::uint64_t m_fat_binary_count = 0;
  std::atomic<bool> m_has_unread_archive{false};
  std::uint64_t m_late_budget;  // bytes that may still be read after nobody needed them
};

}  // namespace ktrace
