#include "hip_arguments.hpp"

#include <algorithm>

extern "C" hipError_t hipMemPtrGetInfo(void* pointer, size_t* size);

namespace fuzz {

namespace {

constexpr size_t most_kept = 48;
constexpr size_t slot_words = 512;
constexpr size_t largest_touched = size_t{64} << 20;  // bytes; a device promises more than this machine has

// Calls that read or write a list of the program's: more entries than it has would be the program's own
// fault.
constexpr const char* calls_with_lists[] = {"hipSetValidDevices",
                                            "MultiDevice",
                                            "hipDrvPointerGetAttributes",
                                            "CUMask",
                                            "hipGraphAdd",
                                            "hipSetupArgument",
                                            "hipHostRegister",
                                            "hipGraphRemoveDependencies",
                                            "EnumerateFunctions",
                                            "EnumerateKernels",
                                            "Symbol"};
// Calls that may touch memory: with a pointer that HIP has forgotten, they would touch anything.
constexpr const char* calls_that_touch[] = {"Memcpy",        "Memset",    "Launch", "Node", "Value",
                                            "HostRegister",  "Symbol",    "Image",  "Data", "FatBinary",
                                            "SetupArgument", "Attribute", "Graph"};

bool is_one_of(const std::string& call, const char* const* begin, const char* const* end) {
  return std::any_of(begin, end, [&](const char* part) { return call.find(part) != std::string::npos; });
}

bool is(const char* name, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const char* one) { return std::strcmp(one, name) == 0; });
}

void keep(std::vector<void*>& pool, void* value, Random& random) {
  if (value == nullptr || std::find(pool.begin(), pool.end(), value) != pool.end()) {
    return;
  }
  if (pool.size() < most_kept) {
    pool.push_back(value);
  } else {
    random.pick(pool) = value;
  }
}

}  // namespace

void Draw::begin_call(const std::string& name) {
  m_call = name;
  m_slots.clear();
  for (size_t k = 0; k < std::size(m_values); ++k) {
    m_parameters[k] = &m_values[k];
    m_values[k] = m_random.one_in(2) || pointers.empty()
                      ? m_random.below(64)
                      : reinterpret_cast<uint64_t>(m_random.pick(pointers));
  }
}

void Draw::keep_results() {
  for (const Slot& slot : m_slots) {
    if (slot.kept_in != nullptr) {
      keep(*slot.kept_in, reinterpret_cast<void*>(slot.words[0]), m_random);
    }
  }
}

void Draw::forget_freed() {
  const auto is_gone = [](void* pointer) {
    size_t size = 0;
    return hipMemPtrGetInfo(pointer, &size) != hipSuccess || size > largest_touched;
  };
  std::vector<void*> alive;
  for (void* pointer : pointers) {
    is_gone(pointer) ? keep(stale, pointer, m_random) : alive.push_back(pointer);
  }
  pointers = std::move(alive);
}

void* Draw::pick_handle(std::vector<void*>& pool) {
  const uint64_t odd[] = {0, 0, 0, 1, 2, 3, 0x1234, ~uint64_t{0}};
  if (pool.empty() || m_random.one_in(6)) {
    return reinterpret_cast<void*>(m_random.pick(odd));
  }
  std::vector<void*>& other = m_random.pick(m_handles);  // of another kind
  return m_random.pick(m_random.one_in(40) && !other.empty() ? other : pool);
}

void* Draw::draw_pointer(const char* name) {
  if (is(name, {"graph", "exec", "clone", "original", "child"})) {
    return pick_handle(m_graphs);
  }
  if (is(name, {"image"})) {
    return m_random.one_in(12) || images.empty() ? nullptr : const_cast<void*>(m_random.pick(images));
  }
  if (is(name, {"function", "host_function", "func"}) && !m_random.one_in(4)) {
    return m_random.one_in(3) ? draw_handle<hipFunction_t>() : const_cast<void*>(m_random.pick(functions));
  }
  if (is(name, {"data", "value", "argument"})) {  // read or written by the call itself, as any function does
    return m_random.one_in(16) ? nullptr : new_slot(nullptr, true);
  }
  if (is(name, {"symbol"}) && !m_random.one_in(4)) {
    return const_cast<void*>(m_random.pick(variables));
  }
  if (m_random.one_in(16) || pointers.empty()) {
    return nullptr;
  }
  if (m_call.find("HostRegister") == 0 || m_call.find("hipHost") == 0) {
    return m_random.one_in(2) ? m_random.pick(host) : m_random.pick(pointers);
  }
  const bool touches = is_one_of(m_call, std::begin(calls_that_touch), std::end(calls_that_touch));
  if (!touches && !stale.empty() && m_random.one_in(4)) {
    return m_random.pick(stale);
  }
  void* const chosen = m_random.pick(pointers);
  size_t size = 0;
  if (m_random.one_in(4) && hipMemPtrGetInfo(chosen, &size) == hipSuccess) {
    return static_cast<char*>(chosen) + m_random.below(size > 64 ? size - 64 : 1);
  }
  return chosen;
}

