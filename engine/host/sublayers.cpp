// The residual stream around a sublayer: the norm before it, and the norm, the factor and the sum
// behind it.
#include <algorithm>

#include "engine/host/block_run.hpp"

namespace sluice::engine {

const float* BlockRun::normalize(Bytes tensor, const Slot& weight, Tile tile) {
  const float* x = values(row(tensor, tile.begin, shape_.hidden), tile.count * shape_.hidden,
                          scratch(space_.input));
  if (weight.exists()) {
    kernels_.rms_norm(x, tile.count, shape_.hidden, norm_weight(weight), eps_,
                      scratch(space_.normed), scratch(space_.rstd));
  } else {
    std::copy_n(x, tile.count * shape_.hidden, scratch(space_.normed));
  }
  return x;
}

void BlockRun::norm_backward(const float* d_normed, const float* x, const Slot& weight, Tile tile,
                             const float* dy, float* gradient, std::byte* stream) {
  if (!weight.exists()) {
    return kernels_.add_store(d_normed, stream, tile.count * shape_.hidden, stream);
  }
  kernels_.rms_norm_backward(d_normed, x, tile.count, shape_.hidden, norm_weight(weight),
                             scratch(space_.rstd), dy, gradient + weight.offset, stream);
}

void BlockRun::keep_branch(const Branch& branch, Tile tile, const float* output) const {
  if (!branch.norm.exists()) return;
  kernels_.store(output, tile.count * shape_.hidden, row(branch.output, tile.begin, shape_.hidden));
}

// next = stream + factor * norm(output), where the norm reads the rounded output.
void BlockRun::join(const Branch& branch, Tile tile, float* output, float* normed, Bytes stream,
                    std::byte* next) {
  const std::int64_t n = tile.count * shape_.hidden;
  keep_branch(branch, tile, output);
  float* joined = output;
  if (branch.norm.exists()) {
    kernels_.round(output, n);
    kernels_.rms_norm(output, tile.count, shape_.hidden, norm_weight(branch.norm), eps_, normed,
                      scratch(space_.rstd));
    joined = normed;
  }
  if (residual_factor_ != 1) plain_.scale(joined, n, residual_factor_);
  kernels_.add_store(joined, row(stream, tile.begin, shape_.hidden), n,
                     row(next, tile.begin, shape_.hidden));
}

void BlockRun::scale_branch(float* d, std::int64_t rows) const {
  if (residual_factor_ == 1) return;
  plain_.scale(d, rows * shape_.hidden, residual_factor_);
  kernels_.round(d, rows * shape_.hidden);
}

const float* BlockRun::branch_gradient(const Branch& branch, Tile tile, const float* dy,
                                       float* gradient) {
  if (!branch.norm.exists() && residual_factor_ == 1) return dy;
  const std::int64_t n = tile.count * shape_.hidden;
  float* d = scratch(space_.branch);
  std::copy_n(dy, n, d);
  scale_branch(d, tile.count);
  if (!branch.norm.exists()) return d;
  const float* output = normalize(branch.output, branch.norm, tile);
  auto* rounded = reinterpret_cast<std::byte*>(scratch(space_.normed));
  kernels_.rms_norm_backward(d, output, tile.count, shape_.hidden, norm_weight(branch.norm),
                             scratch(space_.rstd), nullptr, gradient + branch.norm.offset, rounded);
  kernels_.load(rounded, n, d);
  return d;
}

}  // namespace sluice::engine
