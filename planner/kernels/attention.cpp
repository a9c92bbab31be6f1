// Time of causal attention forward, `b` sequences of `l` tokens, `h` heads of dimension d, `g`
// key-value heads, on S multiprocessors:
//
//   blocks of 128 queries   N = b h ceil(l / 128)
//   work of all blocks      W = 4 d b h (pairs + D / 2 x masked pairs of the diagonal blocks)
//   waves                   w = q ceil(x) + (1 - q) max(x, 1), x = N / S
//   attention               P = max(w (W / N S / R_d + p), longest block)
//   clocks fall under load  P' = P (1 + f P / (P + tau))
//   memory                  M = 2 (2 b l h d + v b l g d) (h / L + (1 - h) / B), as for products
//   time                    launch + a sequence's time x b + (P'^z + M^z)^(1/z)
//
// The exponential keeps pace with small head dimensions badly, hence one rate a head dimension.
#include "planner/kernels/attention.hpp"

#include <algorithm>
#include <cmath>

namespace sluice::planner {
namespace {

double visible(double length, double window) {
  return window > 0 ? std::min(window, length) : length;
}

/// FLOP/s constant of head dimension `d`: interpolated in the logarithm of `d` between the model's
/// constants, beyond them the nearest.
double rate_of(double d, std::span<const double> rates) {
  if (d <= kHeadDims.front()) return rates.front();
  for (std::size_t i = 1; i < kHeadDims.size(); ++i) {
    if (d > kHeadDims[i]) continue;
    const double share = std::log(d / kHeadDims[i - 1]) / std::log(kHeadDims[i] / kHeadDims[i - 1]);
    return rates[i - 1] * std::pow(rates[i] / rates[i - 1], share);
  }
  return rates.back();
}

}  // namespace

double attention_pairs(double length, double window) {
  const double seen = visible(length, window);
  return seen * (seen + 1) / 2 + (length - seen) * seen;
}

double attention_seconds(double multiprocessors, std::span<const double> constants,
                         const KernelShape& shape, double prior) {
  const double launch = constants[0], memory = constants[1], around = constants[2],
               whole_waves = constants[3], droop = constants[4], droop_time = constants[5],
               masked = constants[6], overlap = 1 + constants[7], cache = constants[8],
               cache_bytes = constants[9], per_sequence = constants[10];
  const auto [b, l, h, g, d, window] = shape.size;
  const double per_unit = rate_of(d, constants.subspan(kAttentionScalars)) / multiprocessors;
  const double rows = std::ceil(l / kQueryRows) * kQueryRows;
  const double blocks = b * h * rows / kQueryRows;
  const double seen = visible(l + prior, window);
  const double pairs = attention_pairs(l + prior, window) - attention_pairs(prior, window) +
                       rows * kQueryRows * masked / 2 + (rows - l) * seen / 2;
  const double x = blocks / multiprocessors;
  const double waves = whole_waves * std::ceil(x) + (1 - whole_waves) * std::max(x, 1.0);
  const double mean = 4 * d * b * h * pairs / blocks / per_unit + around;
  const double longest = 4 * d * kQueryRows * (seen + kQueryRows / 2) / per_unit + around;
  double product = std::max(waves * mean, longest);
  product *= 1 + droop * product / (product + droop_time);
  const double bytes = 4 * b * d * (l * h + (l + prior) * g);
  const double relative = bytes / cache_bytes;
  const double hit = 1 / (1 + relative * relative * relative);
  const double moved = bytes * (hit / cache + (1 - hit) / memory);
  const double high = std::max(product, moved), low = std::min(product, moved);
  return launch + per_sequence * b +
         high * std::pow(1 + std::pow(low / high, overlap), 1 / overlap);
}

}  // namespace sluice::planner
