// Graphs, kernel nodes and what their kernels do, for graph_hip.cpp: no streams, no handles.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "ktrace/format.h"

struct dim3 {
  std::uint32_t x, y, z;
};
struct KernelParams {
  dim3 block;
  void** extra;
  void* func;
  dim3 grid;
  void** params;
  unsigned shared;
};
struct AnyParams {
  int type, reserved[3];
  KernelParams kernel;
  char rest[176];
};

namespace {

constexpr int kernel_node = 0, child_node = 4;
constexpr std::size_t offsets[5] = {0, 4, 8, 16, 24}, sizes[5] = {4, 4, 8, 8, 8};

struct Arguments {
  int n;
  float a;
  const float* x;
  float* y;
  ktrace_control* control;
};
static_assert(sizeof(Arguments) == 32);

// A kernel node's parameters in memory of HIP's own, which goes when it gets others.
struct Kernel {
  KernelParams given{};
  std::vector<std::uint8_t> values;
  std::vector<void*> places;
  void* extra[5] = {};
  std::size_t size = 0;

  bool set(const KernelParams& params) {
    given = params;
    std::vector<std::uint8_t> copied(sizeof(Arguments));
    if (params.extra)
      std::memcpy(copied.data(), params.extra[1], *static_cast<std::size_t*>(params.extra[3]));
    for (int i = 0; params.params && i < 5; ++i) std::memcpy(&copied[offsets[i]], params.params[i], sizes[i]);
    std::fill(values.begin(), values.end(), 0xcd);
    values = std::move(copied);
    return params.params || params.extra;
  }
  void get(KernelParams* params) {
    places.clear();
    for (const std::size_t offset : offsets) places.push_back(&values[offset]);
    size = values.size();
    void* list[5] = {reinterpret_cast<void*>(1), values.data(), reinterpret_cast<void*>(2), &size,
                     reinterpret_cast<void*>(3)};
    std::copy(list, list + 5, extra);
    *params = given;
    params->params = given.extra ? nullptr : places.data();
    params->extra = given.extra ? extra : nullptr;
  }
  void run() const {
    Arguments arguments;
    std::memcpy(&arguments, values.data(), sizeof arguments);
    for (int i = 0; i < arguments.n; ++i) arguments.y[i] += arguments.a * arguments.x[i];
    const ktrace_control* control = arguments.control;
    if (!control || control->magic != KTRACE_CONTROL_MAGIC || control->wave_slots == 0) return;
    if (control->grid[0] != given.grid.x || control->block[0] != given.block.x) std::abort();
    auto* region = reinterpret_cast<std::uint8_t*>(control->regions);
    for (std::uint64_t i = 0; i < (std::uint64_t{control->wave_slots} << control->region_log2); ++i)
      if (region[i] != 0) std::abort();  // a buffer must be clean
    ktrace_wave_header header{};
    header.state = KTRACE_WAVE_ENDED;
    header.side_cursor = (1u << control->region_log2) - 8;
    header.main_cursor = KTRACE_REGION_HEADER + 8;
    header.dispatch = control->dispatch;
    std::memcpy(region, &header, sizeof header);
    const ktrace_word word{given.grid.x, KTRACE_KIND_MARK << KTRACE_TAG_KIND_SHIFT | 1};
    std::memcpy(region + KTRACE_REGION_HEADER, &word, sizeof word);
  }
};

struct Graph;
struct Node {
  int type = kernel_node;
  Kernel kernel;
  std::shared_ptr<Graph> child;
  bool is_enabled = true;
  Node* copy_of = nullptr;
};
struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;

  Node* add(int type) {
    nodes.push_back(std::make_unique<Node>());
    nodes.back()->type = type;
    return nodes.back().get();
  }
  std::shared_ptr<Graph> clone() const {
    auto made = std::make_shared<Graph>();
    for (const auto& node : nodes) {
      Node* copy = made->add(node->type);
      if (node->type == kernel_node) copy->kernel.set(params_of(*node));
      if (node->child) copy->child = node->child->clone();
      copy->copy_of = node.get();
    }
    return made;
  }
  static KernelParams params_of(Node& node) {
    KernelParams params;
    node.kernel.get(&params);
    return params;
  }
  Node* find_copy(const Node* original) const {
    for (const auto& node : nodes)
      if (node->copy_of == original) return node.get();
    return nullptr;
  }
  bool has_shape_of(const Graph& other) const {
    if (nodes.size() != other.nodes.size()) return false;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (nodes[i]->type != other.nodes[i]->type) return false;
    return true;
  }
  void take_params(const Graph& other) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i]->type == kernel_node) nodes[i]->kernel.set(params_of(*other.nodes[i]));
      if (nodes[i]->child) nodes[i]->child->take_params(*other.nodes[i]->child);
    }
  }
};

}  // namespace
