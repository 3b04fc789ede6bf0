// hipMemcpy*: the bytes move when the call is made, the time passes on the stream.
#include "hip/call.hpp"
#include "hip/capture.hpp"
#include "hip/fat_binary.hpp"
#include "hip/transfers.hpp"

namespace ktrace::softdev::hip {

namespace {

enum class Wait : uint8_t { asynchronous, synchronous };

hipError_t enqueue_copy(Runtime& runtime, DeviceState& state, Stream& stream, DeviceWork& work, NodeType type,
                        const hipMemcpy3DParms& box, Wait wait) {
  if (box.extent.width == 0 || box.extent.height == 0 || box.extent.depth == 0) {
    return hipSuccess;
  }
  hipError_t error = check_copy(runtime, box);
  if (error == hipSuccess && wait == Wait::synchronous) {
    error = refuse_all_captures(runtime, hipErrorStreamCaptureImplicit);
  }
  if (error == hipSuccess) {
    error = run_or_capture(runtime, state, stream, work, type, CopyWork{box});
  }
  if (error == hipSuccess && wait == Wait::synchronous && !stays_on_device(runtime, box)) {
    runtime.clock.advance_to(stream.ready);
  }
  return error;
}

hipError_t copy_box(const hipMemcpy3DParms& box, hipStream_t stream, Wait wait) {
  return stream_call(cost::enqueue, stream, hipErrorContextIsDestroyed,
                     [&](Runtime& runtime, DeviceState& state, Stream& target, DeviceWork& work) {
                       return enqueue_copy(runtime, state, target, work, NodeType::copy, box, wait);
                     });
}

hipError_t copy(void* destination, const void* source, size_t size, hipMemcpyKind kind, hipStream_t stream,
                Wait wait) {
  return copy_box(box_of(destination, size, source, size, size, 1, kind), stream, wait);
}

hipError_t copy_2d(void* destination, size_t destination_pitch, const void* source, size_t source_pitch,
                   size_t width, size_t height, hipMemcpyKind kind, hipStream_t stream, Wait wait) {
  if (width != 0 && height != 0 && (width > destination_pitch || width > source_pitch)) {
    return finish_call(hipErrorInvalidPitchValue);
  }
  return copy_box(box_of(destination, destination_pitch, source, source_pitch, width, height, kind), stream,
                  wait);
}

// `offset` bytes into a registered variable; the kind decides which end the variable is.
hipError_t copy_symbol(const void* symbol, void* destination, const void* source, size_t size, size_t offset,
                       hipMemcpyKind kind, hipStream_t stream, Wait wait) {
  return stream_call(
      cost::enqueue, stream, hipErrorContextIsDestroyed,
      [&](Runtime& runtime, DeviceState& state, Stream& target, DeviceWork& work) -> hipError_t {
        const FoundVariable found = find_registered_variable(runtime, symbol, target.device);
        if (found.error != hipSuccess) {
          return found.error;
        }
        if (offset > found.size || size > found.size - offset) {
          return hipErrorInvalidValue;
        }
        void* place = static_cast<uint8_t*>(found.address) + offset;
        const bool is_to_symbol = destination == nullptr;
        const hipMemcpy3DParms box = box_of(is_to_symbol ? place : destination, size,
                                            is_to_symbol ? source : place, size, size, 1, kind);
        return enqueue_copy(runtime, state, target, work,
                            is_to_symbol ? NodeType::copy_to_symbol : NodeType::copy_from_symbol, box, wait);
      });
}

hipError_t copy_to_symbol(const void* symbol, const void* source, size_t size, size_t offset,
                          hipMemcpyKind kind, hipStream_t stream, Wait wait) {
  if (source == nullptr) {
    return finish_call(hipErrorInvalidValue);
  }
  if (kind == hipMemcpyDeviceToHost || kind == hipMemcpyHostToHost) {
    return finish_call(hipErrorInvalidMemcpyDirection);
  }
  return copy_symbol(symbol, nullptr, source, size, offset, kind, stream, wait);
}

hipError_t copy_from_symbol(void* destination, const void* symbol, size_t size, size_t offset,
                            hipMemcpyKind kind, hipStream_t stream, Wait wait) {
  if (destination == nullptr) {
    return finish_call(hipErrorInvalidValue);
  }
  if (kind == hipMemcpyHostToDevice || kind == hipMemcpyHostToHost) {
    return finish_call(hipErrorInvalidMemcpyDirection);
  }
  return copy_symbol(symbol, destination, nullptr, size, offset, kind, stream, wait);
}

hipError_t copy_param_2d(const hip_Memcpy2D* copy, hipStream_t stream, Wait wait) {
  if (copy == nullptr) {
    return finish_call(hipErrorInvalidValue);
  }
  if (copy->srcArray != nullptr || copy->dstArray != nullptr) {
    return finish_call(hipErrorNotSupported);  // images
  }
  const void* source = copy->srcMemoryType == hipMemoryTypeHost ? copy->srcHost : copy->srcDevice;
  void* destination = copy->dstMemoryType == hipMemoryTypeHost ? copy->dstHost : copy->dstDevice;
  if (source == nullptr || destination == nullptr) {
    return finish_call(hipErrorInvalidValue);
  }
  const size_t source_pitch = copy->srcPitch != 0 ? copy->srcPitch : copy->WidthInBytes + copy->srcXInBytes;
  const size_t destination_pitch =
      copy->dstPitch != 0 ? copy->dstPitch : copy->WidthInBytes + copy->dstXInBytes;
  const size_t width = copy->WidthInBytes, height = copy->Height;
  if (width != 0 && height != 0 && (width > destination_pitch || width > source_pitch)) {
    return finish_call(hipErrorInvalidPitchValue);
  }
  hipMemcpy3DParms box =
      box_of(destination, destination_pitch, source, source_pitch, width, height, hipMemcpyDefault);
  box.srcPos = {copy->srcXInBytes, copy->srcY, 0};
  box.dstPos = {copy->dstXInBytes, copy->dstY, 0};
  return copy_box(box, stream, wait);
}

hipError_t copy_3d(const hipMemcpy3DParms* params, hipStream_t stream, Wait wait) {
  return params == nullptr ? finish_call(hipErrorInvalidValue) : copy_box(*params, stream, wait);
}

}  // namespace

}  // namespace ktrace::softdev::hip

