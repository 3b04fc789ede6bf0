// A program whose threads come in each other's way as a program's may, one way after the other.
//
// racing CODE_OBJECT WAY TURNS, in front of async_hip.cpp, or of graph_hip.cpp for `graphs`. Output: how many
// launches it made in this process.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

struct Dim3 {
  std::uint32_t x, y, z;
};
struct KernelParams {
  Dim3 block;
  void** extra;
  void* func;
  Dim3 grid;
  void** params;
  unsigned shared;
};

extern "C" {
int hipInit(unsigned);
int hipModuleLoadData(void**, const void*);
int hipModuleUnload(void*);
int hipModuleGetFunction(void**, void*, const char*);
int hipStreamCreateWithFlags(void**, unsigned);
int hipStreamSynchronize(void*);
int hipModuleLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                          void**, void**);
#define KTRACE_IN_ONE __attribute__((weak))  // of the two stand-ins
int hipDeviceReset() KTRACE_IN_ONE;
int hipStreamDestroy(void*) KTRACE_IN_ONE;
int hipGraphCreate(void**, unsigned) KTRACE_IN_ONE;
int hipGraphDestroy(void*) KTRACE_IN_ONE;
int hipGraphAddKernelNode(void**, void*, const void*, std::size_t, const KernelParams*) KTRACE_IN_ONE;
int hipGraphInstantiateWithFlags(void**, void*, unsigned long long) KTRACE_IN_ONE;
int hipGraphExecKernelNodeSetParams(void*, void*, const KernelParams*) KTRACE_IN_ONE;
int hipGraphExecUpdate(void*, void*, void**, int*) KTRACE_IN_ONE;
int hipGraphNodeSetEnabled(void*, void*, unsigned) KTRACE_IN_ONE;
int hipGraphLaunch(void*, void*) KTRACE_IN_ONE;
int hipGraphExecDestroy(void*) KTRACE_IN_ONE;
}

namespace {

constexpr int thread_count = 4;
constexpr unsigned non_blocking = 1;

void check(int error) {
  if (error == 0) return;
  std::fprintf(stderr, "HIP answered %d\n", error);
  std::abort();
}

struct Program {
  std::vector<char> image;
  void* function = nullptr;
  int turns = 0;
  std::atomic<int> launches{0};
};
Program program;

std::vector<char> read_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void* get(int (*make)(void**, unsigned), unsigned flags) {
  void* made = nullptr;
  check(make(&made, flags));
  return made;
}

// saxpy's arguments for no elements.
struct Arguments {
  std::uint64_t values[5] = {};
  void* list[5] = {&values[0], &values[1], &values[2], &values[3], &values[4]};
};

void launch(void* function, void* stream) {
  Arguments arguments;
  check(hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, stream, arguments.list, nullptr));
  ++program.launches;
}

void launch_some(int count) {
  void* stream = get(hipStreamCreateWithFlags, non_blocking);
  for (int i = 0; i < count; ++i) launch(program.function, stream);
  check(hipStreamSynchronize(stream));
}

// The same on each of the threads at once, by their numbers.
template <class Work>
void on_all_threads(const Work& work) {
  std::vector<std::thread> threads;
  for (int number = 0; number < thread_count; ++number)
    threads.emplace_back([&work, number] { work(number); });
  for (std::thread& thread : threads) thread.join();
}

void load() {
  void* module = nullptr;
  check(hipInit(0));
  check(hipModuleLoadData(&module, program.image.data()));
  check(hipModuleGetFunction(&program.function, module, "saxpy"));
}

// Each loads, launches from and unloads modules of its own, and launches one that all have.
void race_modules() {
  on_all_threads([](int) {
    void* stream = get(hipStreamCreateWithFlags, non_blocking);
    for (int turn = 0; turn < program.turns; ++turn) {
      void *module = nullptr, *function = nullptr;
      check(hipModuleLoadData(&module, program.image.data()));
      check(hipModuleGetFunction(&function, module, "saxpy"));
      launch(function, stream);
      launch(program.function, stream);
      if (turn % 2 == 0) check(hipStreamSynchronize(stream));
      check(hipModuleUnload(module));
    }
    check(hipStreamSynchronize(stream));
  });
}

void race_streams() {
  on_all_threads([](int) {
    for (int turn = 0; turn < program.turns; ++turn) {
      void* stream = get(hipStreamCreateWithFlags, non_blocking);
      launch(program.function, stream);
      launch(program.function, nullptr);
      check(hipStreamSynchronize(stream));
      check(hipStreamDestroy(stream));
    }
    check(hipStreamSynchronize(nullptr));
  });
}

// What the device holds goes as soon as the program's own work is done, which copying back is not.
void reset_often() {
  for (int turn = 0; turn < program.turns; ++turn) {
    on_all_threads([](int) { launch_some(10); });
    check(hipDeviceReset());
  }
}

