// Calls HIP in ways that its function does not return from: `cancel` or `throw`, once per function.
#include <pthread.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>

extern "C" {

struct Dim3 {
  unsigned x, y, z;
};
struct Launch {
  void* function;
  Dim3 grid, block;
  void** args;
  std::size_t shared;
  void* stream;
};

int hipInit(unsigned);
int hipMalloc(void**, std::size_t);
int hipStreamDestroy(void*);
int hipModuleUnload(void*);
int hipModuleLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                          void**, void**);
int hipLaunchKernel(const void*, Dim3, Dim3, void**, std::size_t, void*);
int hipExtLaunchMultiKernelMultiDevice(void*, int, unsigned);
int hipGraphLaunch(void*, void*);

}  // extern "C"

namespace {

char kernel;
void* const handle = &kernel;

void* allocate(void*) { return hipMalloc(nullptr, 1), nullptr; }
void* destroy_stream(void*) { return hipStreamDestroy(handle), nullptr; }
void* unload(void*) { return hipModuleUnload(handle), nullptr; }
void* launch(void*) {
  return hipModuleLaunchKernel(handle, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, nullptr), nullptr;
}
void* launch_host(void*) {
  return hipLaunchKernel(handle, {1, 1, 1}, {64, 1, 1}, nullptr, 0, nullptr), nullptr;
}
void* launch_list(void*) {
  Launch one{handle, {1, 1, 1}, {64, 1, 1}, nullptr, 0, nullptr};
  return hipExtLaunchMultiKernelMultiDevice(&one, 1, 0), nullptr;
}
void* launch_graph(void*) { return hipGraphLaunch(handle, nullptr), nullptr; }

struct Call {
  const char* name;
  void* (*make)(void*);
};
const Call calls[] = {{"malloc", allocate},
                      {"destroy", destroy_stream},
                      {"unload", unload},
                      {"launch", launch},
                      {"launch-host", launch_host},
                      {"launch-list", launch_list},
                      {"graph-launch", launch_graph}};

const Call* current = nullptr;

void* make_cancelled(void*) {
  pthread_cancel(pthread_self());
  current->make(nullptr);
  pthread_testcancel();
  return nullptr;
}

// At another depth of the stack each time.
[[gnu::noinline]] void make_caught(const Call& call, int depth) {
  volatile char room[512];
  room[0] = 0;
  if (depth > 0) return make_caught(call, depth - 1), void(room[0] = 1);
  try {
    call.make(nullptr);
    std::printf("%s returned\n", call.name);
  } catch (const std::exception& error) {
    std::printf("%s %s\n", call.name, error.what());
  }
}

}  // namespace

int main(int, char** arguments) {
  hipInit(0);
  const bool throws = std::strcmp(arguments[1], "throw") == 0;
  for (const Call& call : calls) {
    if (arguments[2] && std::strcmp(arguments[2], call.name) != 0) continue;
    if (throws) {
      for (int depth : {0, 3, 1}) make_caught(call, depth);
      continue;
    }
    current = &call;
    pthread_t thread;
    void* result = nullptr;
    pthread_create(&thread, nullptr, make_cancelled, nullptr);
    pthread_join(thread, &result);
    std::printf("%s %s\n", call.name, result == PTHREAD_CANCELED ? "canceled" : "returned");
  }
}
