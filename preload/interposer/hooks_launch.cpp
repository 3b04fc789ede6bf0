// Calls that launch kernels.
#include <memory>
#include <vector>

#include "hooks.hpp"
#include "launch.hpp"

namespace ktrace {
namespace {

LaunchRequest host_launch(const void* function, Dim3 grid, Dim3 block, void** args, std::size_t shared,
                          hipStream_t stream) {
  return {function, true, {grid, block}, shared, stream, args, nullptr};
}

LaunchRequest module_launch(hipFunction_t function, Dim3 grid, Dim3 block, std::size_t shared,
                            hipStream_t stream, void** params, void** extra) {
  return {function, false, {grid, block}, shared, stream, params, extra};
}

// These calls count work-items; a last workgroup may be a partial one.
Dim3 blocks_of(Dim3 work_items, Dim3 block) {
  const auto divide = [](std::uint32_t items, std::uint32_t size) {
    return size == 0 ? 0 : items / size + (items % size != 0);
  };
  return {divide(work_items.x, block.x), divide(work_items.y, block.y), divide(work_items.z, block.z)};
}

LaunchRequest config_launch(const hipLaunchConfig_t* config, const void* function, void** args) {
  if (!config) return {};
  return host_launch(function, config->gridDim, config->blockDim, args, config->dynamicSmemBytes,
                     config->stream);
}

LaunchRequest config_launch(const HIP_LAUNCH_CONFIG* config, hipFunction_t function, void** params,
                            void** extra) {
  if (!config) return {};
  return module_launch(function, {config->gridDimX, config->gridDimY, config->gridDimZ},
                       {config->blockDimX, config->blockDimY, config->blockDimZ}, config->sharedMemBytes,
                       config->hStream, params, extra);
}

LaunchRequest request_of(const hipLaunchParams& entry) {
  return host_launch(entry.func, entry.gridDim, entry.blockDim, entry.args, entry.sharedMem, entry.stream);
}

LaunchRequest request_of(const hipFunctionLaunchParams& entry) {
  return module_launch(entry.function, {entry.gridDimX, entry.gridDimY, entry.gridDimZ},
                       {entry.blockDimX, entry.blockDimY, entry.blockDimZ}, entry.sharedMemBytes,
                       entry.hStream, entry.kernelParams, nullptr);
}

void set_arguments(hipLaunchParams* entry, void** params) { entry->args = params; }
void set_arguments(hipFunctionLaunchParams* entry, void** params) { entry->kernelParams = params; }

// A list of launches, each on its own stream and so on its own device, rewritten in a list of ours.
template <class Params>
class TracedList {
 public:
  __attribute__((noinline)) TracedList(Session& session, const HipLibrary& hip, Params* list,
                                       std::size_t count) noexcept
      : m_given(list) {
    if (!list) return;
    session.guarded([&] {
      m_own.assign(list, list + count);
      for (Params& entry : m_own) {
        m_launches.push_back(std::make_unique<TracedLaunch>(session, hip, request_of(entry)));
        set_arguments(&entry, m_launches.back()->params());
      }
      m_is_complete = true;
    });
  }
  Params* get() { return m_is_complete ? m_own.data() : m_given; }
  __attribute__((noinline)) void finish(hipError_t result) noexcept {
    for (const auto& launch : m_launches) launch->finish(result);
  }

