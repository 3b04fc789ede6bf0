// Arguments for HIP calls, drawn by type and by parameter name: mostly such that the call can do something,
// often null, zero, huge, of another device, already destroyed or never created.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "driver.hpp"
#include "hip/graph_abi.hpp"
#include "hip/hip_abi.hpp"
#include "hip/memory_abi.hpp"

namespace ktrace::softdev::hip {
struct GraphNode;
}

namespace fuzz {

using ktrace::softdev::hip::GraphNode;
using Nodes = GraphNode* const*;

// Types that are handles: an argument of one is from the pool of what calls returned.
template <class T>
constexpr bool is_handle =
    std::is_same_v<T, hipStream_t> || std::is_same_v<T, hipEvent_t> || std::is_same_v<T, hipModule_t> ||
    std::is_same_v<T, hipFunction_t> || std::is_same_v<T, hipLibrary_t> || std::is_same_v<T, hipMemPool_t> ||
    std::is_same_v<T, hipCtx_t> || std::is_same_v<T, GraphNode*>;

class Draw {
 public:
  explicit Draw(uint64_t seed) : m_random(seed) {}
  Random& random() { return m_random; }

  std::vector<void*> pointers;         // that HIP knows: it takes any size for them
  std::vector<void*> stale;            // that it knew, or too large to be filled or copied
  std::vector<void*> host;             // of the program, not registered
  std::vector<const void*> images;     // code objects and bundles, whole and damaged
  std::vector<const void*> functions;  // registered host functions
  std::vector<const void*> variables;  // registered host variables

  void begin_call(const std::string& name);
  // What a call that succeeded stored becomes a handle or a pointer.
  void keep_results();
  void forget_freed();

  template <class T>
  T draw(const char* name) {
    if constexpr (is_handle<T>) {
      return draw_handle<T>();
    } else if constexpr (std::is_same_v<T, void*> || std::is_same_v<T, const void*>) {
      return draw_pointer(name);
    } else if constexpr (std::is_same_v<T, const char*>) {
      return draw_string(name);
    } else if constexpr (std::is_same_v<T, Nodes>) {
      return draw_nodes();
    } else if constexpr (std::is_same_v<T, void**>) {
      return draw_pointers(name);
    } else if constexpr (std::is_same_v<T, hipStreamCallback_t> || std::is_same_v<T, hipHostFn_t>) {
      return m_random.one_in(4) ? nullptr : static_cast<T>([](auto...) {});
    } else if constexpr (std::is_pointer_v<T>) {
      return reinterpret_cast<T>(draw_struct<std::remove_cv_t<std::remove_pointer_t<T>>>(name));
    } else if constexpr (std::is_same_v<T, dim3>) {
      return {draw_dimension(), draw_dimension(), draw_dimension()};
    } else if constexpr (std::is_same_v<T, hipExtent>) {
      return {draw_size(), draw_size(), draw_size()};
    } else if constexpr (std::is_same_v<T, hipPitchedPtr>) {
      return {draw_pointer(name), draw_size(), draw_size(), draw_size()};
    } else {
      return static_cast<T>(draw_number(name, sizeof(T)));
    }
  }

 private:
  struct Slot {
    std::unique_ptr<uint64_t[]> words;
    std::vector<void*>* kept_in;  // null: nothing of it is a handle
  };
  Random m_random;
  std::string m_call;
  std::vector<Slot> m_slots;
  std::vector<void*> m_graphs;
  std::vector<void*> m_handles[8];
  uint64_t m_values[32];
  void* m_parameters[32];
  void* m_extra[5];
  size_t m_extra_size = 0;

