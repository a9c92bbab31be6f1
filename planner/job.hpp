// A job: everything that may change the bits of a step. A plan chooses only what may not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "planner/shape.hpp"

namespace sluice::planner {

enum class ComputeType { fp32, bf16 };
enum class GradientWire { fp32, bf16 };

struct AdamWSettings {
  double lr = 1e-4;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
  std::optional<double> clip = 1.0;  ///< Global norm; none turns the norm barrier off.
  friend bool operator==(const AdamWSettings&, const AdamWSettings&) = default;
};

struct Job {
  ModelShape model;
  std::int64_t seq_len = 0;        ///< Tokens of one sequence.
  std::int64_t batch_size = 0;     ///< Sequences a step.
  std::int64_t micro_batch = 1;    ///< Sequences a micro-batch; divides batch_size.
  std::int64_t loss_chunk = 1024;  ///< Tokens whose logits exist at one time.
  ComputeType compute = ComputeType::bf16;
  GradientWire gradient_wire = GradientWire::fp32;
  AdamWSettings optimizer;

  [[nodiscard]] std::int64_t tokens() const { return seq_len * batch_size; }  ///< A step.
  [[nodiscard]] std::int64_t micro_tokens() const { return seq_len * micro_batch; }
  [[nodiscard]] std::int64_t micro_batches() const { return batch_size / micro_batch; }
  [[nodiscard]] Bytes compute_element() const {
    return Bytes(compute == ComputeType::bf16 ? 2 : 4);
  }
  /// Bytes a parameter takes on the h2d link: the high halves, or both halves for fp32 compute.
  [[nodiscard]] Bytes weight_element() const { return compute_element(); }
  [[nodiscard]] Bytes gradient_wire_element() const {
    return Bytes(gradient_wire == GradientWire::bf16 ? 2 : 4);
  }
};

/// Throws BadRequest naming the field: non-positive sizes, micro_batch not dividing batch_size, ...
void validate(const Job& job);

/// Hash of what a plan depends on and what fixes a step's bits: shape, sizes, compute, wire,
/// optimizer without lr (lr, seed, data and the number of steps vary between runs of one plan).
[[nodiscard]] std::string job_hash(const Job& job);

}  // namespace sluice::planner
