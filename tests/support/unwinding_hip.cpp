// A stand-in HIP whose functions do not return: they are cancellation points, and throw if asked to.
// HIP in C has no such thing in its interface, but what it waits in may be cancelled, and it has bugs.
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

namespace {

int answer() {
  if (std::getenv("STAND_IN_THROWS")) throw std::runtime_error("thrown by HIP");
  usleep(1);
  return 0;
}

}  // namespace

extern "C" {

struct Dim3 {
  unsigned x, y, z;
};

int hipInit(unsigned) { return 0; }
int hipGetDeviceCount(int* count) {
  *count = 1;
  return 0;
}
int hipMalloc(void**, std::size_t) { return answer(); }
int hipStreamDestroy(void*) { return answer(); }
int hipModuleUnload(void*) { return answer(); }
int hipModuleLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                          void**, void**) {
  return answer();
}
int hipLaunchKernel(const void*, Dim3, Dim3, void**, std::size_t, void*) { return answer(); }
int hipExtLaunchMultiKernelMultiDevice(void*, int, unsigned) { return answer(); }
int hipGraphLaunch(void*, void*) { return answer(); }
int hipModuleLoadData(void**, const void*) { return 1; }
int hipModuleGetFunction(void**, void*, const char*) { return 1; }

}  // extern "C"
