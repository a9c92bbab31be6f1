// Time of C[m, n] = A[m, k] B[k, n] in bf16 on S multiprocessors, as libraries run it:
//
//   a tile of a x b elements costs   c = 2 a b k / s / (R / S e_ab) + p a b / 128^2 + f
//   its operands must be fed         u = tiles (a + b) 2 k / F
//   s partial sums of k cost         r 4 m n s / L + f        (nothing for s = 1)
//   waves                            w = q ceil(x) + (1 - q) max(x, 1), x = tiles s / S
//   product                          P = the least, over tiles and s, of max(w c + partial sums, u)
//   clocks fall under load           P' = P (1 + d P / (P + tau))
//   memory                           M = bytes (h / L + (1 - h) / B), h = 1 / (1 + (bytes / C)^3)
//   time                             launch + (P'^z + M^z)^(1/z)
//
// The waves are softened because a device at its power limit runs its busy multiprocessors faster
// when others idle; operands and results smaller than the second-level cache C stay there between
// runs. Waves over multiprocessors: NVIDIA, Matrix Multiplication Background (2023), sections 4 and
// 5. Range: the table fitted to; sizes from 32 to 65536.
#include "planner/kernels/gemm.hpp"

#include <algorithm>
#include <cmath>

namespace sluice::planner {
namespace {

constexpr std::array kSplits = {1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0};

}  // namespace

double gemm_seconds(double multiprocessors, std::span<const double> constants, double m, double n,
                    double k, double result_bytes) {
  const double launch = constants[0], rate = constants[1], memory = constants[2],
               per_tile = constants[3], whole_waves = constants[4], droop = constants[5],
               droop_time = constants[6], cache = constants[7], overlap = 1 + constants[8],
               partial = constants[9], cache_bytes = constants[10], feed = constants[11],
               fixed = constants[12], feed_share = constants[13];
  const double per_unit = rate / multiprocessors;
  double product = 0;
  for (std::size_t t = 0; t < kGemmTiles.size(); ++t) {
    const auto [a, b] = kGemmTiles[t];
    const double tiles = std::ceil(m / a) * std::ceil(n / b);
    const double fed = tiles * (a + b) * 2 * k / feed;
    const double tile_rate = per_unit * constants[kGemmScalars + t];
    const double around = per_tile * a * b / (128 * 128) + fixed;
    for (const double s : kSplits) {
      // More parts than multiprocessors gain nothing.
      if (s > 1 && tiles * s > 4 * multiprocessors) break;
      const double x = tiles * s / multiprocessors;
      const double waves = whole_waves * std::ceil(x) + (1 - whole_waves) * std::max(x, 1.0);
      double time = waves * (2 * a * b * k / s / tile_rate + around);
      if (s > 1) time += partial * 4 * m * n * s / cache + fixed;
      time = std::max(time, fed) + feed_share * std::min(time, fed);
      if (product == 0 || time < product) product = time;
    }
  }
  product *= 1 + droop * product / (product + droop_time);
  const double bytes = 2 * (m * k + k * n) + result_bytes * m * n;
  const double relative = bytes / cache_bytes;
  const double hit = 1 / (1 + relative * relative * relative);
  const double moved = bytes * (hit / cache + (1 - hit) / memory);
  const double high = std::max(product, moved), low = std::min(product, moved);
  return launch + high * std::pow(1 + std::pow(low / high, overlap), 1 / overlap);
}

}  // namespace sluice::planner
