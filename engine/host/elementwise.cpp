#include "engine/host/elementwise.hpp"

#include <array>

#include "engine/optimizer/instruction_set.hpp"

namespace sluice::engine {

ElementwisePath elementwise_avx512();
ElementwisePath elementwise_avx2();
ElementwisePath elementwise_portable();

namespace {

ElementwisePath named(std::string_view name, bool supported, ElementwisePath path) {
  path.name = name;
  path.supported = supported;
  return path;
}

const ElementwisePath& fastest_elementwise() {
  static const ElementwisePath& path = []() -> const ElementwisePath& {
    for (const ElementwisePath& candidate : elementwise_paths()) {
      if (candidate.supported) return candidate;
    }
    return elementwise_paths().back();
  }();
  return path;
}

}  // namespace

std::span<const ElementwisePath> elementwise_paths() {
  static const std::array<ElementwisePath, 3> paths = {
      named("avx512", has_avx512(), elementwise_avx512()),
      named("avx2", has_avx2(), elementwise_avx2()),
      named("portable", true, elementwise_portable())};
  return paths;
}

const Elementwise& elementwise(planner::ComputeType compute) {
  return compute != planner::ComputeType::fp32 ? *fastest_elementwise().bf16
                                               : *fastest_elementwise().fp32;
}

const PlainKernels& plain_kernels() { return *fastest_elementwise().plain; }

}  // namespace sluice::engine
