#include "engine/cuda/products/gemm_choice.hpp"

#include <algorithm>
#include <cmath>

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

Seconds least(std::span<const Seconds> times) {
  check(!times.empty(), "a product has algorithms to choose from");
  const Seconds best = *std::ranges::min_element(times);
  if (!std::isfinite(best.count())) {
    throw EnvironmentError("cuBLASLt: every algorithm suggested for a matrix product failed");
  }
  return best;
}

}  // namespace

std::string to_string(const GemmConfiguration& configuration) {
  const auto field = [](const char* name, auto value) {
    return std::string(name) + std::to_string(value);
  };
  return field("id ", configuration.id) + field(", tile ", configuration.tile) +
         field(", stages ", configuration.stages) + field(", split-k ", configuration.split_k) +
         field(", reduction ", configuration.reduction) +
         field(", swizzle ", configuration.swizzle) + field(", custom ", configuration.custom) +
         field(", inner ", configuration.inner_shape) +
         field(", cluster ", configuration.cluster_shape);
}

bool admissible(const GemmConfiguration& configuration) {
  return configuration.reduction == 0 && configuration.split_k <= 1;
}

std::size_t choose(std::span<const Seconds> times) {
  const Seconds enough = least(times) * kGemmTie;
  const auto first = std::ranges::find_if(times, [&](Seconds time) { return time <= enough; });
  return static_cast<std::size_t>(first - times.begin());
}

std::vector<std::size_t> finalists(std::span<const Seconds> times) {
  const Seconds enough = least(times) * kGemmHopeless;
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] <= enough || (i == 0 && std::isfinite(times[i].count()))) indices.push_back(i);
  }
  return indices;
}

Seconds median(std::vector<Seconds> samples) {
  check(!samples.empty(), "a median is of something");
  std::ranges::sort(samples);
  const std::size_t middle = samples.size() / 2;
  return samples.size() % 2 == 1 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
}

}  // namespace sluice::engine
