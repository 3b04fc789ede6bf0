// Launches saxpy from a thread that has been cancelled, and has not come to a cancellation point yet.
#include <pthread.h>

#include <cstdint>
#include <cstdio>
#include <vector>

extern "C" {

int hipInit(unsigned);
int hipModuleLoadData(void**, const void*);
int hipModuleGetFunction(void**, void*, const char*);
int hipModuleLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                          void**, void**);

}  // extern "C"

namespace {

void* kernel = nullptr;
int result = -1;

// No elements: it reads and writes nothing.
int launch() {
  std::uint64_t values[5] = {};
  void* places[5];
  for (int i = 0; i < 5; ++i) places[i] = &values[i];
  return hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, nullptr, places, nullptr);
}

void* launch_cancelled(void*) {
  pthread_cancel(pthread_self());
  result = launch();
  pthread_testcancel();
  return nullptr;
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<char> image(1 << 20);
  std::FILE* file = std::fopen(arguments[1], "rb");
  if (!file || std::fread(image.data(), 1, image.size(), file) == 0) return 1;
  std::fclose(file);
  void* module = nullptr;
  hipInit(0);
  if (hipModuleLoadData(&module, image.data()) || hipModuleGetFunction(&kernel, module, "saxpy")) return 2;
  if (count > 2) launch();
  pthread_t thread;
  void* ended = nullptr;
  pthread_create(&thread, nullptr, launch_cancelled, nullptr);
  pthread_join(thread, &ended);
  std::printf("launch %d canceled %d\n", result, ended == PTHREAD_CANCELED);
}
