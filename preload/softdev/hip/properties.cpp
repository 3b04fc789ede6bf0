// Device properties and attributes, out of the core's topology.
#include "hip/properties.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>

#include "hip/modules.hpp"
#include "hip/visible_devices.hpp"

namespace ktrace::softdev::hip {

namespace {

constexpr int wave_size = 64;
constexpr int most_threads = 1024;
constexpr int largest_grid_axis = 65536;  // y and z

int as_int(uint64_t value) {
  return static_cast<int>(std::min<uint64_t>(value, static_cast<uint64_t>(std::numeric_limits<int>::max())));
}

int registers_per_cu(const Topology& topology) {
  return as_int(uint64_t{topology.vgprs_per_simd} * topology.simds_per_cu * wave_size);
}

int threads_per_cu(const Topology& topology) {
  return static_cast<int>(topology.simds_per_cu * topology.wave_slots_per_simd) * wave_size;
}

// Tells one virtual device from another, and all of them from real ones.
hipUUID uuid_of(int index) {
  hipUUID uuid{};
  std::memcpy(uuid.bytes, device_name(index).data(), sizeof uuid.bytes);
  return uuid;
}

hipDeviceArch_t features() {
  hipDeviceArch_t arch{};
  arch.hasGlobalInt32Atomics = 1;
  arch.hasGlobalFloatAtomicExch = 1;
  arch.hasSharedInt32Atomics = 1;
  arch.hasSharedFloatAtomicExch = 1;
  arch.hasFloatAtomicAdd = 1;
  arch.hasGlobalInt64Atomics = 1;
  arch.hasSharedInt64Atomics = 1;
  arch.hasDoubles = 1;
  arch.hasWarpVote = 1;
  arch.hasWarpBallot = 1;
  arch.hasWarpShuffle = 1;
  arch.hasThreadFenceSystem = 1;
  arch.has3dGrid = 1;
  return arch;
}

void fill_limits(hipDeviceProp_tR0600& properties, const Topology& topology) {
  properties.totalGlobalMem = topology.memory_bytes;
  properties.sharedMemPerBlock = topology.lds_bytes_per_cu;
  properties.sharedMemPerBlockOptin = topology.lds_bytes_per_cu;
  properties.sharedMemPerMultiprocessor = topology.lds_bytes_per_cu;
  properties.maxSharedMemoryPerMultiProcessor = topology.lds_bytes_per_cu;
  properties.regsPerBlock = registers_per_cu(topology);
  properties.regsPerMultiprocessor = registers_per_cu(topology);
  properties.warpSize = wave_size;
  properties.memPitch = static_cast<size_t>(std::numeric_limits<int>::max());
  properties.totalConstMem = static_cast<size_t>(std::numeric_limits<int>::max());
  properties.maxThreadsPerBlock = most_threads;
  std::fill_n(properties.maxThreadsDim, 3, most_threads);
  properties.maxGridSize[0] = std::numeric_limits<int>::max();
  properties.maxGridSize[1] = largest_grid_axis;
  properties.maxGridSize[2] = largest_grid_axis;
  properties.maxThreadsPerMultiProcessor = threads_per_cu(topology);
  properties.maxBlocksPerMultiProcessor = threads_per_cu(topology) / most_threads;
  properties.textureAlignment = 256;
  properties.texturePitchAlignment = 256;
  properties.surfaceAlignment = 256;
}

void fill_abilities(hipDeviceProp_tR0600& properties) {
  properties.canMapHostMemory = 1;
  properties.concurrentKernels = 1;
  properties.asyncEngineCount = 2;
  properties.deviceOverlap = 1;
  properties.unifiedAddressing = 1;
  properties.managedMemory = 1;
  properties.concurrentManagedAccess = 1;
  properties.directManagedMemAccessFromHost = 1;
  properties.pageableMemoryAccess = 1;
  properties.canUseHostPointerForRegisteredMem = 1;
  properties.hostNativeAtomicSupported = 1;
  properties.hostRegisterSupported = 1;
  properties.cooperativeLaunch = 1;
  properties.streamPrioritiesSupported = 1;
  properties.globalL1CacheSupported = 1;
  properties.localL1CacheSupported = 1;
  properties.memoryPoolsSupported = 1;
  properties.isLargeBar = 1;
}

using P = hipDeviceProp_tR0600;

// hipDeviceAttribute_t: HIP's numbers, by alphabet up to 91 and AMD's own from 10000.
const std::map<int, int (*)(const P&)>& attribute_readers() {
  static const auto& readers = *new std::map<int, int (*)(const P&)>{
      // never destroyed: see is_absent
      {0, [](const P& p) { return p.ECCEnabled; }},
      {1, [](const P& p) { return p.accessPolicyMaxWindowSize; }},
      {2, [](const P& p) { return p.asyncEngineCount; }},
      {3, [](const P& p) { return p.canMapHostMemory; }},
      {4, [](const P& p) { return p.canUseHostPointerForRegisteredMem; }},
      {5, [](const P& p) { return p.clockRate; }},
      {6, [](const P& p) { return p.computeMode; }},
      {7, [](const P& p) { return p.computePreemptionSupported; }},
      {8, [](const P& p) { return p.concurrentKernels; }},
      {9, [](const P& p) { return p.concurrentManagedAccess; }},
      {10, [](const P& p) { return p.cooperativeLaunch; }},
      {11, [](const P& p) { return p.cooperativeMultiDeviceLaunch; }},
      {12, [](const P& p) { return p.deviceOverlap; }},
      {13, [](const P& p) { return p.directManagedMemAccessFromHost; }},
      {14, [](const P& p) { return p.globalL1CacheSupported; }},
      {15, [](const P& p) { return p.hostNativeAtomicSupported; }},
      {16, [](const P& p) { return p.integrated; }},
      {17, [](const P& p) { return p.isMultiGpuBoard; }},
      {18, [](const P& p) { return p.kernelExecTimeoutEnabled; }},
      {19, [](const P& p) { return p.l2CacheSize; }},
      {20, [](const P& p) { return p.localL1CacheSupported; }},
      {23, [](const P& p) { return p.major; }},
      {24, [](const P& p) { return p.managedMemory; }},
      {25, [](const P& p) { return p.maxBlocksPerMultiProcessor; }},
      {26, [](const P& p) { return p.maxThreadsDim[0]; }},
      {27, [](const P& p) { return p.maxThreadsDim[1]; }},
      {28, [](const P& p) { return p.maxThreadsDim[2]; }},
      {29, [](const P& p) { return p.maxGridSize[0]; }},
      {30, [](const P& p) { return p.maxGridSize[1]; }},
      {31, [](const P& p) { return p.maxGridSize[2]; }},
      {56, [](const P& p) { return p.maxThreadsPerBlock; }},
      {57, [](const P& p) { return p.maxThreadsPerMultiProcessor; }},
      {58, [](const P& p) { return as_int(p.memPitch); }},
      {59, [](const P& p) { return p.memoryBusWidth; }},
      {60, [](const P& p) { return p.memoryClockRate; }},
      {61, [](const P& p) { return p.minor; }},
      {62, [](const P& p) { return p.multiGpuBoardGroupID; }},
      {63, [](const P& p) { return p.multiProcessorCount; }},
      {65, [](const P& p) { return p.pageableMemoryAccess; }},
      {66, [](const P& p) { return p.pageableMemoryAccessUsesHostPageTables; }},
      {67, [](const P& p) { return p.pciBusID; }},
      {68, [](const P& p) { return p.pciDeviceID; }},
      {69, [](const P& p) { return p.pciDomainID; }},
      {70, [](const P& p) { return p.persistingL2CacheMaxSize; }},
      {71, [](const P& p) { return p.regsPerBlock; }},
      {72, [](const P& p) { return p.regsPerMultiprocessor; }},
      {73, [](const P& p) { return as_int(p.reservedSharedMemPerBlock); }},
      {74, [](const P& p) { return as_int(p.sharedMemPerBlock); }},
      {75, [](const P& p) { return as_int(p.sharedMemPerBlockOptin); }},
      {76, [](const P& p) { return as_int(p.sharedMemPerMultiprocessor); }},
      {77, [](const P& p) { return p.singleToDoublePrecisionPerfRatio; }},
      {78, [](const P& p) { return p.streamPrioritiesSupported; }},
      {79, [](const P& p) { return as_int(p.surfaceAlignment); }},
      {81, [](const P& p) { return as_int(p.textureAlignment); }},
      {82, [](const P& p) { return as_int(p.texturePitchAlignment); }},
      {83, [](const P& p) { return as_int(p.totalConstMem); }},
      {84, [](const P& p) { return as_int(p.totalGlobalMem); }},
      {85, [](const P& p) { return p.unifiedAddressing; }},
      {87, [](const P& p) { return p.warpSize; }},
      {88, [](const P& p) { return p.memoryPoolsSupported; }},
      {89, [](const P&) { return 1; }},  // virtual memory management
      {90, [](const P& p) { return p.hostRegisterSupported; }},
      {91, [](const P&) { return 0; }},  // handle types of memory pools
      {10000, [](const P& p) { return p.clockInstructionRate; }},
      {10002, [](const P& p) { return as_int(p.maxSharedMemoryPerMultiProcessor); }},
      {10007, [](const P& p) { return p.cooperativeMultiDeviceUnmatchedFunc; }},
      {10008, [](const P& p) { return p.cooperativeMultiDeviceUnmatchedGridDim; }},
      {10009, [](const P& p) { return p.cooperativeMultiDeviceUnmatchedBlockDim; }},
      {10010, [](const P& p) { return p.cooperativeMultiDeviceUnmatchedSharedMem; }},
      {10011, [](const P& p) { return p.isLargeBar; }},
      {10012, [](const P& p) { return p.asicRevision; }},
      {10013, [](const P&) { return 0; }},  // hipStreamWaitValue
      {10014, [](const P&) { return 0; }},  // images
      {10015, [](const P& p) { return p.multiProcessorCount; }},
      {10016, [](const P&) { return 1; }},  // fine-grained memory
      {10017, [](const P&) { return static_cast<int>(realtime_hz / 1000); }},
  };
  return readers;
}

}  // namespace

ComputeCapability capability_of(Arch arch) {
  switch (arch) {
    case Arch::gfx90a:
      return {9, 0};
    case Arch::gfx950:
      return {9, 5};
    default:
      return {9, 4};
  }
}

hipDeviceProp_tR0600 properties_of(const DeviceState& device) {
  const Topology& topology = device.machine.topology();
  const int index = device.number;
  const ComputeCapability capability = capability_of(device.machine.arch());
  hipDeviceProp_tR0600 properties{};
  std::snprintf(properties.name, sizeof properties.name, "%s", topology.product_name);
  std::snprintf(properties.gcnArchName, sizeof properties.gcnArchName, "%s",
                target_name(device.machine.arch()).c_str());
  properties.uuid = uuid_of(index);
  properties.major = capability.major;
  properties.minor = capability.minor;
  properties.clockRate = as_int(topology.core_clock_khz);
  properties.memoryClockRate = as_int(topology.memory_clock_khz);
  properties.memoryBusWidth = as_int(topology.memory_bus_bits);
  properties.multiProcessorCount = as_int(topology.cus());
  properties.l2CacheSize = as_int(topology.l2_bytes);
  properties.persistingL2CacheMaxSize = as_int(topology.l2_bytes);
  properties.clockInstructionRate = static_cast<int>(realtime_hz / 1000);
  properties.pciBusID = index + 1;
  properties.multiGpuBoardGroupID = index;
  properties.arch = features();
  fill_limits(properties, topology);
  fill_abilities(properties);
  return properties;
}

hipDeviceProp_tR0000 old_properties_of(const DeviceState& device) {
  const hipDeviceProp_tR0600 from = properties_of(device);
  hipDeviceProp_tR0000 to{};
  std::memcpy(to.name, from.name, sizeof to.name);
  std::memcpy(to.gcnArchName, from.gcnArchName, sizeof to.gcnArchName);
  std::copy_n(from.maxThreadsDim, 3, to.maxThreadsDim);
  std::copy_n(from.maxGridSize, 3, to.maxGridSize);
  to.totalGlobalMem = from.totalGlobalMem;
  to.sharedMemPerBlock = from.sharedMemPerBlock;
  to.regsPerBlock = from.regsPerBlock;
  to.warpSize = from.warpSize;
  to.maxThreadsPerBlock = from.maxThreadsPerBlock;
  to.clockRate = from.clockRate;
  to.memoryClockRate = from.memoryClockRate;
  to.memoryBusWidth = from.memoryBusWidth;
  to.totalConstMem = from.totalConstMem;
  to.major = from.major;
  to.minor = from.minor;
  to.multiProcessorCount = from.multiProcessorCount;
  to.l2CacheSize = from.l2CacheSize;
  to.maxThreadsPerMultiProcessor = from.maxThreadsPerMultiProcessor;
  to.clockInstructionRate = from.clockInstructionRate;
  to.arch = from.arch;
  to.concurrentKernels = from.concurrentKernels;
  to.pciBusID = from.pciBusID;
  to.maxSharedMemoryPerMultiProcessor = from.maxSharedMemoryPerMultiProcessor;
  to.canMapHostMemory = from.canMapHostMemory;
  to.cooperativeLaunch = from.cooperativeLaunch;
  to.memPitch = from.memPitch;
  to.textureAlignment = from.textureAlignment;
  to.texturePitchAlignment = from.texturePitchAlignment;
  to.isLargeBar = from.isLargeBar;
  to.managedMemory = from.managedMemory;
  to.directManagedMemAccessFromHost = from.directManagedMemAccessFromHost;
  to.concurrentManagedAccess = from.concurrentManagedAccess;
  to.pageableMemoryAccess = from.pageableMemoryAccess;
  return to;
}

std::optional<int> attribute_of(const DeviceState& device, int attribute) {
  if (attribute == 10018) {  // XCCs
    return as_int(device.machine.topology().xcds);
  }
  const auto& readers = attribute_readers();
  const auto reader = readers.find(attribute);
  return reader == readers.end() ? std::nullopt : std::optional<int>(reader->second(properties_of(device)));
}

}  // namespace ktrace::softdev::hip
