#include "planner/costs/profile_rates.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>

#include "planner/costs/cost_parts.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

template <class Quantity>
Measured<Quantity> between(const Measured<Quantity>& a, const Measured<Quantity>& b, double share) {
  Measured<Quantity> fact = share < 0.5 ? a : b;
  fact.value = a.value + (b.value - a.value) * share;
  fact.deviation = a.deviation + (b.deviation - a.deviation) * share;
  if (a.source != Source::measured) fact.source = a.source;
  if (b.source != Source::measured) fact.source = b.source;
  return fact;
}

/// Rate of attention by shape over the profile's: L / (L + half) over its value at the length that
/// the profile's rate is for, times the head dimension's share. L is the number of keys that the
/// last query sees. Forward is fitted to the tables of ai-dynamo/aiconfigurator for H100 (head
/// dimension 128: 309, 544, 654 TFLOP/s at 1024, 4096, 16384 tokens; 64: 486), within 5 % from 1024
/// tokens on; backward follows FlashAttention-3 (arXiv 2407.08608, H100: 316 to 561 TFLOP/s at 128,
/// 272 to 474 at 64).
double attention_share(const AttentionWork& attention) {
  const auto keys = static_cast<double>(keys_seen(attention));
  const double half = attention.backward ? 800 : 1100;
  const double usual = attention.backward ? 1800 : 3900;
  const double small_heads = attention.backward ? 0.845 : 0.74;
  const double by_length = keys / (keys + half) * (usual + half) / usual;
  return by_length * (attention.head_dim <= 64 ? small_heads : 1);
}

/// Head size of the points that attention over heads of `head_dim` follows: kernels exist for some
/// sizes, and smaller heads are padded to the next of them; beyond all points the largest.
std::int64_t padded_head_dim(std::span<const AttentionPoint> points, std::int64_t head_dim) {
  const auto enough = std::ranges::lower_bound(points, head_dim, {}, &AttentionPoint::head_dim);
  return enough == points.end() ? points.back().head_dim : enough->head_dim;
}

/// Rate of attention interpolated between the points of the head size that it is padded to, times
/// the share of that size which is not padding, in the logarithm of the keys that the last query
/// sees. Shorter sequences than any point follow attention_share;
/// longer ones take the longest point's rate with a larger deviation (docs/design/attention.md).
FlopRate measured_attention(std::span<const AttentionPoint> points,
                            const AttentionWork& attention) {
  const std::int64_t head_dim = padded_head_dim(points, attention.head_dim);
  const double used =
      std::min(1.0, static_cast<double>(attention.head_dim) / static_cast<double>(head_dim));
  const auto first = std::ranges::lower_bound(points, head_dim, {}, &AttentionPoint::head_dim);
  const auto last = std::ranges::upper_bound(points, head_dim, {}, &AttentionPoint::head_dim);
  const std::span alike = points.subspan(static_cast<std::size_t>(first - points.begin()),
                                         static_cast<std::size_t>(last - first));
  const auto rate = [&](const AttentionPoint& point) {
    FlopRate fact = attention.backward ? point.backward : point.forward;
    scale_by(fact, used);
    return fact;
  };
  const std::int64_t keys = keys_seen(attention);
  const auto above = std::ranges::lower_bound(alike, keys, {}, &AttentionPoint::length);
  if (above == alike.end()) {
    constexpr double kOfEachDoubling = 0.03;
    FlopRate fact = rate(alike.back());
    const double doublings =
        std::log2(static_cast<double>(keys) / static_cast<double>(alike.back().length));
    fact.deviation = FlopsPerSecond(
        std::hypot(fact.deviation.count(), kOfEachDoubling * doublings * fact.value.count()));
    return fact;
  }
  if (above == alike.begin()) {
    const AttentionWork shortest = {.sequences = attention.sequences,
                                    .length = above->length,
                                    .heads = attention.heads,
                                    .kv_heads = attention.kv_heads,
                                    .head_dim = attention.head_dim,
                                    .backward = attention.backward,
                                    .sums = attention.sums,
                                    .narrow_keys = attention.narrow_keys};
    FlopRate fact = rate(*above);
    scale_by(fact, attention_share(attention) / attention_share(shortest));
    return fact;
  }
  const AttentionPoint& below = *(above - 1);
  const double share =
      std::log(static_cast<double>(keys) / static_cast<double>(below.length)) /
      std::log(static_cast<double>(above->length) / static_cast<double>(below.length));
  return between(rate(below), rate(*above), share);
}

}  // namespace

