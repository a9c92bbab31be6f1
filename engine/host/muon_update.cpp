#include "engine/host/muon_update.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/host/elementwise.hpp"
#include "engine/host/gemm.hpp"
#include "engine/optimizer/master_weights.hpp"
#include "planner/models/slices.hpp"

namespace sluice::engine {
namespace {

/// The operands of a part of a unit that begins at element `begin`, with second moments from
/// element `second` of theirs on.
AdamWOperands operands_from(const AdamWOperands& all, std::int64_t begin, std::int64_t second) {
  const std::int64_t element = all.wire == planner::GradientWire::bf16 ? 2 : 4;
  return {.high = all.high + begin,
          .low = all.low + begin,
          .m = all.m + begin,
          .v = all.v + second,
          .gradient = static_cast<const std::byte*>(all.gradient) + element * begin,
          .wire = all.wire};
}

/// The update of one matrix.
class MatrixUpdate {
 public:
  MatrixUpdate(const planner::Job& job, const AdamWOperands& operands, const MuonMatrix& matrix,
               const AdamWStep& step, std::byte* scratch)
      : kernels_(elementwise(job.compute)),
        constants_(muon_constants(job.optimizer.muon)),
        operands_(operands),
        matrix_(matrix),
        step_(step),
        elements_(matrix.rows * matrix.cols),
        side_(std::min(matrix.rows, matrix.cols)) {
    const planner::MuonWorkspace space = planner::muon_workspace(job, planner::kHostMuonElement);
    const auto at = [scratch](Bytes offset) {
      return reinterpret_cast<float*>(scratch + offset.count());
    };
    x_ = at(space.x);
    next_ = at(space.next);
    gram_ = at(space.gram);
    update_ = at(space.update);
  }

  void run(std::int64_t ns_steps) {
    start();
    for (std::int64_t i = 0; i < ns_steps; ++i) iterate();
    apply();
  }

 private:
  [[nodiscard]] float gradient(std::int64_t i) const {
    if (operands_.wire == planner::GradientWire::fp32) {
      return static_cast<const float*>(operands_.gradient)[i];
    }
    return bf16_to_float(static_cast<const std::uint16_t*>(operands_.gradient)[i]);
  }

  /// m, and X = round(u / max(|u|, eps)).
  void start() {
    for (std::int64_t i = 0; i < elements_; ++i) {
      const float g = gradient(i) * step_.clip_scale;
      const float m = constants_.momentum * operands_.m[i] + constants_.one_minus_momentum * g;
      operands_.m[i] = m;
      x_[i] = constants_.nesterov ? constants_.one_minus_momentum * g + constants_.momentum * m : m;
    }
    double squares = 0;
    for (std::int64_t i = 0; i < elements_; i += planner::kNormBlock) {
      squares += plain_kernels().sum_squares(x_ + i, std::min(planner::kNormBlock, elements_ - i));
    }
    const float norm = std::max(static_cast<float>(std::sqrt(squares)), kMuonEps);
    for (std::int64_t i = 0; i < elements_; ++i) x_[i] = x_[i] / norm;
    kernels_.round(x_, elements_);
  }

  /// out = round(addend * of + product * out).
  void add(float addend, const float* of, float product, std::int64_t count, float* out) const {
    for (std::int64_t i = 0; i < count; ++i) out[i] = addend * of[i] + product * out[i];
    kernels_.round(out, count);
  }

  void iterate() {
    const bool wide = matrix_.rows <= matrix_.cols;
    const MatrixView x{x_, matrix_.cols}, next{next_, matrix_.cols};
    const MatrixView gram{gram_, side_}, update{update_, side_};
    product(side_, side_, wide ? matrix_.cols : matrix_.rows,
            wide ? Transpose::right : Transpose::left, x, x, Into::overwrite, gram);
    kernels_.round(gram_, side_ * side_);
    product(side_, side_, side_, Transpose::none, gram, gram, Into::overwrite, update);
    add(kMuonB, gram_, kMuonC, side_ * side_, update_);
    product(matrix_.rows, matrix_.cols, side_, Transpose::none, wide ? update : x,
            wide ? x : update, Into::overwrite, next);
    add(kMuonA, x_, 1, elements_, next_);
    std::swap(x_, next_);
  }

  void apply() {
    const float rate = step_.minus_lr * matrix_.factor;
    for (std::int64_t i = 0; i < elements_; ++i) {
      float p = join_master({operands_.high[i], operands_.low[i]});
      if (matrix_.decays) p = p + step_.minus_decay * p;
      const SplitMaster halves = split_master(p + rate * x_[i]);
      operands_.high[i] = halves.high;
      operands_.low[i] = halves.low;
    }
  }

  const Elementwise& kernels_;
  MuonConstants constants_;
  AdamWOperands operands_;
  MuonMatrix matrix_;
  const AdamWStep& step_;
  std::int64_t elements_, side_;
  float *x_, *next_, *gram_, *update_;
};

}  // namespace

void muon_update(const planner::Job& job, const AdamWOperands& operands, const MuonUnit& unit,
                 const AdamWStep& step, std::byte* scratch, ThreadPool& pool) {
  if (step.changes_nothing) return;
  for (const MuonVector& vector : unit.vectors) {
    const AdamWSpan span{0, vector.size, vector.decays};
    adamw_update(operands_from(operands, vector.begin, vector.second), {&span, 1}, step, pool, 1);
  }
  for (const MuonMatrix& matrix : unit.matrices) {
    MatrixUpdate(job, operands_from(operands, matrix.begin, 0), matrix, step, scratch)
        .run(job.optimizer.muon.ns_steps);
  }
}

}  // namespace sluice::engine
