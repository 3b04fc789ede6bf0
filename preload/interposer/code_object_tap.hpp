// The machine code that HIP hands to the HSA runtime, by the names of its kernels: what HIP compiled from
// SPIR-V or fetched from an archive is seen nowhere else. Calls no function of HIP or HSA.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

#include "image_store.hpp"

namespace ktrace {

class CodeObjectTap {
 public:
  explicit CodeObjectTap(ImageStore* store) : m_store(store) {}
  CodeObjectTap(const CodeObjectTap&) = delete;
  CodeObjectTap& operator=(const CodeObjectTap&) = delete;

  void add(Bytes code_object);
  bool is_empty() const;

  struct Found {
    bool is_known = false;           // exactly one kernel of that name was handed over
    const Kernel* kernel = nullptr;  // null: it is not annotated
    std::string target;
  };
  // Nobody is better than the wrong one: a name that two kernels have stands for none of them.
  Found find(const std::string& name) const;

  void lock_for_fork() { m_mutex.lock(); }
  void unlock_after_fork() { m_mutex.unlock(); }

 private:
  struct Named {
    const Kernel* kernel;  // null: not annotated
    std::string target;
    bool is_ambiguous;
  };
  void add_name(const std::string& name, Named named);

  ImageStore* m_store;
  mutable std::mutex m_mutex;
  std::unordered_map<std::uint64_t, Named> m_named;  // by a hash of the name
  bool m_is_full = false;                            // then nothing is found any more
};

}  // namespace ktrace
