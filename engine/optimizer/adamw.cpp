#include "engine/optimizer/adamw.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "engine/optimizer/instruction_set.hpp"

namespace sluice::engine {

AdamWPath adamw_avx512();
AdamWPath adamw_streamed_avx512();
AdamWPath adamw_avx2();
AdamWPath adamw_streamed_avx2();
AdamWPath adamw_portable();

namespace {

AdamWPath named(std::string_view name, bool supported, AdamWPath path) {
  path.name = name;
  path.supported = supported;
  return path;
}

/// Whether stores that bypass the caches are faster here (docs/design/cpu-optimizer.md).
bool streams() {
#if defined(__x86_64__)
  return !__builtin_cpu_is("amd");
#else
  return false;
#endif
}

std::array<AdamWPath, 5> fastest_first() {
  std::array<AdamWPath, 5> paths = {named("avx512 streamed", has_avx512(), adamw_streamed_avx512()),
                                    named("avx512", has_avx512(), adamw_avx512()),
                                    named("avx2 streamed", has_avx2(), adamw_streamed_avx2()),
                                    named("avx2", has_avx2(), adamw_avx2()),
                                    named("portable", true, adamw_portable())};
  if (!streams()) {
    std::swap(paths[0], paths[1]);
    std::swap(paths[2], paths[3]);
  }
  return paths;
}

const AdamWPath& fastest() {
  for (const AdamWPath& path : adamw_paths()) {
    if (path.supported) return path;
  }
  return adamw_paths().back();
}

}  // namespace

float clip_scale(const planner::AdamWSettings& settings, double norm) {
  if (!settings.clip) return 1;
  const double scale = *settings.clip / (norm + 1e-6);
  return static_cast<float>(scale < 1 ? scale : 1);
}

AdamWStep adamw_step(const planner::AdamWSettings& settings, double lr, std::int64_t step,
                     float clip_scale) {
  const auto t = static_cast<double>(step);
  const double correction1 = 1 - std::pow(settings.beta1, t);
  const double correction2 = 1 - std::pow(settings.beta2, t);
  return {.clip_scale = clip_scale,
          .beta1 = static_cast<float>(settings.beta1),
          .one_minus_beta1 = static_cast<float>(1 - settings.beta1),
          .beta2 = static_cast<float>(settings.beta2),
          .one_minus_beta2 = static_cast<float>(1 - settings.beta2),
          .inverse_root_correction2 = static_cast<float>(1 / std::sqrt(correction2)),
          .eps = static_cast<float>(settings.eps),
          .minus_decay = static_cast<float>(-lr * settings.weight_decay),
          .minus_step_size = static_cast<float>(-lr / correction1),
          .minus_lr = static_cast<float>(-lr)};
}

std::vector<AdamWSpan> adamw_spans(const planner::UnitTensors& unit) {
  std::vector<AdamWSpan> spans;
  for (const planner::TensorSpec& tensor : unit.tensors) {
    const AdamWSpan span{tensor.offset, tensor.offset + tensor.size(), tensor.decays};
    if (!spans.empty() && spans.back().end == span.begin && spans.back().decays == span.decays) {
      spans.back().end = span.end;
    } else {
      spans.push_back(span);
    }
  }
  return spans;
}

void adamw_update(const AdamWOperands& operands, std::span<const AdamWSpan> spans,
                  const AdamWStep& step, ThreadPool& pool, int threads, AdamWPart part) {
  if (spans.empty() || step.changes_nothing) return;
  const std::int64_t elements = std::min(part.count, spans.back().end - part.first);
  if (elements <= 0) return;  // A slice of nothing but padding.
  const std::int64_t blocks = (elements + kUpdateBlock - 1) / kUpdateBlock;
  const auto update = fastest().update;
  auto tile = [&](std::int64_t block) {
    const std::int64_t begin = part.first + block * kUpdateBlock;
    const std::int64_t end = std::min(begin + kUpdateBlock, part.first + elements);
    for (const AdamWSpan& span : spans) {
      const std::int64_t from = std::max(span.begin, begin);
      const std::int64_t to = std::min(span.end, end);
      if (from < to) {
        update(operands, from - part.first, to - part.first, span.decays, step);
      }
    }
  };
  pool.run(blocks, threads, tile);
}

std::span<const AdamWPath> adamw_paths() {
  static const std::array<AdamWPath, 5> paths = fastest_first();
  return paths;
}

}  // namespace sluice::engine