const char* Draw::draw_string(const char* name) {
  static const std::string long_name(5000, 'x');
  const char* paths[] = {nullptr, "", "/dev/null", "/", "/nonexistent", "/proc/self/maps", long_name.c_str()};
  const char* names[] = {nullptr,           "",     "k",           "saxpy", "_Z5saxpyPKfPffi", "hipMalloc",
                         long_name.c_str(), "%s%n", "0000:00:00.0"};
  return is(name, {"path"}) ? m_random.pick(paths) : m_random.pick(names);
}

Nodes Draw::draw_nodes() {
  if (m_random.one_in(4)) {
    return nullptr;
  }
  uint64_t* slot = new_slot(nullptr, false);
  for (size_t k = 0; k < 4; ++k) {
    GraphNode* const node = draw_handle<GraphNode*>();
    std::memcpy(slot + k, &node, sizeof node);
  }
  return reinterpret_cast<Nodes>(slot);
}

void** Draw::draw_parameters() { return m_random.one_in(12) ? nullptr : m_parameters; }

void** Draw::draw_extra() {
  if (!m_random.one_in(6)) {
    return nullptr;
  }
  const auto key = [](uintptr_t value) { return reinterpret_cast<void*>(value); };
  m_extra_size = m_random.below(sizeof m_values + 1);
  m_extra[0] = key(HIP_LAUNCH_PARAM_BUFFER_POINTER);
  m_extra[1] = m_values;
  m_extra[2] = m_random.one_in(16) ? key(99) : key(HIP_LAUNCH_PARAM_BUFFER_SIZE);
  m_extra[3] = &m_extra_size;
  m_extra[4] = key(HIP_LAUNCH_PARAM_END);
  return m_extra;
}

void** Draw::draw_pointers(const char* name) {
  if (is(name, {"extra"})) {
    return draw_extra();
  }
  if (is(name, {"kernel_params", "args"})) {
    return draw_parameters();
  }
  if (m_random.one_in(16)) {
    return nullptr;
  }
  if (is(name, {"data"})) {
    uint64_t* const list = new_slot(nullptr, false);
    for (size_t k = 0; k < 4; ++k) {
      list[k] = reinterpret_cast<uint64_t>(draw_pointer(name));
    }
    return reinterpret_cast<void**>(list);
  }
  const bool is_graph = is(name, {"graph", "exec", "clone", "child"});
  const bool is_memory = is(name, {"pointer"});
  return reinterpret_cast<void**>(new_slot(is_graph ? &m_graphs : is_memory ? &pointers : nullptr, false));
}

uint32_t Draw::draw_dimension() {
  const uint32_t odd[] = {0, 2, 3, 64, 65, 1024, 1025, 65536, 0x7fffffffu, 0x80000000u, 0xffffffffu};
  return m_random.one_in(10) ? m_random.pick(odd) : m_random.one_in(3) ? 64 : 1;
}

uint64_t Draw::draw_size() {
  const uint64_t usual[] = {0, 1, 4, 16, 64, 100, 256, 1000, 4096, 65536};
  return m_random.one_in(6) ? m_random.odd_number(4096) : m_random.pick(usual);
}

uint64_t Draw::draw_number(const char* name, size_t bytes) {
  if (is_one_of(m_call, std::begin(calls_with_lists), std::end(calls_with_lists))) {
    return m_random.below(4);
  }
  if (is(name, {"device", "peer", "ordinal", "source_device", "destination_device"}) && !m_random.one_in(8)) {
    return m_random.below(2);
  }
  if (std::strncmp(name, "grid", 4) == 0 || std::strncmp(name, "block", 5) == 0 ||
      std::strncmp(name, "global", 6) == 0) {
    return draw_dimension();
  }
  if (is(name, {"shared_bytes"}) && !m_random.one_in(4)) {
    return 0;
  }
  return bytes == 8 ? draw_size() : m_random.one_in(3) ? m_random.odd_number(4) : m_random.below(6);
}

uint64_t* Draw::new_slot(std::vector<void*>* kept_in, bool is_filled) {
  m_slots.push_back({std::make_unique<uint64_t[]>(slot_words), kept_in});
  uint64_t* words = m_slots.back().words.get();
  for (size_t k = 0; is_filled && k < slot_words; ++k) {
    const bool is_pointer = m_random.one_in(3) && !pointers.empty();
    words[k] = is_pointer           ? reinterpret_cast<uint64_t>(m_random.pick(pointers))
               : m_random.one_in(3) ? draw_size()
                                    : m_random.below(4);
  }
  return words;
}

hipKernelNodeParams Draw::draw_kernel_node() {
  hipKernelNodeParams node{};
  node.blockDim = draw<dim3>("");
  node.gridDim = draw<dim3>("");
  node.func = draw_pointer("func");
  node.kernelParams = draw_parameters();
  node.extra = draw_extra();
  node.sharedMemBytes = m_random.one_in(4) ? m_random.word() : 0;
  return node;
}

}  // namespace fuzz
