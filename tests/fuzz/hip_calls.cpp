// Sequences of HIP calls with odd arguments, each in a process of its own: whatever a program does, it gets
// an error code, and after hipDeviceReset the devices work.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>

#include "elf_mutation.hpp"
#include "hip_arguments.hpp"
#include "instruction_stream.hpp"

struct hipMemPoolProps;
struct hipDeviceProp_tR0600;
struct hipDeviceProp_tR0000;

extern "C" {
void** __hipRegisterFatBinary(const void* wrapper);
void __hipRegisterFunction(void** modules, const void* host_function, char*, const char* name, unsigned,
                           void*, void*, dim3*, dim3*, int*);
void __lsan_do_leak_check() __attribute__((weak));
}

namespace fuzz {

namespace {

struct Call {
  const char* name;
  hipError_t (*make)(Draw&);
};

#include "calls.inc"

constexpr unsigned calls_per_trial = 300;

// Writes to LDS: it faults nowhere.
Bytes harmless_kernel() {
  KernelImage kernel;
  kernel.lds_bytes = 1024;
  return make_image(kernel,
                    {0x260000bf, 0xd81a0000, 0x00000000});  // v_and_b32 v0, 63, v0; ds_write_b32 v0, v0
}

// Without a description of its arguments, what it loads is null.
Bytes faulting_kernel() {
  return make_image(KernelImage{}, {
                                       0x7e020280,              // v_mov_b32 v1, 0
                                       0xbe840180,              // s_mov_b64 s[4:5], 0
                                       0xdc708000, 0x00040201,  // global_store_dword v1, v2, s[4:5]
                                   });
}

[[noreturn]] void fail(const char* what, unsigned code) {
  std::fprintf(stderr, "fuzz: %s (%u)\n", what, code);
  std::abort();
}

void expect(hipError_t error, const char* what) {
  if (error != hipSuccess) {
    fail(what, error);
  }
}

// Everything that a program needs to use the device, after all that was done to it.
void check_devices_work(const Bytes& image) {
  for (int device = 0; device < 2; ++device) {  // all first: a capture on one forbids calls on the other
    expect(hipSetDevice(device), "hipSetDevice after everything");
    expect(hipDeviceReset(), "hipDeviceReset after everything");
  }
  for (int device = 0; device < 2; ++device) {
    expect(hipSetDevice(device), "hipSetDevice after hipDeviceReset");
    hipModule_t module = nullptr;
    hipFunction_t function = nullptr;
    void* memory = nullptr;
    uint32_t stored = 0;
    void* no_parameters[] = {nullptr};
    expect(hipModuleLoadData(&module, image.data()), "hipModuleLoadData after hipDeviceReset");
    expect(hipModuleGetFunction(&function, module, "k"), "hipModuleGetFunction after hipDeviceReset");
    expect(hipMalloc(&memory, 4), "hipMalloc after hipDeviceReset");
    expect(hipModuleLaunchKernel(function, 2, 1, 1, 64, 1, 1, 0, nullptr, no_parameters, nullptr),
           "a launch after hipDeviceReset");
    expect(hipDeviceSynchronize(), "the launch's end after hipDeviceReset");
    expect(hipMemsetD32(memory, 42, 1), "hipMemsetD32 after hipDeviceReset");
    expect(hipMemcpyDtoH(&stored, memory, 4), "hipMemcpyDtoH after hipDeviceReset");
    if (stored != 42) {
      fail("memory holds something else after hipDeviceReset", stored);
    }
  }
}

struct Wrapper {
  uint32_t magic = 0x48495046;
  uint32_t version = 1;
  const void* content = nullptr;
  const void* unused = nullptr;
};

// What the calls find: memory, code objects, registered functions.
void prepare(Draw& draw, std::vector<Bytes>& images) {
  Random& random = draw.random();
  for (unsigned k = 0; k < 6; ++k) {
    void* pointer = nullptr;
    if ((k % 2 ? hipMalloc(&pointer, 4096) : hipHostMalloc(&pointer, 65536, 0)) == hipSuccess) {
      draw.pointers.push_back(pointer);
    }
  }
  for (Bytes& image : images) {
    if (random.one_in(3)) {
      mutate_elf(image, random);
    }
    void* copy = nullptr;  // known to HIP: other calls take it for memory of any size
    if (!image.empty() && hipHostMalloc(&copy, image.size(), 0) == hipSuccess) {
      std::memcpy(copy, image.data(), image.size());
      draw.images.push_back(copy);
    }
  }
  static char host_function, host_variable;
  static Wrapper wrapper;
  static const Bytes whole = harmless_kernel();  // the program's own: HIP takes it to be as long as it says
  wrapper.content = whole.data();
  void** binary = __hipRegisterFatBinary(&wrapper);
  __hipRegisterFunction(binary, &host_function, nullptr, "k", 0, nullptr, nullptr, nullptr, nullptr, nullptr);
  draw.functions = {&host_function, &host_variable, nullptr};
  draw.variables = {&host_variable, &host_function, nullptr};
}

void run_calls(uint64_t seed, std::map<std::string, unsigned>& counts) {
  Draw draw(seed);
  const Bytes image = harmless_kernel();
  std::vector<Bytes> images = {image, image, image, faulting_kernel()};
  static Bytes own_memory(65536);
  draw.host = {own_memory.data(), own_memory.data() + 8192};
  prepare(draw, images);
  for (unsigned n = 0; n < calls_per_trial; ++n) {
    const Call& call = draw.random().pick(calls);
    draw.begin_call(call.name);
    if (std::getenv("KTRACE_FUZZ_TRACE") != nullptr) {
      std::fprintf(stderr, "%u %s\n", n, call.name);
    }
    const hipError_t error = call.make(draw);
    if (error == hipErrorUnknown) {
      fail(call.name, error);  // an exception that nobody expected
    }
    ++counts[std::string(call.name) + " " + std::to_string(error)];
    if (error == hipSuccess) {
      draw.keep_results();
    }
    draw.forget_freed();
    if (draw.random().one_in(60)) {
      hipDeviceReset();
    }
  }
  check_devices_work(image);
}

Bytes make(Random& random, const std::vector<Bytes>&) {
  Bytes input(8);
  const uint64_t seed = random.next();
  std::memcpy(input.data(), &seed, sizeof seed);
  return input;
}

// In the child: no way back, and what it has leaked is told here. It ends with the driver, which gives up on
// a trial that hangs.
[[noreturn]] void run_in_child(uint64_t seed, int output) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setenv("KTRACE_SOFT_BUDGET", "20000", 0);
  setenv("KTRACE_SOFT_DEVICES", "2", 1);
  if (std::getenv("KTRACE_FUZZ_TRACE") == nullptr && !std::freopen("/dev/null", "w", stderr)) {
    _exit(3);
  }
  std::map<std::string, unsigned> counts;
  run_calls(seed, counts);
  std::map<std::string, unsigned> count_by_error;
  for (const auto& [outcome, count] : counts) {
    count_by_error[outcome.substr(outcome.find(' ') + 1)] += count;
  }
  for (const auto& [error, count] : count_by_error) {
    dprintf(output, "%u %s\n", count, error.c_str());
  }
  if (__lsan_do_leak_check) {
    __lsan_do_leak_check();
  }
  _exit(0);
}

void attempt(const Bytes& input) {
  int ends[2];
  if (pipe(ends) != 0) {
    give_up("no pipe");
  }
  const uint64_t seed = hash_of(input);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    run_in_child(seed, ends[1]);
  }
  close(ends[1]);
  std::FILE* output = fdopen(ends[0], "r");
  unsigned count = 0, error = 0;
  while (std::fscanf(output, "%u %u", &count, &error) == 2) {
    for (; count > 0; --count) {
      note("answer " + std::to_string(error));
    }
  }
  std::fclose(output);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) {
    give_up("the program that called HIP died with status " + std::to_string(status) +
            "; KTRACE_FUZZ_TRACE=1 shows its calls");
  }
}

}  // namespace

const Driver driver{make, attempt};

}  // namespace fuzz
