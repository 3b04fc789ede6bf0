// Loads code objects and dispatches their kernels, and holds what must be true whatever the bytes were.
#pragma once

#include <memory>

#include "core/machine.hpp"
#include "driver.hpp"

namespace fuzz {

namespace softdev = ktrace::softdev;

class DeviceHarness {
 public:
  static DeviceHarness& get();

  // Null, and the reason is counted, if the image cannot be loaded.
  std::shared_ptr<softdev::CodeObject> load(const Bytes& image);
  // Dispatches every kernel with a shape and arguments out of `random`.
  void run(const std::shared_ptr<softdev::CodeObject>& object, Random& random);
  // Dispatches one wave of the first kernel, its one argument a number; false if it faulted.
  bool run_one(const std::shared_ptr<softdev::CodeObject>& object, uint64_t argument);
  softdev::MemoryRegistry& registry() { return m_registry; }
  const std::string& last_fault() const { return m_last_fault; }
  // Nothing that a trial allocated is left.
  void check_nothing_is_left() const;

 private:
  DeviceHarness();
  softdev::MemoryRegistry m_registry;
  std::unique_ptr<softdev::Device> m_devices[3];  // by Arch
  std::vector<uint64_t> m_buffers;                // addresses
  void* m_kernarg = nullptr;
  size_t m_allocations = 0;
  std::string m_last_fault;

  void fill_kernarg(const softdev::Kernel& kernel, Random& random);
  bool dispatch(const softdev::Dispatch& dispatch);
};

}  // namespace fuzz