  template <class T>
  static constexpr size_t pool_of() {
    return std::is_same_v<T, hipStream_t>     ? 0
           : std::is_same_v<T, hipEvent_t>    ? 1
           : std::is_same_v<T, hipModule_t>   ? 2
           : std::is_same_v<T, hipFunction_t> ? 3
           : std::is_same_v<T, hipLibrary_t>  ? 4
           : std::is_same_v<T, hipMemPool_t>  ? 5
           : std::is_same_v<T, hipCtx_t>      ? 6
                                              : 7;
  }
  template <class T>
  T draw_handle() {
    return static_cast<T>(static_cast<void*>(pick_handle(m_handles[pool_of<T>()])));
  }
  void* pick_handle(std::vector<void*>& pool);
  void* draw_pointer(const char* name);
  const char* draw_string(const char* name);
  Nodes draw_nodes();
  void** draw_pointers(const char* name);
  void** draw_parameters();
  void** draw_extra();
  uint32_t draw_dimension();
  uint64_t draw_size();
  uint64_t draw_number(const char* name, size_t bytes);
  uint64_t* new_slot(std::vector<void*>* kept_in, bool is_filled);
  hipKernelNodeParams draw_kernel_node();

  template <class T>
  void* draw_struct(const char*) {
    if constexpr (is_handle<T>) {
      return m_random.one_in(16) ? nullptr : new_slot(&m_handles[pool_of<T>()], false);
    } else if (m_random.one_in(16)) {
      return nullptr;
    }
    uint64_t* slot = new_slot(nullptr, true);
    if constexpr (std::is_same_v<T, size_t>) {
      slot[0] %= 256;  // how many entries a list has room for
    } else if constexpr (std::is_same_v<T, hipKernelNodeParams>) {
      const hipKernelNodeParams node = draw_kernel_node();
      std::memcpy(slot, &node, sizeof node);
    } else if constexpr (std::is_same_v<T, hipGraphNodeParams>) {
      hipGraphNodeParams params{};
      params.type = static_cast<int>(m_random.below(12));
      params.kernel = draw_kernel_node();
      std::memcpy(slot, &params, sizeof params);
    } else if constexpr (std::is_same_v<T, hipHostNodeParams>) {
      const hipHostNodeParams node{draw<hipHostFn_t>(""), nullptr};
      std::memcpy(slot, &node, sizeof node);
    } else if constexpr (std::is_same_v<T, hipLaunchParams>) {
      for (size_t k = 0; k < 4; ++k) {
        const hipLaunchParams one{draw_pointer("func"),
                                  draw<dim3>(""),
                                  draw<dim3>(""),
                                  draw_parameters(),
                                  m_random.one_in(4) ? draw_size() : 0,
                                  draw_handle<hipStream_t>()};
        std::memcpy(reinterpret_cast<char*>(slot) + k * sizeof one, &one, sizeof one);
      }
    } else if constexpr (std::is_same_v<T, hipFunctionLaunchParams>) {
      for (size_t k = 0; k < 4; ++k) {
        const hipFunctionLaunchParams one{draw_handle<hipFunction_t>(),
                                          draw_dimension(),
                                          draw_dimension(),
                                          draw_dimension(),
                                          draw_dimension(),
                                          draw_dimension(),
                                          draw_dimension(),
                                          0,
                                          draw_handle<hipStream_t>(),
                                          draw_parameters()};
        std::memcpy(reinterpret_cast<char*>(slot) + k * sizeof one, &one, sizeof one);
      }
    } else if constexpr (std::is_same_v<T, hipLaunchConfig_t> || std::is_same_v<T, HIP_LAUNCH_CONFIG>) {
      draw_config<T>(slot);
    }
    return slot;
  }

  template <class T>
  void draw_config(uint64_t* slot) {
    T config{};
    if constexpr (std::is_same_v<T, hipLaunchConfig_t>) {
      config.gridDim = draw<dim3>("");
      config.blockDim = draw<dim3>("");
      config.stream = draw_handle<hipStream_t>();
    } else {
      config.gridDimX = draw_dimension();
      config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
      config.blockDimX = draw_dimension();
      config.hStream = draw_handle<hipStream_t>();
    }
    config.numAttrs = static_cast<unsigned>(m_random.below(3));
    config.attrs = reinterpret_cast<hipLaunchAttribute*>(new_slot(nullptr, true));
    std::memcpy(slot, &config, sizeof config);
  }
};

}  // namespace fuzz
