// Sources of the shares, FLOP/s backward over forward of equal shapes:
//   FlashAttention-3 and -2, H100 SXM   arXiv 2407.08608, figures 5 and 6, without a mask: forward
//                                       467 to 648 (3) and 309 to 370 TFLOP/s (2) at heads of 128,
//                                       backward 316 to 561 and 214 to 322; heads of 64: 333 to 497
//                                       and 282 to 324, backward 272 to 474 and 198 to 291
//   FlashAttention-2, RTX 4090          apache/tvm, tl_doc/flash_perf.md, causal, 2048 tokens: 142
//                                       and 97 TFLOP/s at heads of 64, 151 and 99 at 128: 0.82 of
//                                       H100's share; an RTX A5000 (gpu-mode/ring-attention issue
//                                       10, heads of 64 without a mask) has 0.63 at 512 tokens to
//                                       0.95 at 8192, as an H100 does
//   cuDNN, deterministic                the engine on two H100 and three H200
//                                       (experiments/results/current/h100-probes)
#include "planner/kernels/backward_share.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace sluice::planner {
namespace {

struct Point {
  double keys, share;
};

constexpr std::array kFlash3Small = {Point{512, 0.82},  Point{1024, 0.93}, Point{2048, 0.92},
                                     Point{4096, 0.95}, Point{8192, 0.95}, Point{16384, 0.95}};
constexpr std::array kFlash3 = {Point{512, 0.68},  Point{1024, 0.75}, Point{2048, 0.80},
                                Point{4096, 0.85}, Point{8192, 0.87}, Point{16384, 0.87}};
constexpr std::array kFlash2Small = {Point{512, 0.70},  Point{1024, 0.78}, Point{2048, 0.83},
                                     Point{4096, 0.87}, Point{8192, 0.89}, Point{16384, 0.90}};
constexpr std::array kFlash2 = {Point{512, 0.69},  Point{1024, 0.74}, Point{2048, 0.80},
                                Point{4096, 0.84}, Point{8192, 0.86}, Point{16384, 0.87}};
constexpr std::array kCudnnSmall = {Point{1024, 0.60}, Point{8192, 0.60}, Point{32768, 0.46}};
constexpr std::array kCudnn = {Point{1024, 0.60}, Point{4096, 0.68}, Point{8192, 0.65},
                               Point{16384, 0.98}, Point{32768, 0.83}};

/// Largest size of small heads, which have kernels of their own.
constexpr std::int64_t kSmallHeadDim = 64;
/// FlashAttention-2's share on Ada and GeForce Blackwell over that on other devices.
constexpr double kAdaShare = 0.82;

double between(std::span<const Point> points, double keys) {
  if (keys <= points.front().keys) return points.front().share;
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (keys > points[i].keys) continue;
    const double part =
        std::log(keys / points[i - 1].keys) / std::log(points[i].keys / points[i - 1].keys);
    return points[i - 1].share + part * (points[i].share - points[i - 1].share);
  }
  return points.back().share;
}

}  // namespace

BackwardShare backward_share(const AttentionWork& attention, std::string_view architecture) {
  const bool small = attention.head_dim <= kSmallHeadDim;
  const bool hopper = architecture == "sm_90";
  const auto keys = static_cast<double>(keys_seen(attention));
  const auto share = [&](std::span<const Point> of_small, std::span<const Point> of_large) {
    return between(small ? of_small : of_large, keys);
  };
  if (attention.library == AttentionLibrary::cudnn) {
    return {share(kCudnnSmall, kCudnn), hopper ? 0.10 : 0.25};
  }
  if (attention.library == AttentionLibrary::flash && hopper) {
    return {share(kFlash3Small, kFlash3), 0.08};
  }
  const bool ada = architecture == "sm_89" || architecture.starts_with("sm_12");
  return {share(kFlash2Small, kFlash2) * (ada ? kAdaShare : 1), hopper ? 0.08 : 0.15};
}

double forward_share(const AttentionWork& attention, std::string_view architecture) {
  constexpr double kSmall = 0.65, kLarge = 0.57;
  if (architecture != "sm_90" || attention.library != AttentionLibrary::flash2) return 1;
  return attention.head_dim <= kSmallHeadDim ? kSmall : kLarge;
}

std::int64_t padded_head_dim(const AttentionWork& attention) {
  constexpr std::array<std::int64_t, 5> kFlash = {64, 96, 128, 192, 256};
  constexpr std::array<std::int64_t, 3> kFixedOrder = {64, 128, 256};
  const std::span<const std::int64_t> sizes = attention.library == AttentionLibrary::cudnn
                                                  ? std::span<const std::int64_t>(kFixedOrder)
                                                  : std::span<const std::int64_t>(kFlash);
  const auto enough = std::ranges::lower_bound(sizes, attention.head_dim);
  return enough == sizes.end() ? attention.head_dim : *enough;
}

}  // namespace sluice::planner