FlopRate gemm_rate(const MachineProfile& profile, Flops flops) {
  const auto& curve = profile.gemm;
  if (curve.empty()) return profile.peak_bf16;
  const auto above =
      std::lower_bound(curve.begin(), curve.end(), flops,
                       [](const ProductPoint& point, Flops size) { return point.size < size; });
  if (above == curve.begin()) return curve.front().rate;
  if (above == curve.end()) return curve.back().rate;
  const auto below = above - 1;
  const auto log = [](Flops size) { return std::log(size.count()); };
  const double share = (log(flops) - log(below->size)) / (log(above->size) - log(below->size));
  return between(below->rate, above->rate, share);
}

double expert_share(Gemm::Dealt dealt) {
  switch (dealt) {
    case Gemm::Dealt::rows:
      return 0.61;
    case Gemm::Dealt::rows_back:
      return 0.55;
    case Gemm::Dealt::terms:
      return 0.23;
    case Gemm::Dealt::nothing:
      break;
  }
  return 1;
}

double expert_share_deviation(Gemm::Dealt dealt) {
  constexpr double kMeasured = 0.1;
  return dealt == Gemm::Dealt::nothing ? 0 : kMeasured;
}

Seconds chunk_product_time(const MachineProfile& profile, const Gemm& gemm) {
  constexpr double kShare = 0.051;
  return flops(gemm) / (kShare * scaled_for_experts(profile).value);
}

Seconds expert_product_time(const MachineProfile& profile, const Gemm& gemm) {
  constexpr double kHalfRowTile = 64, kHalfTermTile = 16;
  const Flops work = flops(gemm);
  if (profile.gemm.empty()) return work / profile.peak_bf16.value;
  const FlopRate& fastest = scaled_for_experts(profile);
  const auto m = static_cast<double>(gemm.m), n = static_cast<double>(gemm.n),
             k = static_cast<double>(gemm.k);
  const bool rows = gemm.dealt != Gemm::Dealt::terms;
  const double fill = rows ? m / (m + kHalfRowTile) : k / (k + kHalfTermTile);
  const double bytes = 2 * (m * k + k * n) + (rows ? 2 : 2 * 4) * m * n;
  return work / (expert_share(gemm.dealt) * fastest.value * fill) +
         Seconds(static_cast<double>(gemm.count) * bytes / profile.hbm_bandwidth.value.count());
}

const FlopRate& scaled_for_experts(const MachineProfile& profile) {
  if (profile.gemm.empty()) return profile.peak_bf16;
  return std::ranges::max_element(profile.gemm, {},
                                  [](const ProductPoint& point) { return point.rate.value; })
      ->rate;
}

Seconds narrow_run_time(const AttentionWork& attention) {
  constexpr Seconds kPerKey(11.5e-9);
  constexpr std::int64_t kHeadDim = 128, kSmallHeadDim = 64;
  // Heads between two sizes of kernels are padded to the larger one.
  const std::int64_t padded =
      attention.head_dim <= kSmallHeadDim ? kSmallHeadDim : std::max(attention.head_dim, kHeadDim);
  return kPerKey * static_cast<double>(attention.narrow_keys) *
         (static_cast<double>(padded) / static_cast<double>(kHeadDim));
}

FlopRate attention_rate(const MachineProfile& profile, const AttentionWork& attention) {
  if (!profile.attention.empty() && attention.library == AttentionLibrary::cudnn) {
    return measured_attention(profile.attention, attention);
  }
  FlopRate rate = attention.backward ? profile.attention_backward : profile.attention_forward;
  if (!(rate.value > FlopsPerSecond(0))) return gemm_rate(profile, flops(attention));
  const FlopRate& ceiling =
      attention.backward ? profile.attention_backward_ceiling : profile.attention_forward_ceiling;
  // Without a ceiling above it, a rate holds for all shapes.
  if (profile.device == DeviceKind::host || rate.value >= ceiling.value) return rate;
  const double share = std::min(attention_share(attention), ceiling.value / rate.value);
  scale_by(rate, share);
  return rate;
}

Fact update_rate(const MachineProfile& profile, std::int64_t threads) {
  const auto& rates = profile.update;
  if (rates.empty()) {
    throw BadRequest("machine " + profile.name +
                     ": update has no rate; add the CPU optimizer's parameters per second");
  }
  const auto above = rates.lower_bound(threads);
  if (above == rates.begin()) return above->second;
  if (above == rates.end()) return rates.rbegin()->second;
  const auto below = std::prev(above);
  const double share = static_cast<double>(threads - below->first) /
                       static_cast<double>(above->first - below->first);
  return between(below->second, above->second, share);
}

double update_rate_deviation(const MachineProfile& profile) {
  double sum = 0;
  int points = 0;
  for (const auto& [threads, rate] : profile.update) {
    if (rate.source != Source::measured || rate.count < 2 || !(rate.value > 0)) continue;
    sum += std::pow(deviation_of(rate), 2);
    ++points;
  }
  return points > 0 ? std::sqrt(sum / points) : 0;
}

}  // namespace sluice::planner
