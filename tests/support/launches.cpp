// A program that launches one kernel many times, from several threads on several streams, and says how much
// of its thread's processor time a launch took and how many calls of HIP its thread made for it.
//
// launches CODE_OBJECT KERNEL THREADS STREAMS LAUNCHES [WAY]. Its stand-in HIP is async_hip.cpp. WAY:
// `capture`: a stream was captured before. `capture-destroy`, `capture-reset`: it, or what is on its device,
// was destroyed meanwhile. `capture-abandon`: its capture goes on. `settle`: between two batches everything
// is copied back. Output: one line of `name value` pairs.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

extern "C" {
int hipInit(unsigned);
int hipModuleLoadData(void**, const void*);
int hipModuleGetFunction(void**, void*, const char*);
int hipStreamCreateWithFlags(void**, unsigned);
int hipStreamSynchronize(void*);
int hipStreamBeginCapture(void*, int);
int hipStreamEndCapture(void*, void**);
int hipStreamDestroy(void*);
int hipDeviceReset();
int hipModuleLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                          void**, void**);
std::uint64_t stand_in_calls();
std::uint64_t stand_in_waits();
}

namespace {

constexpr int batch = 200;
constexpr int first_launches = 64;  // until there are buffers

std::vector<char> read_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Of the calling thread alone: what others do at the same time is not the launch's.
double cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

void check(int error, const char* what) {
  if (error == 0) return;
  std::fprintf(stderr, "%s returned %d\n", what, error);
  std::exit(1);
}

struct Measured {
  std::vector<double> ns;  // per launch, of each batch
  std::uint64_t calls = 0, counted_launches = 0;
};

void settle(std::uint64_t launches) {
  while (stand_in_waits() < launches) std::this_thread::sleep_for(std::chrono::microseconds(100));
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

Measured launch(void* function, int stream_count, int launches, bool settles) {
  std::vector<void*> streams(static_cast<std::size_t>(stream_count), nullptr);
  for (void*& stream : streams) check(hipStreamCreateWithFlags(&stream, 1), "hipStreamCreateWithFlags");
  std::uint64_t values[5] = {};
  void* params[5] = {&values[0], &values[1], &values[2], &values[3], &values[4]};
  Measured measured;
  const auto once = [&](int number) {
    check(hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0,
                                streams[static_cast<std::size_t>(number % stream_count)], params, nullptr),
          "hipModuleLaunchKernel");
  };
  int done = 0;
  for (; done < std::min(first_launches, launches); ++done) once(done);
  for (void* stream : streams) hipStreamSynchronize(stream);
  stand_in_calls();
  while (done < launches) {
    if (settles) settle(static_cast<std::uint64_t>(done));
    const int end = std::min(done + batch, launches);
    const double begin = cpu_ns();
    for (int i = done; i < end; ++i) once(i);
    measured.ns.push_back((cpu_ns() - begin) / (end - done));
    measured.counted_launches += static_cast<std::uint64_t>(end - done);
    done = end;
  }
  measured.calls = stand_in_calls();
  for (void* stream : streams) hipStreamSynchronize(stream);
  return measured;
}

void capture(const std::string& end) {
  void *stream = nullptr, *graph = nullptr;
  check(hipStreamCreateWithFlags(&stream, 1), "hipStreamCreateWithFlags");
  check(hipStreamBeginCapture(stream, 0), "hipStreamBeginCapture");
  if (end == "") check(hipStreamEndCapture(stream, &graph), "hipStreamEndCapture");
  if (end == "-destroy") check(hipStreamDestroy(stream), "hipStreamDestroy");
  if (end == "-reset") check(hipDeviceReset(), "hipDeviceReset");
}

}  // namespace

int main(int count, char** values) {
  if (count < 6) return 2;
  const std::vector<char> image = read_file(values[1]);
  void *module = nullptr, *function = nullptr;
  check(hipInit(0), "hipInit");
  check(hipModuleLoadData(&module, image.data()), "hipModuleLoadData");
  check(hipModuleGetFunction(&function, module, values[2]), "hipModuleGetFunction");
  if (count > 6 && std::strncmp(values[6], "capture", 7) == 0) capture(values[6] + 7);
  const bool settles = count > 6 && std::strcmp(values[6], "settle") == 0;
  const int threads = std::atoi(values[3]), streams = std::atoi(values[4]), launches = std::atoi(values[5]);
  std::vector<Measured> measured(static_cast<std::size_t>(threads));
  std::vector<std::thread> all;
  for (Measured& one : measured)
    all.emplace_back([&, streams, settles] { one = launch(function, streams, launches, settles); });
  for (std::thread& thread : all) thread.join();
  std::vector<double> ns;
  std::uint64_t calls = 0, counted = 0;
  for (const Measured& one : measured) {
    ns.insert(ns.end(), one.ns.begin(), one.ns.end());
    calls += one.calls;
    counted += one.counted_launches;
  }
  std::sort(ns.begin(), ns.end());
  std::printf("launches %d ns_least %.1f ns_median %.1f calls %.3f\n", threads * launches,
              ns.empty() ? 0 : ns.front(), ns.empty() ? 0 : ns[ns.size() / 2],
              counted ? static_cast<double>(calls) / static_cast<double>(counted) : 0);
  std::fflush(stdout);
}
