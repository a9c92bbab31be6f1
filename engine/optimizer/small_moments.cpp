#include "engine/optimizer/small_moments.hpp"

#include <algorithm>
#include <array>

#include "engine/optimizer/instruction_set.hpp"
#include "sim/error.hpp"

namespace sluice::engine {

using planner::kMomentBlock;
using planner::StateType;

MomentPath moments_avx512();
MomentPath moments_avx2();
MomentPath moments_portable();

namespace {

MomentPath named(std::string_view name, bool supported, MomentPath path) {
  path.name = name;
  path.supported = supported;
  return path;
}

/// The fastest update of fp32 moments without stores past the caches: its moments are in a buffer
/// that is used at once.
const AdamWPath& cached_update() {
  return *std::ranges::find_if(adamw_paths(), [](const AdamWPath& path) {
    return path.supported && !path.name.ends_with("streamed");
  });
}

const void* from(const AdamWOperands& operands, std::int64_t element) {
  const std::int64_t bytes = operands.wire == planner::GradientWire::bf16 ? 2 : 4;
  return static_cast<const std::byte*>(operands.gradient) + bytes * element;
}

/// Updates of a part's blocks.
class BlockUpdate {
 public:
  BlockUpdate(const AdamWOperands& operands, const SmallMoments& moments,
              std::span<const AdamWSpan> spans, const AdamWStep& step, std::int64_t first)
      : operands_(operands),
        moments_(moments),
        spans_(spans),
        step_(step),
        first_(first),
        key_(rounding_key(step.rounding, moments.unit)) {}

  /// Updates the block of elements from `begin` on, counted from the part's first.
  void run(std::int64_t begin) const {
    const MomentBlock block = moment_block(moments_, begin);
    alignas(64) float m[kMomentBlock];
    alignas(64) float v[kMomentBlock];
    path_.read(moments_.type, block, m, v);
    const AdamWOperands of_block{.high = operands_.high + begin,
                                 .low = operands_.low + begin,
                                 .m = m,
                                 .v = v,
                                 .gradient = from(operands_, begin),
                                 .wire = operands_.wire};
    const std::int64_t position = first_ + begin;
    const std::int64_t end = position + std::min(kMomentBlock, moments_.elements - begin);
    for (const AdamWSpan& span : spans_) {
      const std::int64_t at = std::max(span.begin, position), to = std::min(span.end, end);
      if (at < to) update_.update(of_block, at - position, to - position, span.decays, step_);
    }
    path_.store(moments_.type, block, m, v, key_, position);
  }

 private:
  AdamWOperands operands_;
  SmallMoments moments_;
  std::span<const AdamWSpan> spans_;
  AdamWStep step_;
  std::int64_t first_;
  RoundingKey key_;
  const MomentPath& path_ = moment_path();
  const AdamWPath& update_ = cached_update();
};

}  // namespace

std::span<const MomentPath> moment_paths() {
  static const std::array<MomentPath, 3> paths = {named("avx512", has_avx512(), moments_avx512()),
                                                  named("avx2", has_avx2(), moments_avx2()),
                                                  named("portable", true, moments_portable())};
  return paths;
}

const MomentPath& moment_path() {
  return *std::ranges::find_if(moment_paths(), &MomentPath::supported);
}

MomentBlock moment_block(const SmallMoments& moments, std::int64_t first) {
  if (moments.type == StateType::bf16) {
    const std::int64_t count = std::min(kMomentBlock, moments.elements - first);
    return {moments.m + 2 * first, moments.v + 2 * first, count, nullptr, nullptr};
  }
  const std::int64_t scale = scales_behind(moments.elements) + kMomentScaleSize.before(first);
  return {moments.m + first, moments.v + first, kMomentBlock,
          reinterpret_cast<float*>(moments.m + scale), reinterpret_cast<float*>(moments.v + scale)};
}

void adamw_update(const AdamWOperands& operands, const SmallMoments& moments,
                  std::span<const AdamWSpan> spans, const AdamWStep& step, ThreadPool& pool,
                  int threads, std::int64_t first) {
  if (spans.empty() || step.changes_nothing) return;
  check(first % kMomentBlock == 0, "moments are updated in whole blocks");
  const std::int64_t elements = std::min(moments.elements, spans.back().end - first);
  if (elements <= 0) return;  // A slice of nothing but padding.
  const BlockUpdate update(operands, moments, spans, step, first);
  auto tile = [&](std::int64_t number) {
    const std::int64_t begin = number * kUpdateBlock;
    const std::int64_t end = std::min(begin + kUpdateBlock, elements);
    for (std::int64_t at = begin; at < end; at += kMomentBlock) update.run(at);
  };
  pool.run((elements + kUpdateBlock - 1) / kUpdateBlock, threads, tile);
}

}  // namespace sluice::engine
