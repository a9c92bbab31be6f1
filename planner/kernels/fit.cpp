#include "planner/kernels/fit.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "planner/kernels/attention.hpp"
#include "planner/kernels/gemm.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

using Rows = std::vector<MeasuredKernel>;
using Vector = std::vector<double>;

/// Error in the constants' fit beyond which errors count less and less.
constexpr double kScale = 0.05;
constexpr double kPull = 0.05;

double quantile(Vector values, double share) {
  if (values.empty()) return 0;
  const std::ptrdiff_t at = std::lround(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

Vector to_values(KernelKind kind, const Vector& unbounded) {
  Vector values(unbounded.size());
  const auto constants = kernel_constants(kind);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = constants[i].scale == ConstantScale::positive ? std::exp(unbounded[i])
                                                              : 1 / (1 + std::exp(-unbounded[i]));
  }
  return values;
}

Vector to_unbounded(KernelKind kind, const Vector& values) {
  Vector unbounded(values.size());
  const auto constants = kernel_constants(kind);
  for (std::size_t i = 0; i < values.size(); ++i) {
    unbounded[i] = constants[i].scale == ConstantScale::positive
                       ? std::log(values[i])
                       : std::log(values[i] / (1 - values[i]));
  }
  return unbounded;
}

/// FLOPs and bytes of memory that a kernel of the shape needs.
std::pair<double, double> needs(KernelKind kind, const KernelShape& shape) {
  const auto [a, b, c, d, e, f] = shape.size;
  if (kind == KernelKind::gemm) return {2 * a * b * c, 2 * (a * c + c * b + a * b)};
  return {4 * a * c * e * attention_pairs(b, f), 4 * a * b * e * (c + d)};
}

/// Start of the search, from the fastest measured rows. `first_tile` is the product's fastest tile.
Vector start_values(KernelKind kind, const Rows& rows, std::size_t first_tile) {
  Vector times, rates, speeds;
  for (const MeasuredKernel& row : rows) {
    const auto [flops, bytes] = needs(kind, row.shape);
    times.push_back(row.time.count());
    rates.push_back(flops / row.time.count());
    speeds.push_back(bytes / row.time.count());
  }
  const double launch = 0.5 * quantile(times, 0.001), rate = 1.1 * quantile(rates, 0.98);
  const double memory = 0.7 * quantile(speeds, 0.98);
  if (kind == KernelKind::attention) {
    Vector values = {launch, memory, 2e-7, 0.5, 0.1, 1e-3, 1, 4, 4 * memory, 60e6, 1e-8};
    for (const double speed : {0.8, 1.0, 1.0, 1.0, 0.6}) values.push_back(speed * rate);
    return values;
  }
  Vector values = {launch,     rate, memory, 1e-6, 0.75,        0.1,  1e-3,
                   4 * memory, 2,    1,      60e6, 10 * memory, 1e-7, 0.1};
  for (const double share :
       {0.78, 0.78, 0.78, 0.78, 0.78, 0.74, 0.74, 0.7, 0.7, 0.64, 0.55, 0.45}) {
    values.push_back(share);
  }
  values[kGemmScalars + first_tile] = 0.97;
  return values;
}

/// A fixed permutation of the rows, which depends on nothing but their number.
std::vector<std::size_t> shuffled(std::size_t count) {
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = i;
  std::uint64_t state = 0x9e3779b97f4a7c15u;
  for (std::size_t i = count; i > 1; --i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    std::swap(order[i - 1], order[(state >> 33) % i]);
  }
  return order;
}

/// The rows that the constants are fitted to: large ones, where there are enough.
Rows sample(KernelKind kind, const Rows& rows, int wanted) {
  // Smallest m of a product in training; below it lies decoding.
  constexpr double kLargeRows = 512;
  Rows large, small;
  for (const std::size_t i : shuffled(rows.size())) {
    const KernelShape& shape = rows[i].shape;
    const double tokens = kind == KernelKind::gemm ? shape.size[0] : shape.size[0] * shape.size[1];
    (tokens >= kLargeRows ? large : small).push_back(rows[i]);
  }
  const auto most = static_cast<std::size_t>(wanted);
  if (large.size() > most * 9 / 10) large.resize(most * 9 / 10);
  large.insert(large.end(), small.begin(),
               small.begin() + static_cast<std::ptrdiff_t>(
                                   std::min(small.size(), most - std::min(most, large.size()))));
  return large;
}

struct FittedConstants {
  Vector values;
  double cost = 0;
};

FittedConstants fit_constants(KernelKind kind, const Rows& rows, double multiprocessors,
                              const Vector& start, int iterations) {
  const auto residuals = [&](const Vector& x, Vector& r) {
    const Vector values = to_values(kind, x);
    r.resize(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      r[i] = std::log(base_seconds(kind, multiprocessors, values, rows[i].shape) /
                      rows[i].time.count());
    }
  };
  FittedConstants fitted;
  fitted.values = to_values(kind, least_squares(residuals, to_unbounded(kind, start), kScale, kPull,
                                                iterations, &fitted.cost));
  return fitted;
}

FittedConstants best_constants(KernelKind kind, const Rows& rows, double multiprocessors,
                               int iterations) {
  // 128 x 256 and 128 x 128: what libraries prefer for large products, by generation.
  constexpr std::array<std::size_t, 2> kFirstTiles = {1, 2};
  FittedConstants best;
  for (const std::size_t first : kFirstTiles) {
    FittedConstants tried =
        fit_constants(kind, rows, multiprocessors, start_values(kind, rows, first), iterations);
    if (best.values.empty() || tried.cost < best.cost) best = std::move(tried);
    if (kind == KernelKind::attention) break;
  }
  return best;
}

/// The number of multiprocessors whose waves explain the times best.
double infer_multiprocessors(KernelKind kind, const Rows& rows) {
  constexpr std::array kCounts = {16,  20,  24,  28,  34,  40,  46,  48,  56,  58,  60,  66,
                                  68,  72,  76,  78,  80,  82,  84,  96,  104, 108, 114, 120,
                                  128, 132, 142, 144, 148, 152, 160, 170, 176, 188, 192};
  constexpr int kRows = 300, kIterations = 6;
  const Rows few = sample(kind, rows, kRows);
  double best = 0, best_cost = 0;
  for (const double count : kCounts) {
    const double cost =
        fit_constants(kind, few, count, start_values(kind, few, 1), kIterations).cost;
    if (best == 0 || cost < best_cost) {
      best = count;
      best_cost = cost;
    }
  }
  return best;
}

void correct(KernelFamily& family, const Rows& rows, const CorrectionOptions& options) {
  Vector features, left;
  std::size_t width = 0;
  for (const MeasuredKernel& row : rows) {
    const double base =
        base_seconds(family.kind, family.multiprocessors, family.constants, row.shape);
    const Vector own = correction_features(family, row.shape, base);
    features.insert(features.end(), own.begin(), own.end());
    width = own.size();
    left.push_back(std::log(row.time.count() / base));
  }
  family.correction = fit_correction(features, width, left, options);
}

}  // namespace

