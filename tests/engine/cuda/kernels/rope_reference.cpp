#include "tests/engine/cuda/kernels/rope_reference.hpp"

#include <cmath>

namespace sluice::engine::cuda::testing {
namespace {

double double_of(const Halves& values, std::int64_t index) { return value_of(values[index]); }

}  // namespace

Angles::Angles(const RopeShape& shape) {
  for (std::int64_t position = 0; position < shape.seq_len; ++position) {
    for (std::int64_t i = 0; i < shape.head_dim / 2; ++i) {
      const double angle =
          double(position) * std::pow(10'000.0, -2.0 * double(i) / double(shape.head_dim));
      cos.push_back(static_cast<float>(std::cos(angle)));
      sin.push_back(static_cast<float>(std::sin(angle)));
    }
  }
}

void rotate(const RopeShape& shape, const Angles& angles, const RopePart& part,
            const Halves& packed, std::vector<double>& out, std::vector<double>& scales) {
  const std::int64_t half = shape.head_dim / 2;
  for (std::int64_t row = 0; row < shape.tokens * part.heads; ++row) {
    const std::int64_t token = row / part.heads;
    const std::int64_t at = token * part.stride + part.offset + row % part.heads * shape.head_dim;
    std::vector<double> x;
    double squares = 0;
    for (std::int64_t i = 0; i < shape.head_dim; ++i) {
      x.push_back(double_of(packed, at + i));
      squares += x.back() * x.back();
    }
    if (part.norm != nullptr) {
      scales.push_back(1 / std::sqrt(squares / double(shape.head_dim) + double{kRopeEps}));
      for (std::int64_t i = 0; i < shape.head_dim; ++i) {
        x[i] =
            value_of(to_bf16(static_cast<float>(x[i] * scales.back() * double_of(*part.norm, i))));
      }
    }
    for (std::int64_t i = 0; i < half; ++i) {
      const std::int64_t angle = token % shape.seq_len * half + i;
      const double c = angles.cos[angle], s = angles.sin[angle];
      out[at + i] = x[i] * c - x[i + half] * s;
      out[at + i + half] = x[i + half] * c + x[i] * s;
    }
  }
}

void rotate_back(const RopeShape& shape, const Angles& angles, const RopePart& part,
                 const Halves& packed, const Halves& d, std::vector<double>& out,
                 std::vector<double>& d_norm) {
  const std::int64_t half = shape.head_dim / 2;
  d_norm.assign(static_cast<std::size_t>(shape.head_dim), 0);
  for (std::int64_t row = 0; row < shape.tokens * part.heads; ++row) {
    const std::int64_t token = row / part.heads;
    const std::int64_t at = token * part.stride + part.offset + row % part.heads * shape.head_dim;
    std::vector<double> g(static_cast<std::size_t>(shape.head_dim));
    for (std::int64_t i = 0; i < half; ++i) {
      const std::int64_t angle = token % shape.seq_len * half + i;
      const double c = angles.cos[angle], s = angles.sin[angle];
      g[i] = double_of(d, at + i) * c + double_of(d, at + i + half) * s;
      g[i + half] = double_of(d, at + i + half) * c - double_of(d, at + i) * s;
    }
    if (part.norm != nullptr) {
      double squares = 0, dot = 0;
      for (std::int64_t i = 0; i < shape.head_dim; ++i) {
        const double x = double_of(packed, at + i);
        squares += x * x;
        dot += g[i] * double_of(*part.norm, i) * x;
      }
      const double s = 1 / std::sqrt(squares / double(shape.head_dim) + double{kRopeEps});
      for (std::int64_t i = 0; i < shape.head_dim; ++i) {
        const double x = double_of(packed, at + i);
        d_norm[i] += g[i] * x * s;
        g[i] = g[i] * double_of(*part.norm, i) * s - x * s * s * s * dot / double(shape.head_dim);
      }
    }
    for (std::int64_t i = 0; i < shape.head_dim; ++i) out[at + i] = g[i];
  }
}

std::vector<double> doubles(const Halves& values) {
  std::vector<double> result;
  for (const std::uint16_t value : values) result.push_back(value_of(value));
  return result;
}

}  // namespace sluice::engine::cuda::testing
