// hipGraph*: making, taking apart, instantiating, updating and launching graphs.
#include "hip/capture.hpp"
#include "hip/graph.hpp"

namespace ktrace::softdev::hip {

namespace {

constexpr unsigned long long known_flags = 15;  // auto free, upload, device launch, node priority

hipError_t own_graph(Runtime& runtime, std::unique_ptr<Graph> graph, void** handle) {
  *handle = graph.get();
  runtime.graphs.emplace(*handle, std::move(graph));
  return hipSuccess;
}

hipError_t instantiate(Runtime& runtime, void** exec, void* handle, unsigned long long flags) {
  const Graph* graph = find_graph(runtime, handle);
  if (exec == nullptr || graph == nullptr || flags > known_flags) {
    return hipErrorInvalidValue;
  }
  auto made = std::make_shared<GraphExec>();
  made->graph = graph->clone(nullptr);
  made->flags = flags;
  if (!made->graph->schedule()) {
    return hipErrorInvalidValue;  // a cycle
  }
  *exec = made.get();
  runtime.graph_execs.emplace(*exec, std::move(made));
  return hipSuccess;
}

hipError_t instantiate_call(void** exec, void* graph, unsigned long long flags) {
  return call(cost::call, [&](Runtime& runtime) { return instantiate(runtime, exec, graph, flags); });
}

// On a capturing stream the graph becomes a child of the one that is being captured, as it is now.
hipError_t launch_graph(void* exec, hipStream_t stream) {
  return stream_call(
      cost::enqueue, stream, hipErrorContextIsDestroyed,
      [&](Runtime& runtime, DeviceState& state, Stream& target, DeviceWork& locks) -> hipError_t {
        const auto found = runtime.graph_execs.find(exec);
        if (found == runtime.graph_execs.end()) {
          return hipErrorInvalidValue;
        }
        const std::shared_ptr<GraphExec> graph = found->second;  // another thread may destroy it
        if (target.capture != nullptr) {
          return capture_work(target, NodeType::graph,
                              ChildWork{graph->graph->clone(runtime.graph_registry.get())});
        }
        return run_graph(runtime, state, target, locks, *graph->graph);
      });
}

hipError_t update_exec(Runtime& runtime, void* exec, void* handle, UpdateResult& result) {
  const auto found = runtime.graph_execs.find(exec);
  const Graph* graph = find_graph(runtime, handle);
  if (found == runtime.graph_execs.end() || graph == nullptr) {
    return hipErrorInvalidValue;
  }
  result = compare_graphs(*found->second->graph, *graph);
  if (result.result != hipGraphExecUpdateSuccess) {
    return hipErrorGraphExecUpdateFailure;
  }
  update_graph(*found->second->graph, *graph);
  return hipSuccess;
}

}  // namespace

}  // namespace ktrace::softdev::hip

using namespace ktrace::softdev::hip;

KTRACE_HIP_EXPORT hipError_t hipGraphCreate(void** graph, unsigned flags) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    return graph == nullptr || flags != 0
               ? hipErrorInvalidValue
               : own_graph(runtime, std::make_unique<Graph>(runtime.graph_registry.get()), graph);
  });
}

// Child graphs and graphs under capture are not the program's to destroy.
KTRACE_HIP_EXPORT hipError_t hipGraphDestroy(void* graph) {
  return call(cost::call, [&](Runtime& runtime) {
    return runtime.graphs.erase(graph) != 0 ? hipSuccess : hipErrorInvalidValue;
  });
}

KTRACE_HIP_EXPORT hipError_t hipGraphClone(void** clone, void* original) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    const Graph* graph = find_graph(runtime, original);
    return clone == nullptr || graph == nullptr
               ? hipErrorInvalidValue
               : own_graph(runtime, graph->clone(runtime.graph_registry.get()), clone);
  });
}

KTRACE_HIP_EXPORT hipError_t hipGraphNodeFindInClone(GraphNode** node, GraphNode* original, void* clone) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    const Graph* graph = find_graph(runtime, clone);
    const GraphNode* known = find_node(runtime, original);
    if (node == nullptr || graph == nullptr || known == nullptr) {
      return hipErrorInvalidValue;
    }
    GraphNode* found = graph->find_clone_of(*known);
    if (found == nullptr || !graph->has(found)) {
      return hipErrorInvalidValue;
    }
    *node = found;
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipGraphDestroyNode(GraphNode* node) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    if (find_node(runtime, node) == nullptr) {
      return hipErrorInvalidValue;
    }
    forget_captured(runtime, node);
    node->graph->remove(node);
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipGraphInstantiate(void** exec, void* graph, GraphNode** error_node, char* log,
                                                 size_t log_size) {
  if (error_node != nullptr) {
    *error_node = nullptr;
  }
  if (log != nullptr && log_size != 0) {
    *log = '\0';
  }
  return instantiate_call(exec, graph, 0);
}
KTRACE_HIP_EXPORT hipError_t hipGraphInstantiateWithFlags(void** exec, void* graph,
                                                          unsigned long long flags) {
  return instantiate_call(exec, graph, flags);
}
KTRACE_HIP_EXPORT hipError_t hipGraphInstantiateWithParams(void** exec, void* graph,
                                                           hipGraphInstantiateParams* params) {
  if (params == nullptr) {
    return finish_call(hipErrorInvalidValue);
  }
  const hipError_t error = instantiate_call(exec, graph, params->flags);
  params->errNode_out = nullptr;
  params->result_out = error == hipSuccess ? hipGraphInstantiateSuccess : hipGraphInstantiateError;
  return error;
}

KTRACE_HIP_EXPORT hipError_t hipGraphExecGetFlags(void* exec, unsigned long long* flags) {
  return call(cost::query, [&](Runtime& runtime) -> hipError_t {
    const auto found = runtime.graph_execs.find(exec);
    if (flags == nullptr || found == runtime.graph_execs.end()) {
      return hipErrorInvalidValue;
    }
    *flags = found->second->flags;
    return hipSuccess;
  });
}

KTRACE_HIP_EXPORT hipError_t hipGraphExecUpdate(void* exec, void* graph, GraphNode** error_node,
                                                hipGraphExecUpdateResult* result_out) {
  return call(cost::call, [&](Runtime& runtime) -> hipError_t {
    if (error_node == nullptr || result_out == nullptr) {
      return hipErrorInvalidValue;
    }
    UpdateResult result;
    const hipError_t error = update_exec(runtime, exec, graph, result);
    if (error != hipErrorInvalidValue) {
      *error_node = result.node;
      *result_out = result.result;
    }
    return error;
  });
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