std::optional<double> known_multiprocessors(const std::string& device) {
  // From NVIDIA's datasheets and architecture papers, as read in November 2026. The first entry
  // that the name contains counts, so longer names come first.
  struct Known {
    const char* part;
    double count;
  };
  constexpr std::array kKnown = {
      Known{"H100 PCIe", 114}, Known{"H100 NVL", 132},     Known{"H100", 132},
      Known{"H200", 132},      Known{"GH200", 132},        Known{"H20", 78},
      Known{"H800", 132},      Known{"A100", 108},         Known{"A800", 108},
      Known{"A30", 56},        Known{"A40", 84},           Known{"A10G", 80},
      Known{"A10", 72},        Known{"L40S", 142},         Known{"L40", 142},
      Known{"L4", 58},         Known{"RTX 3090 Ti", 84},   Known{"RTX 3090", 82},
      Known{"RTX 4090", 128},  Known{"RTX 5090", 170},     Known{"RTX PRO 6000", 188},
      Known{"RTX A6000", 84},  Known{"RTX 6000 Ada", 142}, Known{"B200", 148},
      Known{"B300", 148},      Known{"V100", 80},          Known{"T4", 40}};
  for (const Known& known : kKnown) {
    if (device.find(known.part) != std::string::npos) return known.count;
  }
  return std::nullopt;
}

KernelCheck check_kernels(const KernelFamily& family, const std::vector<MeasuredKernel>& rows) {
  KernelModel model;
  model.set(family);
  Vector errors, logs;
  for (const MeasuredKernel& row : rows) {
    const double ratio = model.time(family.kind, row.shape)->time.count() / row.time.count();
    errors.push_back(std::abs(ratio - 1));
    logs.push_back(-std::log(ratio));
  }
  return {.rows = static_cast<std::int64_t>(rows.size()),
          .median_error = quantile(errors, 0.5),
          .p90_error = quantile(errors, 0.9),
          .log_low = quantile(logs, 0.05),
          .log_high = quantile(logs, 0.95)};
}

KernelFamily fit_kernels(KernelKind kind, const std::string& device,
                         const std::vector<MeasuredKernel>& rows, const KernelFitOptions& options) {
  if (rows.size() < kLeastKernelRows) {
    throw BadRequest("a fit needs at least " + std::to_string(kLeastKernelRows) +
                     " measured shapes, not " + std::to_string(rows.size()) +
                     ": train on more of the table");
  }
  KernelFamily family;
  family.kind = kind;
  family.rows = static_cast<std::int64_t>(rows.size());
  auto units = options.multiprocessors ? options.multiprocessors : known_multiprocessors(device);
  family.multiprocessors = units ? *units : infer_multiprocessors(kind, rows);
  family.constants = best_constants(kind, sample(kind, rows, options.constants_rows),
                                    family.multiprocessors, options.iterations)
                         .values;
  for (double& value : family.constants) value = rounded(value);
  constexpr std::size_t kFold = 5;
  Rows kept, out;
  std::size_t position = 0;
  for (const std::size_t i : shuffled(rows.size())) {
    (position++ % kFold == 0 ? out : kept).push_back(rows[i]);
  }
  correct(family, kept, options.correction);
  family.check = check_kernels(family, out);
  correct(family, rows, options.correction);
  return family;
}

}  // namespace sluice::planner
