// hipGraph*: building, instantiating and launching graphs.
#include <algorithm>

#include "hip/fat_binary.hpp"
#include "hip/graph.hpp"

extern "C" {

typedef struct hipKernelNodeParams {
  dim3 blockDim;
  void** extra;
  void* func;  // a host function or a hipFunction_t
  dim3 gridDim;
  void** kernelParams;
  unsigned sharedMemBytes;
} hipKernelNodeParams;

typedef struct hipMemsetParams {
  void* dst;
  unsigned elementSize;
  size_t height;
  size_t pitch;
  unsigned value;
  size_t width;  // elements
} hipMemsetParams;

typedef struct hipHostNodeParams {
  hipHostFn_t fn;
  void* userData;
} hipHostNodeParams;
}

static_assert(sizeof(hipKernelNodeParams) == 64);

namespace ktrace::softdev::hip {

namespace {

using Nodes = GraphNode* const*;

// The graph may be one that a stream is capturing into.
Graph* find_graph(Runtime& runtime, const void* handle) {
  const auto found = runtime.graphs.find(handle);
  if (found != runtime.graphs.end()) {
    return found->second.get();
  }
  for (const auto& capture : runtime.captures) {
    if (capture->graph.get() == handle) {
      return capture->graph.get();
    }
  }
  return nullptr;
}

bool is_node(const Runtime& runtime, const GraphNode* node) {
  return std::any_of(runtime.graphs.begin(), runtime.graphs.end(),
                     [&](const auto& entry) { return entry.second->has(node); });
}

// `fill_in` completes the node; if it fails there is no node.
template <class FillIn>
hipError_t add_node(GraphNode** node, void* graph, Nodes dependencies, size_t count, NodeType type,
                    FillIn&& fill_in) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    Graph* found = find_graph(runtime, graph);
    if (node == nullptr || found == nullptr || (count != 0 && dependencies == nullptr) ||
        !std::all_of(dependencies, dependencies + count,
                     [&](GraphNode* other) { return found->has(other); })) {
      return hipErrorInvalidValue;
    }
    GraphNode* added = found->add(type, {dependencies, dependencies + count});
    const hipError_t error = fill_in(runtime, *added);
    if (error != hipSuccess) {
      found->nodes.pop_back();
      return error;
    }
    *node = added;
    return hipSuccess;
  });
}

hipError_t prepare_node(Runtime& runtime, const hipKernelNodeParams& params, PreparedLaunch& prepared) {
  const int device = current_device();
  Function* function = runtime.find_function(static_cast<hipFunction_t>(params.func));
  if (function == nullptr) {
    const FoundFunction found = find_registered_function(runtime, params.func, device);
    if (found.error != hipSuccess) {
      return found.error;
    }
    function = found.function;
  }
  Launch launch;
  const hipError_t error = set_shape(launch, &params.gridDim.x, &params.blockDim.x);
  if (error != hipSuccess) {
    return error;
  }
  launch.dynamic_lds = params.sharedMemBytes;
  launch.kernel_params = params.kernelParams;
  launch.extra = params.extra;
  return prepare_launch(runtime.device(device), *function, launch, prepared);
}

hipError_t prepare_into(Runtime& runtime, const hipKernelNodeParams* params,
                        std::shared_ptr<PreparedLaunch>& launch) {
  if (params == nullptr || params->func == nullptr) {
    return hipErrorInvalidValue;
  }
  auto prepared = std::make_shared<PreparedLaunch>();
  const hipError_t error = prepare_node(runtime, *params, *prepared);
  if (error == hipSuccess) {
    launch = std::move(prepared);
  }
  return error;
}

hipError_t instantiate_graph(void** exec, void* graph) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    const auto found = runtime.graphs.find(graph);
    if (exec == nullptr || found == runtime.graphs.end()) {
      return hipErrorInvalidValue;
    }
    std::unique_ptr<GraphExec> made = instantiate(*found->second);
    if (made == nullptr) {
      return hipErrorInvalidValue;  // a cycle
    }
    *exec = made.get();
    runtime.graph_execs.emplace(*exec, std::move(made));
    return hipSuccess;
  });
}

