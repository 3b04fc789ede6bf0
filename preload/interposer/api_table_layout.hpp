// Where HIP's API tables keep each function: a table is its own size in bytes, then pointers in this order.
//
// The tables are append-only: a HIP that is older than the list has a prefix of it, a newer one has more.
#pragma once

#include <cstddef>
#include <string_view>

namespace ktrace {

inline constexpr std::string_view runtime_table =
    "hipApiName hipArray3DCreate hipArray3DGetDescriptor hipArrayCreate hipArrayDestroy "
    "hipArrayGetDescriptor hipArrayGetInfo hipBindTexture hipBindTexture2D hipBindTextureToArray "
    "hipBindTextureToMipmappedArray hipChooseDevice hipChooseDeviceR0000 hipConfigureCall "
    "hipCreateSurfaceObject hipCreateTextureObject hipCtxCreate hipCtxDestroy hipCtxDisablePeerAccess "
    "hipCtxEnablePeerAccess hipCtxGetApiVersion hipCtxGetCacheConfig hipCtxGetCurrent hipCtxGetDevice "
    "hipCtxGetFlags hipCtxGetSharedMemConfig hipCtxPopCurrent hipCtxPushCurrent hipCtxSetCacheConfig "
    "hipCtxSetCurrent hipCtxSetSharedMemConfig hipCtxSynchronize hipDestroyExternalMemory "
    "hipDestroyExternalSemaphore hipDestroySurfaceObject hipDestroyTextureObject hipDeviceCanAccessPeer "
    "hipDeviceComputeCapability hipDeviceDisablePeerAccess hipDeviceEnablePeerAccess hipDeviceGet "
    "hipDeviceGetAttribute hipDeviceGetByPCIBusId hipDeviceGetCacheConfig hipDeviceGetDefaultMemPool "
    "hipDeviceGetGraphMemAttribute hipDeviceGetLimit hipDeviceGetMemPool hipDeviceGetName "
    "hipDeviceGetP2PAttribute hipDeviceGetPCIBusId hipDeviceGetSharedMemConfig "
    "hipDeviceGetStreamPriorityRange hipDeviceGetUuid hipDeviceGraphMemTrim hipDevicePrimaryCtxGetState "
    "hipDevicePrimaryCtxRelease hipDevicePrimaryCtxReset hipDevicePrimaryCtxRetain "
    "hipDevicePrimaryCtxSetFlags hipDeviceReset hipDeviceSetCacheConfig hipDeviceSetGraphMemAttribute "
    "hipDeviceSetLimit hipDeviceSetMemPool hipDeviceSetSharedMemConfig hipDeviceSynchronize "
    "hipDeviceTotalMem hipDriverGetVersion hipDrvGetErrorName hipDrvGetErrorString "
    "hipDrvGraphAddMemcpyNode hipDrvMemcpy2DUnaligned hipDrvMemcpy3D hipDrvMemcpy3DAsync "
    "hipDrvPointerGetAttributes hipEventCreate hipEventCreateWithFlags hipEventDestroy "
    "hipEventElapsedTime hipEventQuery hipEventRecord hipEventSynchronize hipExtGetLinkTypeAndHopCount "
    "hipExtLaunchKernel hipExtLaunchMultiKernelMultiDevice hipExtMallocWithFlags "
    "hipExtStreamCreateWithCUMask hipExtStreamGetCUMask hipExternalMemoryGetMappedBuffer hipFree "
    "hipFreeArray hipFreeAsync hipFreeHost hipFreeMipmappedArray hipFuncGetAttribute hipFuncGetAttributes "
    "hipFuncSetAttribute hipFuncSetCacheConfig hipFuncSetSharedMemConfig hipGLGetDevices "
    "hipGetChannelDesc hipGetDevice hipGetDeviceCount hipGetDeviceFlags hipGetDevicePropertiesR0600 "
    "hipGetDevicePropertiesR0000 hipGetErrorName hipGetErrorString hipGetLastError "
    "hipGetMipmappedArrayLevel hipGetSymbolAddress hipGetSymbolSize hipGetTextureAlignmentOffset "
    "hipGetTextureObjectResourceDesc hipGetTextureObjectResourceViewDesc hipGetTextureObjectTextureDesc "
    "hipGetTextureReference hipGraphAddChildGraphNode hipGraphAddDependencies hipGraphAddEmptyNode "
    "hipGraphAddEventRecordNode hipGraphAddEventWaitNode hipGraphAddHostNode hipGraphAddKernelNode "
    "hipGraphAddMemAllocNode hipGraphAddMemFreeNode hipGraphAddMemcpyNode hipGraphAddMemcpyNode1D "
    "hipGraphAddMemcpyNodeFromSymbol hipGraphAddMemcpyNodeToSymbol hipGraphAddMemsetNode "
    "hipGraphChildGraphNodeGetGraph hipGraphClone hipGraphCreate hipGraphDebugDotPrint hipGraphDestroy "
    "hipGraphDestroyNode hipGraphEventRecordNodeGetEvent hipGraphEventRecordNodeSetEvent "
    "hipGraphEventWaitNodeGetEvent hipGraphEventWaitNodeSetEvent hipGraphExecChildGraphNodeSetParams "
    "hipGraphExecDestroy hipGraphExecEventRecordNodeSetEvent hipGraphExecEventWaitNodeSetEvent "
    "hipGraphExecHostNodeSetParams hipGraphExecKernelNodeSetParams hipGraphExecMemcpyNodeSetParams "
    "hipGraphExecMemcpyNodeSetParams1D hipGraphExecMemcpyNodeSetParamsFromSymbol "
    "hipGraphExecMemcpyNodeSetParamsToSymbol hipGraphExecMemsetNodeSetParams hipGraphExecUpdate "
    "hipGraphGetEdges hipGraphGetNodes hipGraphGetRootNodes hipGraphHostNodeGetParams "
    "hipGraphHostNodeSetParams hipGraphInstantiate hipGraphInstantiateWithFlags "
    "hipGraphKernelNodeCopyAttributes hipGraphKernelNodeGetAttribute hipGraphKernelNodeGetParams "
    "hipGraphKernelNodeSetAttribute hipGraphKernelNodeSetParams hipGraphLaunch "
    "hipGraphMemAllocNodeGetParams hipGraphMemFreeNodeGetParams hipGraphMemcpyNodeGetParams "
    "hipGraphMemcpyNodeSetParams hipGraphMemcpyNodeSetParams1D hipGraphMemcpyNodeSetParamsFromSymbol "
    "hipGraphMemcpyNodeSetParamsToSymbol hipGraphMemsetNodeGetParams hipGraphMemsetNodeSetParams "
    "hipGraphNodeFindInClone hipGraphNodeGetDependencies hipGraphNodeGetDependentNodes "
    "hipGraphNodeGetEnabled hipGraphNodeGetType hipGraphNodeSetEnabled hipGraphReleaseUserObject "
    "hipGraphRemoveDependencies hipGraphRetainUserObject hipGraphUpload hipGraphicsGLRegisterBuffer "
    "hipGraphicsGLRegisterImage hipGraphicsMapResources hipGraphicsResourceGetMappedPointer "
    "hipGraphicsSubResourceGetMappedArray hipGraphicsUnmapResources hipGraphicsUnregisterResource "
    "hipHostAlloc hipHostFree hipHostGetDevicePointer hipHostGetFlags hipHostMalloc hipHostRegister "
    "hipHostUnregister hipImportExternalMemory hipImportExternalSemaphore hipInit hipIpcCloseMemHandle "
    "hipIpcGetEventHandle hipIpcGetMemHandle hipIpcOpenEventHandle hipIpcOpenMemHandle hipKernelNameRef "
    "hipKernelNameRefByPtr hipLaunchByPtr hipLaunchCooperativeKernel "
    "hipLaunchCooperativeKernelMultiDevice hipLaunchHostFunc hipLaunchKernel hipMalloc hipMalloc3D "
    "hipMalloc3DArray hipMallocArray hipMallocAsync hipMallocFromPoolAsync hipMallocHost hipMallocManaged "
    "hipMallocMipmappedArray hipMallocPitch hipMemAddressFree hipMemAddressReserve hipMemAdvise "
    "hipMemAllocHost hipMemAllocPitch hipMemCreate hipMemExportToShareableHandle hipMemGetAccess "
    "hipMemGetAddressRange hipMemGetAllocationGranularity hipMemGetAllocationPropertiesFromHandle "
    "hipMemGetInfo hipMemImportFromShareableHandle hipMemMap hipMemMapArrayAsync hipMemPoolCreate "
    "hipMemPoolDestroy hipMemPoolExportPointer hipMemPoolExportToShareableHandle hipMemPoolGetAccess "
    "hipMemPoolGetAttribute hipMemPoolImportFromShareableHandle hipMemPoolImportPointer "
    "hipMemPoolSetAccess hipMemPoolSetAttribute hipMemPoolTrimTo hipMemPrefetchAsync hipMemPtrGetInfo "
    "hipMemRangeGetAttribute hipMemRangeGetAttributes hipMemRelease hipMemRetainAllocationHandle "
    "hipMemSetAccess hipMemUnmap hipMemcpy hipMemcpy2D hipMemcpy2DAsync hipMemcpy2DFromArray "
    "hipMemcpy2DFromArrayAsync hipMemcpy2DToArray hipMemcpy2DToArrayAsync hipMemcpy3D hipMemcpy3DAsync "
    "hipMemcpyAsync hipMemcpyAtoH hipMemcpyDtoD hipMemcpyDtoDAsync hipMemcpyDtoH hipMemcpyDtoHAsync "
    "hipMemcpyFromArray hipMemcpyFromSymbol hipMemcpyFromSymbolAsync hipMemcpyHtoA hipMemcpyHtoD "
    "hipMemcpyHtoDAsync hipMemcpyParam2D hipMemcpyParam2DAsync hipMemcpyPeer hipMemcpyPeerAsync "
    "hipMemcpyToArray hipMemcpyToSymbol hipMemcpyToSymbolAsync hipMemcpyWithStream hipMemset hipMemset2D "
    "hipMemset2DAsync hipMemset3D hipMemset3DAsync hipMemsetAsync hipMemsetD16 hipMemsetD16Async "
    "hipMemsetD32 hipMemsetD32Async hipMemsetD8 hipMemsetD8Async hipMipmappedArrayCreate "
    "hipMipmappedArrayDestroy hipMipmappedArrayGetLevel hipModuleGetFunction hipModuleGetGlobal "
    "hipModuleGetTexRef hipModuleLaunchCooperativeKernel hipModuleLaunchCooperativeKernelMultiDevice "
    "hipModuleLaunchKernel hipModuleLoad hipModuleLoadData hipModuleLoadDataEx "
    "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor "
    "hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags hipModuleOccupancyMaxPotentialBlockSize "
    "hipModuleOccupancyMaxPotentialBlockSizeWithFlags hipModuleUnload "
    "hipOccupancyMaxActiveBlocksPerMultiprocessor hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags "
    "hipOccupancyMaxPotentialBlockSize hipPeekAtLastError hipPointerGetAttribute hipPointerGetAttributes "
    "hipPointerSetAttribute hipProfilerStart hipProfilerStop hipRuntimeGetVersion hipSetDevice "
    "hipSetDeviceFlags hipSetupArgument hipSignalExternalSemaphoresAsync hipStreamAddCallback "
    "hipStreamAttachMemAsync hipStreamBeginCapture hipStreamCreate hipStreamCreateWithFlags "
    "hipStreamCreateWithPriority hipStreamDestroy hipStreamEndCapture hipStreamGetCaptureInfo "
    "hipStreamGetCaptureInfo_v2 hipStreamGetDevice hipStreamGetFlags hipStreamGetPriority "
    "hipStreamIsCapturing hipStreamQuery hipStreamSynchronize hipStreamUpdateCaptureDependencies "
    "hipStreamWaitEvent hipStreamWaitValue32 hipStreamWaitValue64 hipStreamWriteValue32 "
    "hipStreamWriteValue64 hipTexObjectCreate hipTexObjectDestroy hipTexObjectGetResourceDesc "
    "hipTexObjectGetResourceViewDesc hipTexObjectGetTextureDesc hipTexRefGetAddress "
    "hipTexRefGetAddressMode hipTexRefGetFilterMode hipTexRefGetFlags hipTexRefGetFormat "
    "hipTexRefGetMaxAnisotropy hipTexRefGetMipMappedArray hipTexRefGetMipmapFilterMode "
    "hipTexRefGetMipmapLevelBias hipTexRefGetMipmapLevelClamp hipTexRefSetAddress hipTexRefSetAddress2D "
    "hipTexRefSetAddressMode hipTexRefSetArray hipTexRefSetBorderColor hipTexRefSetFilterMode "
    "hipTexRefSetFlags hipTexRefSetFormat hipTexRefSetMaxAnisotropy hipTexRefSetMipmapFilterMode "
    "hipTexRefSetMipmapLevelBias hipTexRefSetMipmapLevelClamp hipTexRefSetMipmappedArray "
    "hipThreadExchangeStreamCaptureMode hipUnbindTexture hipUserObjectCreate hipUserObjectRelease "
    "hipUserObjectRetain hipWaitExternalSemaphoresAsync hipCreateChannelDesc hipExtModuleLaunchKernel "
    "hipHccModuleLaunchKernel hipMemcpy_spt hipMemcpyToSymbol_spt hipMemcpyFromSymbol_spt hipMemcpy2D_spt "
    "hipMemcpy2DFromArray_spt hipMemcpy3D_spt hipMemset_spt hipMemsetAsync_spt hipMemset2D_spt "
    "hipMemset2DAsync_spt hipMemset3DAsync_spt hipMemset3D_spt hipMemcpyAsync_spt hipMemcpy3DAsync_spt "
    "hipMemcpy2DAsync_spt hipMemcpyFromSymbolAsync_spt hipMemcpyToSymbolAsync_spt hipMemcpyFromArray_spt "
    "hipMemcpy2DToArray_spt hipMemcpy2DFromArrayAsync_spt hipMemcpy2DToArrayAsync_spt hipStreamQuery_spt "
    "hipStreamSynchronize_spt hipStreamGetPriority_spt hipStreamWaitEvent_spt hipStreamGetFlags_spt "
    "hipStreamAddCallback_spt hipEventRecord_spt hipLaunchCooperativeKernel_spt hipLaunchKernel_spt "
    "hipGraphLaunch_spt hipStreamBeginCapture_spt hipStreamEndCapture_spt hipStreamIsCapturing_spt "
    "hipStreamGetCaptureInfo_spt hipStreamGetCaptureInfo_v2_spt hipLaunchHostFunc_spt "
    "hipGetStreamDeviceId hipDrvGraphAddMemsetNode hipGraphAddExternalSemaphoresWaitNode "
    "hipGraphAddExternalSemaphoresSignalNode hipGraphExternalSemaphoresSignalNodeSetParams "
    "hipGraphExternalSemaphoresWaitNodeSetParams hipGraphExternalSemaphoresSignalNodeGetParams "
    "hipGraphExternalSemaphoresWaitNodeGetParams hipGraphExecExternalSemaphoresSignalNodeSetParams "
    "hipGraphExecExternalSemaphoresWaitNodeSetParams hipGraphAddNode hipGraphInstantiateWithParams "
    "hipExtGetLastError hipTexRefGetBorderColor hipTexRefGetArray hipGetProcAddress "
    "hipStreamBeginCaptureToGraph hipGetFuncBySymbol hipSetValidDevices hipMemcpyAtoD hipMemcpyDtoA "
    "hipMemcpyAtoA hipMemcpyAtoHAsync hipMemcpyHtoAAsync hipMemcpy2DArrayToArray "
    "hipDrvGraphAddMemFreeNode hipDrvGraphExecMemcpyNodeSetParams hipDrvGraphExecMemsetNodeSetParams "
    "hipGraphExecGetFlags hipGraphNodeSetParams hipGraphExecNodeSetParams "
    "hipExternalMemoryGetMappedMipmappedArray hipDrvGraphMemcpyNodeGetParams "
    "hipDrvGraphMemcpyNodeSetParams hipExtHostAlloc hipDeviceGetTexture1DLinearMaxWidth "
    "hipStreamBatchMemOp hipGraphAddBatchMemOpNode hipGraphBatchMemOpNodeGetParams "
    "hipGraphBatchMemOpNodeSetParams hipGraphExecBatchMemOpNodeSetParams hipLinkAddData hipLinkAddFile "
    "hipLinkComplete hipLinkCreate hipLinkDestroy hipEventRecordWithFlags hipLaunchKernelExC "
    "hipDrvLaunchKernelEx hipMemGetHandleForAddressRange hipModuleGetFunctionCount hipMemsetD2D8 "
    "hipMemsetD2D8Async hipMemsetD2D16 hipMemsetD2D16Async hipMemsetD2D32 hipMemsetD2D32Async "
    "hipStreamGetAttribute hipStreamSetAttribute hipModuleLoadFatBinary hipMemcpyBatchAsync "
    "hipMemcpy3DBatchAsync hipMemcpy3DPeer hipMemcpy3DPeerAsync hipGetDriverEntryPoint "
    "hipGetDriverEntryPoint_spt hipMemPrefetchAsync_v2 hipMemAdvise_v2 hipStreamGetId hipLibraryLoadData "
    "hipLibraryLoadFromFile hipLibraryUnload hipLibraryGetKernel hipLibraryGetKernelCount "
    "hipStreamCopyAttributes hipLibraryEnumerateKernels hipKernelGetLibrary hipKernelGetName "
    "hipOccupancyAvailableDynamicSMemPerBlock hipGetProcAddress_spt hipKernelGetParamInfo "
    "hipExtDisableLogging hipExtEnableLogging hipExtSetLoggingParams hipMemSetMemPool hipMemGetMemPool "
    "hipMipmappedArrayGetMemoryRequirements hipKernelGetAttribute hipKernelSetAttribute "
    "hipKernelGetFunction hipMemPrefetchBatchAsync hipOccupancyMaxPotentialClusterSize "
    "hipOccupancyMaxActiveClusters hipGreenCtxCreate hipExecutionCtxDestroy hipExecutionCtxStreamCreate "
    "hipDeviceGetDevResource hipDevSmResourceSplitByCount hipDevSmResourceSplit "
    "hipDevResourceGenerateDesc hipDeviceGetExecutionCtx hipExecutionCtxGetDevResource "
    "hipExecutionCtxGetDevice hipExecutionCtxGetId hipStreamGetDevResource hipExecutionCtxRecordEvent "
    "hipExecutionCtxSynchronize hipExecutionCtxWaitEvent hipLibraryGetGlobal hipLibraryGetManaged "
    "hipMemDiscardBatchAsync hipDrvMemDiscardBatchAsync hipMemDiscardAndPrefetchBatchAsync "
    "hipDrvMemDiscardAndPrefetchBatchAsync hipMemGetDefaultMemPool hipDeviceGetLuid hipInitDevice "
    "hipModuleEnumerateFunctions hipDeviceFlushGPUDirectRDMAWrites hipLibraryGetModule";

inline constexpr std::string_view compiler_table =
    "__hipPopCallConfiguration __hipPushCallConfiguration __hipRegisterFatBinary __hipRegisterFunction "
    "__hipRegisterManagedVar __hipRegisterSurface __hipRegisterTexture __hipRegisterVar "
    "__hipUnregisterFatBinary";

// The function that a C++ name stands for: two of HIP's are declared without extern "C" and share the slot
// of the C function.
constexpr std::string_view plain_name(std::string_view name) {
  if (name.substr(0, 2) != "_Z") return name;
  std::size_t digits = 2, length = 0;
  for (; name[digits] >= '0' && name[digits] <= '9'; ++digits)
    length = length * 10 + static_cast<std::size_t>(name[digits] - '0');
  return name.substr(digits, length);
}

// The position of a function in one of the lists; -1 if it is not in it.
constexpr int slot_in(std::string_view table, std::string_view name) {
  const std::string_view plain = plain_name(name);
  int slot = 0;
  for (std::size_t begin = 0; begin < table.size(); ++slot) {
    const std::size_t end = table.find(' ', begin);
    const std::size_t length = (end == table.npos ? table.size() : end) - begin;
    if (table.substr(begin, length) == plain) return slot;
    begin += length + 1;
  }
  return -1;
}

}  // namespace ktrace