 private:
  Params* m_given;
  std::vector<Params> m_own;
  std::vector<std::unique_ptr<TracedLaunch>> m_launches;
  bool m_is_complete = false;
};

}  // namespace

KTRACE_LAUNCH_HOOK(hipLaunchKernel,
                   (const void* function, Dim3 grid, Dim3 block, void** args, std::size_t shared,
                    hipStream_t stream),
                   (function, grid, block, args, shared, stream),
                   host_launch(function, grid, block, args, shared, stream),
                   (function, grid, block, launch.params(), shared, stream))
KTRACE_LAUNCH_HOOK(hipLaunchKernel_spt,
                   (const void* function, Dim3 grid, Dim3 block, void** args, std::size_t shared,
                    hipStream_t stream),
                   (function, grid, block, args, shared, stream),
                   host_launch(function, grid, block, args, shared, per_thread(stream)),
                   (function, grid, block, launch.params(), shared, stream))
KTRACE_LAUNCH_HOOK(hipLaunchCooperativeKernel,
                   (const void* function, Dim3 grid, Dim3 block, void** args, unsigned shared,
                    hipStream_t stream),
                   (function, grid, block, args, shared, stream),
                   host_launch(function, grid, block, args, shared, stream),
                   (function, grid, block, launch.params(), shared, stream))
KTRACE_LAUNCH_HOOK(hipLaunchCooperativeKernel_spt,
                   (const void* function, Dim3 grid, Dim3 block, void** args, unsigned shared,
                    hipStream_t stream),
                   (function, grid, block, args, shared, stream),
                   host_launch(function, grid, block, args, shared, per_thread(stream)),
                   (function, grid, block, launch.params(), shared, stream))
KTRACE_LAUNCH_HOOK(hipLaunchKernelExC, (const hipLaunchConfig_t* config, const void* function, void** args),
                   (config, function, args), config_launch(config, function, args),
                   (config, function, launch.params()))
// Our event comes after the launch, and the application's stop event stays bound to the kernel alone.
KTRACE_LAUNCH_HOOK(hipExtLaunchKernel,
                   (const void* function, Dim3 grid, Dim3 block, void** args, std::size_t shared,
                    hipStream_t stream, hipEvent_t start, hipEvent_t stop, int flags),
                   (function, grid, block, args, shared, stream, start, stop, flags),
                   host_launch(function, grid, block, args, shared, stream),
                   (function, grid, block, launch.params(), shared, stream, start, stop, flags))

// What to launch and its arguments were told in calls before, and are HIP's own by now. Most versions of HIP
// end it in another launch of the list, by its exported name: that is the application's own then.
KTRACE_HOOK_WITH_BODY(hipError_t, hipLaunchByPtr, (const void* function), (function), {
  leave_hook(&hook_frame);
  const std::uint64_t before = launches_seen_on_this_thread();
  const hipError_t result = KTRACE_CALL_HIP(hip.hipLaunchByPtr(function));
  if (result == hip_success && launches_seen_on_this_thread() == before)
    session->guarded([&] { count_launch_past_us(*session, hip, function); });
  return result;
})

KTRACE_LAUNCH_HOOK(hipModuleLaunchKernel,
                   (hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                    unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, hipStream_t stream,
                    void** params, void** extra),
                   (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, params,
                    extra),
                   module_launch(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared,
                                 stream, params, extra),
                   (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream,
                    launch.params(), launch.extra()))
KTRACE_LAUNCH_HOOK(hipModuleLaunchCooperativeKernel,
                   (hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                    unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, hipStream_t stream,
                    void** params),
                   (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, params),
                   module_launch(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared,
                                 stream, params, nullptr),
                   (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream,
                    launch.params()))
KTRACE_LAUNCH_HOOK(hipDrvLaunchKernelEx,
                   (const HIP_LAUNCH_CONFIG* config, hipFunction_t function, void** params, void** extra),
                   (config, function, params, extra), config_launch(config, function, params, extra),
                   (config, function, launch.params(), launch.extra()))

// Each of the next two exists under its C name and under its C++ name.
#define KTRACE_EXT_LAUNCH_HOOK(name)                                                                         \
  KTRACE_LAUNCH_HOOK(                                                                                        \
      name,                                                                                                  \
      (hipFunction_t function, std::uint32_t items_x, std::uint32_t items_y, std::uint32_t items_z,          \
       std::uint32_t block_x, std::uint32_t block_y, std::uint32_t block_z, std::size_t shared,              \
       hipStream_t stream, void** params, void** extra, hipEvent_t start, hipEvent_t stop,                   \
       std::uint32_t flags),                                                                                 \
      (function, items_x, items_y, items_z, block_x, block_y, block_z, shared, stream, params, extra, start, \
       stop, flags),                                                                                         \
      module_launch(function, blocks_of({items_x, items_y, items_z}, {block_x, block_y, block_z}),           \
                    {block_x, block_y, block_z}, shared, stream, params, extra),                             \
      (function, items_x, items_y, items_z, block_x, block_y, block_z, shared, stream, launch.params(),      \
       launch.extra(), start, stop, flags))
#define KTRACE_HCC_LAUNCH_HOOK(name)                                                                         \
  KTRACE_LAUNCH_HOOK(                                                                                        \
      name,                                                                                                  \
      (hipFunction_t function, std::uint32_t items_x, std::uint32_t items_y, std::uint32_t items_z,          \
       std::uint32_t block_x, std::uint32_t block_y, std::uint32_t block_z, std::size_t shared,              \
       hipStream_t stream, void** params, void** extra, hipEvent_t start, hipEvent_t stop),                  \
      (function, items_x, items_y, items_z, block_x, block_y, block_z, shared, stream, params, extra, start, \
       stop),                                                                                                \
      module_launch(function, blocks_of({items_x, items_y, items_z}, {block_x, block_y, block_z}),           \
                    {block_x, block_y, block_z}, shared, stream, params, extra),                             \
      (function, items_x, items_y, items_z, block_x, block_y, block_z, shared, stream, launch.params(),      \
       launch.extra(), start, stop))
KTRACE_EXT_LAUNCH_HOOK(hipExtModuleLaunchKernel)
KTRACE_EXT_LAUNCH_HOOK(
    _Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j)
KTRACE_HCC_LAUNCH_HOOK(hipHccModuleLaunchKernel)
KTRACE_HCC_LAUNCH_HOOK(
    _Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_)

#define KTRACE_LIST_HOOK(name, Params, Count)                                                           \
  KTRACE_HOOK_WITH_BODY(hipError_t, name, (Params * list, Count count, unsigned flags),                 \
                        (list, count, flags), {                                                         \
                          const std::size_t length = count > 0 ? static_cast<std::size_t>(count) : 0;   \
                          LeftBehind<TracedList<Params>> storage;                                       \
                          TracedList<Params>& own = storage.make(*session, hip, list, length);          \
                          const hipError_t result = KTRACE_CALL_HIP(hip.name(own.get(), count, flags)); \
                          own.finish(result);                                                           \
                          storage.destroy();                                                            \
                          return result;                                                                \
                        })
KTRACE_LIST_HOOK(hipLaunchCooperativeKernelMultiDevice, hipLaunchParams, int)
KTRACE_LIST_HOOK(hipExtLaunchMultiKernelMultiDevice, hipLaunchParams, int)
KTRACE_LIST_HOOK(hipModuleLaunchCooperativeKernelMultiDevice, hipFunctionLaunchParams, unsigned)

}  // namespace ktrace