hipError_t launch_graph(void* exec, hipStream_t stream) {
  return stream_call(cost::enqueue, stream, hipErrorInvalidValue,
                     [&](Runtime& runtime, DeviceState& state, Stream& target, DeviceWork& work) {
                       const auto found = runtime.graph_execs.find(exec);
                       if (found == runtime.graph_execs.end()) {
                         return hipErrorInvalidValue;
                       }
                       const hipError_t error = refuse_while_capturing(target);
                       const std::shared_ptr<GraphExec> graph =
                           found->second;  // another thread may destroy it
                       return error != hipSuccess ? error : run_graph(runtime, state, target, work, *graph);
                     });
}

}  // namespace

}  // namespace ktrace::softdev::hip

using namespace ktrace::softdev::hip;

KTRACE_HIP_EXPORT hipError_t hipGraphCreate(void** graph, unsigned flags) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    if (graph == nullptr || flags != 0) {
      return hipErrorInvalidValue;
    }
    auto created = std::make_unique<Graph>();
    *graph = created.get();
    runtime.graphs.emplace(*graph, std::move(created));
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipGraphDestroy(void* graph) {
  return call(cost::call, [&](Runtime& runtime) {
    return runtime.graphs.erase(graph) != 0 ? hipSuccess : hipErrorInvalidValue;
  });
}

KTRACE_HIP_EXPORT hipError_t hipGraphAddKernelNode(GraphNode** node, void* graph, Nodes dependencies,
                                                   size_t count, const hipKernelNodeParams* params) {
  return add_node(
      node, graph, dependencies, count, NodeType::kernel,
      [&](Runtime& runtime, GraphNode& added) { return prepare_into(runtime, params, added.launch); });
}

KTRACE_HIP_EXPORT hipError_t hipGraphKernelNodeSetParams(GraphNode* node, const hipKernelNodeParams* params) {
  return call(cost::call, [&](Runtime& runtime) {
    return is_node(runtime, node) && node->type == NodeType::kernel
               ? prepare_into(runtime, params, node->launch)
               : hipErrorInvalidValue;
  });
}

// The pointers in the answer are the node's own and live until its parameters change.
KTRACE_HIP_EXPORT hipError_t hipGraphKernelNodeGetParams(GraphNode* node, hipKernelNodeParams* params) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    if (params == nullptr || !is_node(runtime, node) || node->launch == nullptr) {
      return hipErrorInvalidValue;
    }
    PreparedLaunch& launch = *node->launch;
    launch.parameter_pointers = parameter_pointers(*launch.kernel, launch.segment);
    const auto& shape = launch.shape;
    params->func = launch.handle;
    params->gridDim = {shape.grid[0], shape.grid[1], shape.grid[2]};
    params->blockDim = {shape.block[0], shape.block[1], shape.block[2]};
    params->sharedMemBytes = shape.dynamic_lds;
    params->kernelParams = launch.parameter_pointers.data();
    params->extra = nullptr;
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipGraphExecKernelNodeSetParams(void* exec, GraphNode* node,
                                                             const hipKernelNodeParams* params) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    const auto found = runtime.graph_execs.find(exec);
    if (found == runtime.graph_execs.end()) {
      return hipErrorInvalidValue;
    }
    for (GraphExec::Step& step : found->second->steps) {
      if (step.original == node && step.type == NodeType::kernel) {
        return prepare_into(runtime, params, step.launch);
      }
    }
    return hipErrorInvalidValue;
  });
}

