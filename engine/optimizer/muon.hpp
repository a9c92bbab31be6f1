// Muon on a block's weight matrices. CPU and GPU share this list of operations, each rounded to
// fp32 once but for what `round` rounds to the compute type (bf16 unless the job computes in fp32):
//   g  = gradient * clip_scale
//   m  = momentum * m + (1 - momentum) * g
//   u  = (1 - momentum) * g + momentum * m        with nesterov; else m
//   X  = round(u / max(|u|, eps))                  |u|: root of the sum of squares
//   ns_steps times, with products that accumulate in fp32:
//     A = round(X X^T)     B = round(b A + c A A)     X = round(a X + B X)
//   p  = p + (-lr * weight_decay) p                only tensors that decay
//   p  = p + (-lr * factor) X
// Where a matrix has more rows than columns, A = X^T X and X = a X + X B. Source: Jordan et al.,
// "Muon: an optimizer for hidden layers in neural networks" (2024), in the form of
// torch.optim.Muon; factors of the learning rate as there (planner::MuonRate).
#pragma once

#include <cstdint>
#include <vector>

#include "planner/models/job.hpp"
#include "planner/models/shape.hpp"

namespace sluice::engine {

/// Coefficients a, b and c of the Newton-Schulz iteration.
inline constexpr float kMuonA = 3.4445F, kMuonB = -4.775F, kMuonC = 2.0315F;
/// Least norm that a matrix is divided by.
inline constexpr float kMuonEps = 1e-7F;

/// A matrix that Muon updates: [rows, cols] from element `begin` of the unit's vector on.
struct MuonMatrix {
  std::int64_t begin, rows, cols;
  bool decays;
  float factor;  ///< Factor of the learning rate (planner::MuonRate).
};

/// A tensor that AdamW updates: elements from `begin` of the unit's vector on, whose second moments
/// begin at element `second` of the unit's vector of these.
struct MuonVector {
  std::int64_t begin, size, second;
  bool decays;
};

/// The tensors of one block that Muon updates, and those that AdamW updates.
struct MuonUnit {
  std::vector<MuonMatrix> matrices;
  std::vector<MuonVector> vectors;
};
[[nodiscard]] MuonUnit muon_unit(const planner::MuonSettings& settings,
                                 const planner::UnitTensors& unit);

/// Settings of Muon as the kernels read them.
struct MuonConstants {
  float momentum, one_minus_momentum;
  bool nesterov;
};
[[nodiscard]] MuonConstants muon_constants(const planner::MuonSettings& settings);

}  // namespace sluice::engine
