#include "planner/kernels/kernel_model.hpp"

#include <algorithm>
#include <cmath>

#include "planner/files/hash.hpp"
#include "planner/kernels/attention.hpp"
#include "planner/kernels/backward_share.hpp"
#include "planner/kernels/gemm.hpp"

namespace sluice::planner {
namespace {

using enum ConstantScale;

constexpr std::array kGemmColumns = {KernelColumn{"m"}, KernelColumn{"n"}, KernelColumn{"k"}};
constexpr std::array kAttentionColumns = {
    KernelColumn{"batch_size"}, KernelColumn{"isl"},
    KernelColumn{"num_heads"},  KernelColumn{"num_key_value_heads"},
    KernelColumn{"head_dim"},   KernelColumn{"window_size", true}};

constexpr std::array kGemmConstants = {
    KernelConstant{"launch_s", positive},
    KernelConstant{"rate_flop_per_s", positive},
    KernelConstant{"memory_bytes_per_s", positive},
    KernelConstant{"tile_s", positive},  // Seconds of a tile of 128 x 128 elements.
    KernelConstant{"whole_waves", share},
    KernelConstant{"droop", positive},
    KernelConstant{"droop_s", positive},
    KernelConstant{"cache_bytes_per_s", positive},
    KernelConstant{"overlap", positive},
    KernelConstant{"partial_sums", positive},
    KernelConstant{"cache_bytes", positive},
    KernelConstant{"feed_bytes_per_s", positive},
    KernelConstant{"wave_s", positive},
    KernelConstant{"feed_share", share},
    KernelConstant{"tile_256x128", share},
    KernelConstant{"tile_128x256", share},
    KernelConstant{"tile_128x128", share},
    KernelConstant{"tile_192x128", share},
    KernelConstant{"tile_128x192", share},
    KernelConstant{"tile_64x256", share},
    KernelConstant{"tile_256x64", share},
    KernelConstant{"tile_128x64", share},
    KernelConstant{"tile_64x128", share},
    KernelConstant{"tile_64x64", share},
    KernelConstant{"tile_128x32", share},
    KernelConstant{"tile_64x32", share},
};
static_assert(kGemmConstants.size() == kGemmScalars + kGemmTiles.size());

constexpr std::array kAttentionConstants = {
    KernelConstant{"launch_s", positive},
    KernelConstant{"memory_bytes_per_s", positive},
    KernelConstant{"block_s", positive},
    KernelConstant{"whole_waves", share},
    KernelConstant{"droop", positive},
    KernelConstant{"droop_s", positive},
    KernelConstant{"masked", positive},
    KernelConstant{"overlap", positive},
    KernelConstant{"cache_bytes_per_s", positive},
    KernelConstant{"cache_bytes", positive},
    KernelConstant{"sequence_s", positive},
    KernelConstant{"rate_64_flop_per_s", positive},
    KernelConstant{"rate_128_flop_per_s", positive},
    KernelConstant{"rate_192_flop_per_s", positive},
    KernelConstant{"rate_256_flop_per_s", positive},
    KernelConstant{"rate_512_flop_per_s", positive},
};
static_assert(kAttentionConstants.size() == kAttentionScalars + kHeadDims.size());

constexpr std::array kFeatureTiles = {GemmTile{128, 256}, GemmTile{256, 128}, GemmTile{128, 128},
                                      GemmTile{64, 64}};

/// Half the width of a 90 % interval, in standard deviations.
constexpr double kHalfWidth = 1.645;

std::string hash_of(const KernelFamily& family) {
  CanonicalText text("sluice/kernels/1");
  text.add("kind", to_string(family.kind))
      .add("rows", family.rows)
      .add("multiprocessors", family.multiprocessors)
      .add("speed", family.speed)
      .add("backward_speed", family.backward_speed)
      .add("low", family.check.log_low)
      .add("high", family.check.log_high);
  for (const double constant : family.constants) text.add("constant", constant);
  for (const KernelCorrection::Tree& tree : family.correction.trees()) {
    for (const KernelCorrection::Node& node : tree) {
      text.add("node", std::int64_t{node.feature}).add("value", node.value);
    }
  }
  return text.hash();
}

KernelTime times(const KernelTime& time, double factor) {
  return {.time = time.time * factor, .low = time.low * factor, .high = time.high * factor};
}

void add_waves(std::vector<double>& features, double units) {
  features.push_back(std::log(units));
  features.push_back(std::ceil(units) / units);
}

}  // namespace

const char* to_string(KernelKind kind) { return kind == KernelKind::gemm ? "gemm" : "attention"; }

KernelShape shape_of(const Gemm& gemm) {
  return {{static_cast<double>(gemm.m), static_cast<double>(gemm.n), static_cast<double>(gemm.k)}};
}

KernelShape shape_of(const AttentionWork& attention) {
  return {{static_cast<double>(attention.sequences), static_cast<double>(attention.length),
           static_cast<double>(attention.heads), static_cast<double>(attention.kv_heads),
           static_cast<double>(attention.head_dim),
           static_cast<double>(attention.window.value_or(0))}};
}

bool shares_heads_evenly(KernelKind kind, const KernelShape& shape) {
  return kind != KernelKind::attention || std::fmod(shape.size[2], shape.size[3]) == 0;
}

std::span<const KernelColumn> kernel_columns(KernelKind kind) {
  if (kind == KernelKind::gemm) return kGemmColumns;
  return kAttentionColumns;
}

std::span<const KernelConstant> kernel_constants(KernelKind kind) {
  if (kind == KernelKind::gemm) return kGemmConstants;
  return kAttentionConstants;
}

double KernelTime::relative_deviation() const {
  return time.count() > 0 ? (high - low).count() / 2 / kHalfWidth / time.count() : 0;
}

double base_seconds(KernelKind kind, double multiprocessors, std::span<const double> constants,
                    const KernelShape& shape) {
  if (kind == KernelKind::attention) return attention_seconds(multiprocessors, constants, shape);
  return gemm_seconds(multiprocessors, constants, shape.size[0], shape.size[1], shape.size[2]);
}

std::vector<double> correction_features(const KernelFamily& family, const KernelShape& shape,
                                        double base) {
  std::vector<double> features = {std::log(base)};
  if (family.kind == KernelKind::gemm) {
    const double m = shape.size[0], n = shape.size[1], k = shape.size[2];
    for (const double size : {m, n, k, m * k + k * n + m * n}) features.push_back(std::log(size));
    for (const GemmTile& tile : kFeatureTiles) {
      add_waves(features,
                std::ceil(m / tile.rows) * std::ceil(n / tile.columns) / family.multiprocessors);
    }
    features.push_back(std::ceil(m / 128) * 128 / m);
    return features;
  }
  const auto [b, l, h, g, d, window] = shape.size;
  const double seen = window > 0 ? std::min(window, l) : l;
  for (const double size : {b, l, h, g, h / g, d, seen, l / seen, b * h, b * l * d * (h + g)}) {
    features.push_back(std::log(size));
  }
  for (const double rows : {kQueryRows, kQueryRows / 2}) {
    add_waves(features, b * h * std::ceil(l / rows) / family.multiprocessors);
  }
  return features;
}

const KernelFamily* KernelModel::family(KernelKind kind) const {
  const auto& family = kind == KernelKind::gemm ? gemm_ : attention_;
  return family ? &*family : nullptr;
}

void KernelModel::set(KernelFamily family) {
  const bool products = family.kind == KernelKind::gemm;
  (products ? gemm_hash_ : attention_hash_) = hash_of(family);
  (products ? gemm_ : attention_) = std::move(family);
  times_ = std::make_shared<KernelTimes>();
}

std::string KernelModel::hash() const { return sha256_hex(gemm_hash_ + "/" + attention_hash_); }

std::optional<KernelTime> KernelModel::time(KernelKind kind, const KernelShape& shape) const {
  const KernelFamily* of = family(kind);
  if (of == nullptr) return std::nullopt;
  const double base = base_seconds(kind, of->multiprocessors, of->constants, shape);
  const double seconds =
      base * std::exp(of->correction.value(correction_features(*of, shape, base))) / of->speed;
  return KernelTime{.time = Seconds(seconds),
                    .low = Seconds(seconds * std::exp(std::min(of->check.log_low, 0.0))),
                    .high = Seconds(seconds * std::exp(std::max(of->check.log_high, 0.0)))};
}

KernelTime KernelModel::remembered(const KernelFamily& family, const KernelShape& shape) const {
  const double seconds =
      times_->of(family.kind, shape, [&] { return time(family.kind, shape).value().time.count(); });
  return {.time = Seconds(seconds),
          .low = Seconds(seconds * std::exp(std::min(family.check.log_low, 0.0))),
          .high = Seconds(seconds * std::exp(std::max(family.check.log_high, 0.0)))};
}

std::optional<KernelTime> KernelModel::time(const Gemm& gemm) const {
  constexpr std::int64_t kWritten = 2;
  if (!gemm_) return std::nullopt;
  const KernelShape shape = shape_of(gemm);
  const KernelTime time = remembered(*gemm_, shape);
  if (gemm.result_bytes == kWritten) return time;
  const auto base = [&](double result_bytes) {
    return gemm_seconds(gemm_->multiprocessors, gemm_->constants, shape.size[0], shape.size[1],
                        shape.size[2], result_bytes);
  };
  return times(time, base(static_cast<double>(gemm.result_bytes)) / base(kWritten));
}

std::optional<KernelTime> KernelModel::time(const AttentionWork& attention,
                                            std::string_view architecture) const {
  // FLOPs of the backward pass over those of the forward pass.
  constexpr double kBackwardWork = 2.5;
  if (!attention_) return std::nullopt;
  KernelShape shape = shape_of(attention);
  shape.size[4] = static_cast<double>(padded_head_dim(attention));
  const auto prior = static_cast<double>(attention.prior);
  KernelShape whole = shape;
  whole.size[1] += prior;
  KernelTime time = remembered(*attention_, whole);
  if (prior > 0) {
    const auto base = [&](const KernelShape& of, double before) {
      return attention_seconds(attention_->multiprocessors, attention_->constants, of, before);
    };
    time = times(time, base(shape, prior) / base(whole, 0));
  }
  time = times(time, 1 / forward_share(attention, architecture));
  if (!attention.backward) return time;
  const auto [share, deviation] = backward_share(attention, architecture);
  time = times(time, kBackwardWork / share / attention_->backward_speed);
  const double wider = kHalfWidth * deviation;
  time.low = time.time * std::exp(-std::hypot(std::log(time.time / time.low), wider));
  time.high = time.time * std::exp(std::hypot(std::log(time.high / time.time), wider));
  return time;
}

}  // namespace sluice::planner