KernelParams params_of(Arguments& arguments, unsigned blocks) {
  return {{64, 1, 1}, nullptr, program.function, {blocks, 1, 1}, arguments.list, 0};
}

struct Graph {
  void *graph = nullptr, *node = nullptr;

  explicit Graph(unsigned blocks) : graph(get(hipGraphCreate, 0)) {
    Arguments arguments;
    const KernelParams params = params_of(arguments, blocks);
    check(hipGraphAddKernelNode(&node, graph, nullptr, 0, &params));
    check(hipGraphAddKernelNode(&node, graph, nullptr, 0, &params));
  }
  void* instantiate() const {
    void* exec = nullptr;
    check(hipGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
  }
};

// `shared`: instantiated by all, and so is its executable launched.
void change_and_launch(const Graph& shared, void* exec_of_all, unsigned blocks) {
  void* stream = get(hipStreamCreateWithFlags, non_blocking);
  Arguments arguments;
  for (int turn = 0; turn < program.turns; ++turn) {
    const Graph own(blocks + 1);
    void* exec = (turn % 2 == 0 ? own : shared).instantiate();
    const KernelParams params = params_of(arguments, blocks + 2);
    int outcome = 0;
    check(hipGraphLaunch(exec, stream));
    check(hipGraphLaunch(exec_of_all, stream));
    check(hipGraphExecKernelNodeSetParams(exec, turn % 2 == 0 ? own.node : shared.node, &params));
    check(hipGraphLaunch(exec, stream));
    check(hipGraphExecUpdate(exec, own.graph, nullptr, &outcome));
    check(hipGraphLaunch(exec, stream));
    check(hipGraphNodeSetEnabled(exec, turn % 2 == 0 ? own.node : shared.node, 0));
    check(hipGraphLaunch(exec, stream));
    program.launches += 2 + 2 + 2 + 2 + 1;
    if (turn % 3 == 0) check(hipStreamSynchronize(stream));
    check(hipGraphExecDestroy(exec));
    check(hipGraphDestroy(own.graph));
  }
  check(hipStreamSynchronize(stream));
}

void race_graphs() {
  const Graph shared(1);
  void* exec_of_all = shared.instantiate();
  on_all_threads(
      [&](int number) { change_and_launch(shared, exec_of_all, static_cast<unsigned>(number) + 1); });
  check(hipGraphExecDestroy(exec_of_all));
}

void wait_for(pid_t child, int expected) {
  int status = 0;
  if (waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == expected) return;
  std::fprintf(stderr, "a child ended with status %d\n", status);
  std::abort();
}

// Children launch, and end in two ways.
void fork_children(void (*launch_in_child)()) {
  for (int turn = 0; turn < program.turns; ++turn) {
    const pid_t child = fork();
    if (child == 0) {
      launch_in_child();
      if (turn % 2 == 0) std::exit(7);
      _exit(7);
    }
    wait_for(child, 7);
  }
}

void launch_on_all_threads() {
  on_all_threads([](int) { launch_some(10); });
}

void fork_idle() { fork_children(launch_on_all_threads); }

// Before the parent has called HIP.
void fork_first() {
  for (int turn = 0; turn < program.turns; ++turn) {
    const pid_t child = fork();
    if (child == 0) {
      load();
      launch_on_all_threads();
      std::exit(7);
    }
    wait_for(child, 7);
  }
  load();
  launch_some(10);
}

void fork_while_launching() {
  std::thread launching([] {
    for (int turn = 0; turn < program.turns; ++turn) launch_some(20);
  });
  // ThreadSanitizer knows no new threads in a child whose parent had several.
  fork_children([] { launch_some(10); });
  launching.join();
}

// The process ends while they launch.
void exit_while_launching() {
  std::atomic<int> begun{0};
  for (int number = 0; number < thread_count; ++number)
    std::thread([&begun] {
      void* stream = get(hipStreamCreateWithFlags, non_blocking);
      for (;; ++begun) launch(program.function, stream);
    }).detach();
  while (begun < program.turns) std::this_thread::yield();
  std::exit(0);
}

}  // namespace

int main(int count, char** values) {
  if (count < 4) return 2;
  program.image = read_file(values[1]);
  program.turns = std::atoi(values[3]);
  const std::map<std::string, void (*)()> ways{
      {"modules", race_modules},
      {"streams", race_streams},
      {"resets", reset_often},
      {"graphs", race_graphs},
      {"forks", fork_idle},
      {"first-forks", fork_first},
      {"busy-forks", fork_while_launching},
      {"exit", exit_while_launching},
  };
  const auto way = ways.find(values[2]);
  if (way == ways.end()) return 2;
  if (way->first != "first-forks") load();
  way->second();
  std::printf("launches %d\n", program.launches.load());
  std::fflush(stdout);
}