KTRACE_HIP_EXPORT hipError_t hipGraphAddMemcpyNode1D(GraphNode** node, void* graph, Nodes dependencies,
                                                     size_t count, void* destination, const void* source,
                                                     size_t size, hipMemcpyKind kind) {
  return add_node(node, graph, dependencies, count, NodeType::copy, [&](Runtime&, GraphNode& added) {
    added.run = copy_operation(destination, source, size, kind);
    return destination == nullptr || source == nullptr ? hipErrorInvalidValue : hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipGraphAddMemsetNode(GraphNode** node, void* graph, Nodes dependencies,
                                                   size_t count, const hipMemsetParams* params) {
  return add_node(node, graph, dependencies, count, NodeType::fill,
                  [&](Runtime&, GraphNode& added) -> hipError_t {
                    if (params == nullptr || params->dst == nullptr ||
                        (params->elementSize != 1 && params->elementSize != 2 && params->elementSize != 4)) {
                      return hipErrorInvalidValue;
                    }
                    added.run = fill_operation(params->dst, params->pitch, params->value, params->elementSize,
                                               params->width, params->height);
                    return hipSuccess;
                  });
}

KTRACE_HIP_EXPORT hipError_t hipGraphAddHostNode(GraphNode** node, void* graph, Nodes dependencies,
                                                 size_t count, const hipHostNodeParams* params) {
  return add_node(
      node, graph, dependencies, count, NodeType::host, [&](Runtime&, GraphNode& added) -> hipError_t {
        if (params == nullptr || params->fn == nullptr) {
          return hipErrorInvalidValue;
        }
        added.run = host_operation([function = params->fn, data = params->userData] { function(data); });
        return hipSuccess;
      });
}

KTRACE_HIP_EXPORT hipError_t hipGraphAddEmptyNode(GraphNode** node, void* graph, Nodes dependencies,
                                                  size_t count) {
  return add_node(node, graph, dependencies, count, NodeType::empty,
                  [](Runtime&, GraphNode&) { return hipSuccess; });
}

KTRACE_HIP_EXPORT hipError_t hipGraphAddDependencies(void* graph, Nodes from, Nodes to, size_t count) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    const Graph* found = find_graph(runtime, graph);
    if (found == nullptr || (count != 0 && (from == nullptr || to == nullptr))) {
      return hipErrorInvalidValue;
    }
    for (size_t index = 0; index < count; ++index) {
      if (!found->has(from[index]) || !found->has(to[index]) || from[index] == to[index]) {
        return hipErrorInvalidValue;
      }
      to[index]->dependencies.push_back(from[index]);
    }
    return hipSuccess;
  });
}

// With a null `nodes` it only counts.
KTRACE_HIP_EXPORT hipError_t hipGraphGetNodes(void* graph, GraphNode** nodes, size_t* count) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    const Graph* found = find_graph(runtime, graph);
    if (found == nullptr || count == nullptr) {
      return hipErrorInvalidValue;
    }
    if (nodes != nullptr) {
      const size_t stored = std::min(*count, found->nodes.size());
      std::transform(found->nodes.begin(), found->nodes.begin() + static_cast<std::ptrdiff_t>(stored), nodes,
                     [](const auto& node) { return node.get(); });
      std::fill(nodes + stored, nodes + *count, nullptr);
    }
    *count = found->nodes.size();
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipGraphNodeGetType(GraphNode* node, int* type) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    if (type == nullptr || !is_node(runtime, node)) {
      return hipErrorInvalidValue;
    }
    *type = static_cast<int>(node->type);
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipGraphInstantiate(void** exec, void* graph, void**, char*, size_t) {
  return instantiate_graph(exec, graph);
}
KTRACE_HIP_EXPORT hipError_t hipGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long) {
  return instantiate_graph(exec, graph);
}

KTRACE_HIP_EXPORT hipError_t hipGraphExecDestroy(void* exec) {
  return call(cost::call, [&](Runtime& runtime) {
    return runtime.graph_execs.erase(exec) != 0 ? hipSuccess : hipErrorInvalidValue;
  });
}

KTRACE_HIP_EXPORT hipError_t hipGraphLaunch(void* exec, hipStream_t stream) {
  return launch_graph(exec, stream);
}
KTRACE_HIP_EXPORT hipError_t hipGraphLaunch_spt(void* exec, hipStream_t stream) {
  return launch_graph(exec, per_thread(stream));
}

// There is nothing to prepare.
KTRACE_HIP_EXPORT hipError_t hipGraphUpload(void* exec, hipStream_t stream) {
  return stream_call(cost::enqueue, stream, hipErrorInvalidValue,
                     [&](Runtime& runtime, DeviceState&, Stream&, DeviceWork&) {
                       return runtime.graph_execs.count(exec) != 0 ? hipSuccess : hipErrorInvalidValue;
                     });
}
