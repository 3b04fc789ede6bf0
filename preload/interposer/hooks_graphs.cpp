// Calls that make, change and launch graphs, and those that begin and end captures.
#include "graph_dressing.hpp"
#include "graph_params.hpp"
#include "graph_replay.hpp"
#include "hooks.hpp"
#include "launch.hpp"

namespace ktrace {
namespace {

void note_device(Session& session, const HipLibrary& hip, hipGraph_t graph) {
  int device = 0;
  if (hip.hipGetDevice(&device) == hip_success) session.graphs().note_device(hip, graph, device);
}

// Kernels that HIP refused to change may have been changed all the same: what it says is what is believed.
template <class Call>
hipError_t update(Session& session, const HipLibrary& hip, hipGraphExec_t exec, hipGraph_t graph,
                  hipGraphNode_t child, Call call) {
  Graphs::Entry known = session.graphs().find(hip, exec);
  if (!known) return call();
  GraphDressing dressing(session, hip, graph, std::move(known), child);
  const hipError_t result = call();
  dressing.finish_update(result);
  return result;
}

void enable(Session& session, const HipLibrary& hip, hipGraphExec_t exec, hipGraphNode_t node,
            bool is_enabled) {
  const Graphs::Entry graph = session.graphs().find(hip, exec);
  if (!graph) return;
  const InTurn turn(graph->turn);
  for (GraphNode& one : graph->nodes)
    if (one.node == node || one.child == node) one.is_enabled = is_enabled;
}

void begin_capture(Session& session, const HipLibrary& hip, hipStream_t stream) {
  const bool is_of_thread = stream == stream_null || stream == stream_legacy || stream == stream_per_thread;
  int device = is_of_thread || !hip.hipGetStreamDeviceId ? -1 : hip.hipGetStreamDeviceId(stream);
  if (device < 0) hip.hipGetDevice(&device);
  session.captures().begin(hip, stream, device);
}

// Some failures leave it running, such as that of a thread that may not end it.
bool has_ended(const HipLibrary& hip, hipStream_t stream, hipError_t result) {
  if (result == hip_success || result == hip_error_capture_invalidated ||
      result == hip_error_capture_unjoined || !hip.hipStreamIsCapturing)
    return true;
  const hipError_t before = error_before(hip);
  int status = hip_capture_status_none;
  const hipError_t error = hip.hipStreamIsCapturing(stream, &status);
  if (error != hip_success) restore_error(hip, before);
  return error == hip_success && status == hip_capture_status_none;
}

void end_capture(Session& session, const HipLibrary& hip, hipStream_t stream, hipError_t result) {
  if (has_ended(hip, stream, result)) session.captures().end(hip, stream);
}

}  // namespace

KTRACE_HOOK_WITH_BODY(hipError_t, hipGraphAddKernelNode,
                      (hipGraphNode_t * node, hipGraph_t graph, const hipGraphNode_t* dependencies,
                       std::size_t count, const hipKernelNodeParams* params),
                      (node, graph, dependencies, count, params), {
                        GraphParams own(*session, hip, params);
                        const hipError_t result =
                            hip.hipGraphAddKernelNode(node, graph, dependencies, count, own.get());
                        if (result == hip_success && own.is_annotated())
                          session->guarded([&] { note_device(*session, hip, graph); });
                        return result;
                      })
KTRACE_HOOK_WITH_BODY(hipError_t, hipGraphAddNode,
                      (hipGraphNode_t * node, hipGraph_t graph, const hipGraphNode_t* dependencies,
                       std::size_t count, hipGraphNodeParams* params),
                      (node, graph, dependencies, count, params), {
                        AnyNodeParams any(params);
                        GraphParams own(*session, hip, any.kernel());
                        const hipError_t result =
                            hip.hipGraphAddNode(node, graph, dependencies, count, any.with(own.get()));
                        if (result == hip_success && own.is_annotated())
                          session->guarded([&] { note_device(*session, hip, graph); });
                        return result;
                      })
KTRACE_HOOK_WITH_BODY(hipError_t, hipGraphKernelNodeSetParams,
                      (hipGraphNode_t node, const hipKernelNodeParams* params), (node, params), {
                        GraphParams own(*session, hip, params);
                        return hip.hipGraphKernelNodeSetParams(node, own.get());
                      })
KTRACE_HOOK_WITH_BODY(hipError_t, hipGraphNodeSetParams, (hipGraphNode_t node, hipGraphNodeParams* params),
                      (node, params), {
                        AnyNodeParams any(params);
                        GraphParams own(*session, hip, any.kernel());
                        return hip.hipGraphNodeSetParams(node, any.with(own.get()));
                      })

KTRACE_HOOK_WITH_BODY(hipError_t, hipGraphExecKernelNodeSetParams,
                      (hipGraphExec_t exec, hipGraphNode_t node, const hipKernelNodeParams* params),
                      (exec, node, params), {
                        ExecParams own(*session, hip, exec, node, params);
                        const hipError_t result = hip.hipGraphExecKernelNodeSetParams(exec, node, own.get());
                        own.finish(result);
                        return result;
                      })
KTRACE_HOOK_WITH_BODY(hipError_t, hipGraphExecNodeSetParams,
                      (hipGraphExec_t exec, hipGraphNode_t node, hipGraphNodeParams* params),
                      (exec, node, params), {
                        AnyNodeParams any(params);
                        ExecParams own(*session, hip, exec, node, any.kernel());
                        const hipError_t result =
                            hip.hipGraphExecNodeSetParams(exec, node, any.with(own.get()));
                        own.finish(result);
                        return result;
                      })

#define KTRACE_INSTANTIATE_HOOK(name, parameters, arguments)       \
  KTRACE_HOOK_WITH_BODY(hipError_t, name, parameters, arguments, { \
    GraphDressing dressing(*session, hip, graph);                  \
    const hipError_t result = hip.name arguments;                  \
    dressing.finish_instantiation(result, exec);                   \
    return result;                                                 \
  })
KTRACE_INSTANTIATE_HOOK(hipGraphInstantiate,
                        (hipGraphExec_t * exec, hipGraph_t graph, hipGraphNode_t* error_node, char* log,
                         std::size_t log_size),
                        (exec, graph, error_node, log, log_size))
KTRACE_INSTANTIATE_HOOK(hipGraphInstantiateWithFlags,
                        (hipGraphExec_t * exec, hipGraph_t graph, unsigned long long flags),
                        (exec, graph, flags))
KTRACE_INSTANTIATE_HOOK(hipGraphInstantiateWithParams,
                        (hipGraphExec_t * exec, hipGraph_t graph, void* params), (exec, graph, params))

KTRACE_HOOK_WITH_BODY(hipError_t, hipGraphExecUpdate,
                      (hipGraphExec_t exec, hipGraph_t graph, hipGraphNode_t* error_node, int* outcome),
                      (exec, graph, error_node, outcome), {
                        return update(*session, hip, exec, graph, nullptr, [&] {
                          return hip.hipGraphExecUpdate(exec, graph, error_node, outcome);
                        });
                      })
KTRACE_HOOK_WITH_BODY(hipError_t, hipGraphExecChildGraphNodeSetParams,
                      (hipGraphExec_t exec, hipGraphNode_t node, hipGraph_t graph), (exec, node, graph), {
                        return update(*session, hip, exec, graph, node, [&] {
                          return hip.hipGraphExecChildGraphNodeSetParams(exec, node, graph);
                        });
                      })
KTRACE_HOOK(hipGraphNodeSetEnabled, (hipGraphExec_t exec, hipGraphNode_t node, unsigned is_enabled),
            (exec, node, is_enabled), enable(*session, hip, exec, node, is_enabled != 0))

#define KTRACE_GRAPH_LAUNCH_HOOK(name, where)                                                          \
  KTRACE_HOOK_WITH_BODY(hipError_t, name, (hipGraphExec_t exec, hipStream_t stream), (exec, stream), { \
    GraphReplay replay(*session, hip, exec, where);                                                    \
    const hipError_t result = hip.name(exec, stream);                                                  \
    replay.finish(result);                                                                             \
    return result;                                                                                     \
  })
KTRACE_GRAPH_LAUNCH_HOOK(hipGraphLaunch, stream)
KTRACE_GRAPH_LAUNCH_HOOK(hipGraphLaunch_spt, per_thread(stream))

// Taken away before, because another thread may get the same handle as soon as HIP has let go of it.
KTRACE_HOOK_WITH_BODY(hipError_t, hipGraphExecDestroy, (hipGraphExec_t exec), (exec), {
  const Graphs::Entry graph = session->graphs().take(hip, exec);
  const hipError_t result = hip.hipGraphExecDestroy(exec);
  if (!graph) return result;
  session->guarded([&] {
    const InTurn turn(graph->turn);
    if (result == hip_success)
      release_slots(*session, *graph);
    else
      session->graphs().insert(hip, exec, graph);
  });
  return result;
})
KTRACE_HOOK_BEFORE(hipGraphDestroy, (hipGraph_t graph), (graph), session->graphs().forget_graph(hip, graph))

KTRACE_HOOK(hipStreamBeginCapture, (hipStream_t stream, int mode), (stream, mode),
            begin_capture(*session, hip, stream))
KTRACE_HOOK(hipStreamBeginCapture_spt, (hipStream_t stream, int mode), (stream, mode),
            begin_capture(*session, hip, per_thread(stream)))
KTRACE_HOOK(hipStreamBeginCaptureToGraph,
            (hipStream_t stream, hipGraph_t graph, const hipGraphNode_t* dependencies, const void* data,
             std::size_t count, int mode),
            (stream, graph, dependencies, data, count, mode), begin_capture(*session, hip, stream))

#define KTRACE_END_CAPTURE_HOOK(name, where)                                                           \
  KTRACE_HOOK_WITH_BODY(hipError_t, name, (hipStream_t stream, hipGraph_t * graph), (stream, graph), { \
    const hipError_t result = KTRACE_CALL_HIP(hip.name(stream, graph));                                \
    session->guarded([&] { end_capture(*session, hip, where, result); });                              \
    return result;                                                                                     \
  })
KTRACE_END_CAPTURE_HOOK(hipStreamEndCapture, stream)
KTRACE_END_CAPTURE_HOOK(hipStreamEndCapture_spt, per_thread(stream))

}  // namespace ktrace
