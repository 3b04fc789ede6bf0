#include "device_harness.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

namespace fuzz {

using namespace ktrace::softdev;

namespace {

constexpr size_t kernarg_bytes = 8192;
constexpr size_t buffer_bytes = 65536;

// A fault names kernel, workgroup, wave, pc and instruction, or says that the dispatch is refused.
void check_is_named(const std::string& message) {
  if (message.find('\n') != std::string::npos || message.compare(0, 8, "kernel `") != 0) {
    give_up("a fault without a place: " + message);
  }
  if (message.find("` cannot be dispatched: ") != std::string::npos) {
    return;
  }
  for (const char* part : {"`, workgroup (", "), wave ", ", pc ", "]: "}) {
    if (message.find(part) == std::string::npos) {
      give_up("a fault without a part of its place: " + message);
    }
  }
}

std::string cause_of(const std::string& message) {
  const size_t refused = message.find("` cannot be dispatched: ");
  if (refused != std::string::npos) {
    return message.substr(refused + 2);
  }
  const size_t implement = message.find("does not implement");
  return implement != std::string::npos ? message.substr(implement, 18)
                                        : message.substr(message.find("]: ") + 3);
}

void choose_shape(Dispatch& dispatch, Random& random) {
  const uint32_t odd[] = {0, 1, 2, 3, 63, 64, 65, 127, 128, 255, 256, 1023, 1024, 1025, 0x10000, 0xffffffffu};
  dispatch.block[0] = random.one_in(3) ? 1 + static_cast<uint32_t>(random.below(256)) : 64;
  dispatch.grid[0] = 1 + static_cast<uint32_t>(random.below(3));
  if (random.one_in(6)) {
    dispatch.block[1 + random.below(2)] = 1 + static_cast<uint32_t>(random.below(5));
  }
  if (random.one_in(12)) {
    (random.one_in(2) ? dispatch.grid : dispatch.block)[random.below(3)] = random.pick(odd);
  }
  if (random.one_in(12)) {
    for (unsigned axis = 0; axis < 3;
         ++axis) {  // as the HIP layer makes it: the last workgroup may be partial
      const uint64_t whole = uint64_t{dispatch.grid[axis]} * dispatch.block[axis];
      const uint64_t cut = random.below(dispatch.block[axis]);
      dispatch.global[axis] = static_cast<uint32_t>(whole > cut && whole <= 0xffffffffu ? whole - cut : 0);
    }
  }
  if (random.one_in(4)) {
    const uint32_t sizes[] = {4, 1024, 4096, 65536, 65537, 163840, 0x7fffffffu, 0xffffffffu};
    dispatch.dynamic_lds = random.pick(sizes);
  }
}

}  // namespace

DeviceHarness& DeviceHarness::get() {
  static DeviceHarness harness;
  return harness;
}

DeviceHarness::DeviceHarness() {
  setenv("KTRACE_SOFT_BUDGET", "20000", 0);  // read once, at the first dispatch
  for (const Arch arch : {Arch::gfx90a, Arch::gfx942, Arch::gfx950}) {
    m_devices[static_cast<size_t>(arch)] = std::make_unique<Device>(0, arch, m_registry);
  }
  for (unsigned k = 0; k < 4; ++k) {
    m_buffers.push_back(reinterpret_cast<uint64_t>(m_registry.allocate(buffer_bytes, MemoryKind::device)));
  }
  m_kernarg = m_registry.allocate(kernarg_bytes, MemoryKind::internal);
  m_allocations = m_registry.allocations().size();
}

std::shared_ptr<CodeObject> DeviceHarness::load(const Bytes& image) {
  try {
    auto object = CodeObject::load(image.data(), image.size(), m_registry);
    note("loaded");
    return object;
  } catch (const LoadError& error) {
    if (std::strlen(error.what()) == 0 || std::strchr(error.what(), '\n')) {
      give_up("a load error that is no line");
    }
    note_message("load error", error.what());
  } catch (const std::bad_alloc&) {
    note("load error: no memory");
  }
  return nullptr;
}

void DeviceHarness::fill_kernarg(const Kernel& kernel, Random& random) {
  auto* bytes = static_cast<uint8_t*>(m_kernarg);
  for (size_t at = 0; at < kernarg_bytes; at += 8) {  // pointers, mostly
    const uint64_t value = random.one_in(16)
                               ? random.odd_number(m_buffers[0])
                               : random.pick(m_buffers) + random.below(buffer_bytes / 2) / 16 * 16;
    std::memcpy(bytes + at, &value, sizeof value);
  }
  for (const KernelArgument& argument : kernel.arguments) {
    if (argument.value_kind != "global_buffer" && argument.size <= 8 &&
        uint64_t{argument.offset} + argument.size <= kernarg_bytes) {
      const uint64_t value = random.one_in(8) ? random.odd_number(64) : 1 + random.below(256);
      std::memcpy(bytes + argument.offset, &value, argument.size);
    }
  }
}

bool DeviceHarness::dispatch(const Dispatch& wanted) {
  try {
    Device& device = *m_devices[static_cast<size_t>(wanted.code_object->arch())];
    const DispatchResult result = device.run(wanted);
    if (result.end_cycles < result.start_cycles || result.waves < result.workgroups) {
      give_up("a dispatch that ends before it starts");
    }
    note("ran to its end");
    return true;
  } catch (const Fault& fault) {
    check_is_named(fault.what());
    note_message("fault", cause_of(fault.what()));
    m_last_fault = fault.what();
  } catch (const std::bad_alloc&) {
    note("fault: no memory");
  }
  return false;
}

bool DeviceHarness::run_one(const std::shared_ptr<CodeObject>& object, uint64_t argument) {
  std::memcpy(m_kernarg, &argument, sizeof argument);
  Dispatch wanted;
  wanted.code_object = object;
  wanted.kernel = &object->kernels().front();
  wanted.block[0] = 64;
  wanted.kernarg = m_kernarg;
  wanted.kernarg_size = kernarg_bytes;
  return dispatch(wanted);
}

void DeviceHarness::run(const std::shared_ptr<CodeObject>& object, Random& random) {
  constexpr unsigned most_kernels = 8;
  unsigned count = 0;
  for (const Kernel& kernel : object->kernels()) {
    if (++count > most_kernels) {
      return;
    }
    Dispatch wanted;
    wanted.code_object = object;
    wanted.kernel = &kernel;
    choose_shape(wanted, random);
    fill_kernarg(kernel, random);
    wanted.kernarg = m_kernarg;
    wanted.kernarg_size = random.one_in(16) ? random.below(kernarg_bytes) : kernarg_bytes;
    dispatch(wanted);
  }
}

void DeviceHarness::check_nothing_is_left() const {
  if (m_registry.allocations().size() != m_allocations) {
    give_up("memory of a code object or of a dispatch is still registered");
  }
}

}  // namespace fuzz