using namespace ktrace::softdev::hip;

// The plain call, its per-thread twin, and the asynchronous pair.
KTRACE_HIP_EXPORT hipError_t hipMemcpy(void* destination, const void* source, size_t size,
                                       hipMemcpyKind kind) {
  return copy(destination, source, size, kind, nullptr, Wait::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpy_spt(void* destination, const void* source, size_t size,
                                           hipMemcpyKind kind) {
  return copy(destination, source, size, kind, per_thread(nullptr), Wait::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyAsync(void* destination, const void* source, size_t size,
                                            hipMemcpyKind kind, hipStream_t stream) {
  return copy(destination, source, size, kind, stream, Wait::asynchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyAsync_spt(void* destination, const void* source, size_t size,
                                                hipMemcpyKind kind, hipStream_t stream) {
  return copy(destination, source, size, kind, per_thread(stream), Wait::asynchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyWithStream(void* destination, const void* source, size_t size,
                                                 hipMemcpyKind kind, hipStream_t stream) {
  return copy(destination, source, size, kind, stream, Wait::synchronous);
}

KTRACE_HIP_EXPORT hipError_t hipMemcpyHtoD(hipDeviceptr_t destination, const void* source, size_t size) {
  return copy(destination, source, size, hipMemcpyHostToDevice, nullptr, Wait::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyDtoH(void* destination, hipDeviceptr_t source, size_t size) {
  return copy(destination, source, size, hipMemcpyDeviceToHost, nullptr, Wait::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyDtoD(hipDeviceptr_t destination, hipDeviceptr_t source, size_t size) {
  return copy(destination, source, size, hipMemcpyDeviceToDevice, nullptr, Wait::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t destination, const void* source, size_t size,
                                                hipStream_t stream) {
  return copy(destination, source, size, hipMemcpyHostToDevice, stream, Wait::asynchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyDtoHAsync(void* destination, hipDeviceptr_t source, size_t size,
                                                hipStream_t stream) {
  return copy(destination, source, size, hipMemcpyDeviceToHost, stream, Wait::asynchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t destination, hipDeviceptr_t source,
                                                size_t size, hipStream_t stream) {
  return copy(destination, source, size, hipMemcpyDeviceToDevice, stream, Wait::asynchronous);
}

KTRACE_HIP_EXPORT hipError_t hipMemcpyPeer(void* destination, int destination_device, const void* source,
                                           int source_device, size_t size) {
  const Runtime& runtime = Runtime::get();
  if (!runtime.is_device(destination_device) || !runtime.is_device(source_device)) {
    return finish_call(hipErrorInvalidDevice);
  }
  return copy(destination, source, size, hipMemcpyDefault, nullptr, Wait::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyPeerAsync(void* destination, int destination_device, const void* source,
                                                int source_device, size_t size, hipStream_t stream) {
  const Runtime& runtime = Runtime::get();
  if (!runtime.is_device(destination_device) || !runtime.is_device(source_device)) {
    return finish_call(hipErrorInvalidDevice);
  }
  return copy(destination, source, size, hipMemcpyDefault, stream, Wait::asynchronous);
}

KTRACE_HIP_EXPORT hipError_t hipMemcpy2D(void* destination, size_t destination_pitch, const void* source,
                                         size_t source_pitch, size_t width, size_t height,
                                         hipMemcpyKind kind) {
  return copy_2d(destination, destination_pitch, source, source_pitch, width, height, kind, nullptr,
                 Wait::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpy2D_spt(void* destination, size_t destination_pitch, const void* source,
                                             size_t source_pitch, size_t width, size_t height,
                                             hipMemcpyKind kind) {
  return copy_2d(destination, destination_pitch, source, source_pitch, width, height, kind,
                 per_thread(nullptr), Wait::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpy2DAsync(void* destination, size_t destination_pitch, const void* source,
                                              size_t source_pitch, size_t width, size_t height,
                                              hipMemcpyKind kind, hipStream_t stream) {
  return copy_2d(destination, destination_pitch, source, source_pitch, width, height, kind, stream,
                 Wait::asynchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpy2DAsync_spt(void* destination, size_t destination_pitch,
                                                  const void* source, size_t source_pitch, size_t width,
                                                  size_t height, hipMemcpyKind kind, hipStream_t stream) {
  return copy_2d(destination, destination_pitch, source, source_pitch, width, height, kind,
                 per_thread(stream), Wait::asynchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyParam2D(const hip_Memcpy2D* copy) {
  return copy_param_2d(copy, nullptr, Wait::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyParam2DAsync(const hip_Memcpy2D* copy, hipStream_t stream) {
  return copy_param_2d(copy, stream, Wait::asynchronous);
}
KTRACE_HIP_EXPORT hipError_t hipDrvMemcpy2DUnaligned(const hip_Memcpy2D* copy) {
  return copy_param_2d(copy, nullptr, Wait::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpy3D(const hipMemcpy3DParms* params) {
  return copy_3d(params, nullptr, Wait::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpy3DAsync(const hipMemcpy3DParms* params, hipStream_t stream) {
  return copy_3d(params, stream, Wait::asynchronous);
}

KTRACE_HIP_EXPORT hipError_t hipMemcpy3D_spt(const hipMemcpy3DParms* params) {
  return copy_3d(params, per_thread(nullptr), Wait::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpy3DAsync_spt(const hipMemcpy3DParms* params, hipStream_t stream) {
  return copy_3d(params, per_thread(stream), Wait::asynchronous);
}

KTRACE_HIP_EXPORT hipError_t hipMemcpyToSymbol(const void* symbol, const void* source, size_t size,
                                               size_t offset, hipMemcpyKind kind) {
  return copy_to_symbol(symbol, source, size, offset, kind, nullptr, Wait::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyToSymbol_spt(const void* symbol, const void* source, size_t size,
                                                   size_t offset, hipMemcpyKind kind) {
  return copy_to_symbol(symbol, source, size, offset, kind, per_thread(nullptr), Wait::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyToSymbolAsync(const void* symbol, const void* source, size_t size,
                                                    size_t offset, hipMemcpyKind kind, hipStream_t stream) {
  return copy_to_symbol(symbol, source, size, offset, kind, stream, Wait::asynchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyToSymbolAsync_spt(const void* symbol, const void* source, size_t size,
                                                        size_t offset, hipMemcpyKind kind,
                                                        hipStream_t stream) {
  return copy_to_symbol(symbol, source, size, offset, kind, per_thread(stream), Wait::asynchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyFromSymbol(void* destination, const void* symbol, size_t size,
                                                 size_t offset, hipMemcpyKind kind) {
  return copy_from_symbol(destination, symbol, size, offset, kind, nullptr, Wait::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyFromSymbol_spt(void* destination, const void* symbol, size_t size,
                                                     size_t offset, hipMemcpyKind kind) {
  return copy_from_symbol(destination, symbol, size, offset, kind, per_thread(nullptr), Wait::synchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyFromSymbolAsync(void* destination, const void* symbol, size_t size,
                                                      size_t offset, hipMemcpyKind kind, hipStream_t stream) {
  return copy_from_symbol(destination, symbol, size, offset, kind, stream, Wait::asynchronous);
}
KTRACE_HIP_EXPORT hipError_t hipMemcpyFromSymbolAsync_spt(void* destination, const void* symbol, size_t size,
                                                          size_t offset, hipMemcpyKind kind,
                                                          hipStream_t stream) {
  return copy_from_symbol(destination, symbol, size, offset, kind, per_thread(stream), Wait::asynchronous);
}
