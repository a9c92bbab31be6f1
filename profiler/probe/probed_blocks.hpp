// Blocks that a GPU's probe runs as a step would: their shapes, the jobs that they stand for, and
// the device memory that a job's blocks need.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "planner/models/job.hpp"
#include "profiler/probe/probe.hpp"
#include "sim/units.hpp"

namespace sluice::profiler {

/// A model's sizes and the tokens of a micro-batch, which the sequence lengths divide. Jobs of one
/// shape share their matrix products, whose tuning takes most of a first probe's time.
struct ProbedShape {
  const char* why;
  ProbeDepth from;  ///< Quick where every probe runs the shape, else full.
  std::int64_t hidden, intermediate, heads, kv_heads, head_dim, vocab;
  bool qkv_bias, tied_head;
  std::int64_t tokens;
  /// Sequence lengths in ascending order; 0 for none.
  std::array<std::int64_t, 3> lengths;
};
[[nodiscard]] std::span<const ProbedShape> probed_shapes();

/// Number of blocks of each probed job; a step alternates between them, as it does between a
/// model's layers.
inline constexpr std::int64_t kProbedLayers = 2;

/// The jobs of `shape`, one for each length, of one micro-batch and kProbedLayers blocks.
[[nodiscard]] std::vector<planner::Job> jobs_of(const ProbedShape& shape);

/// Text such as "8 x 1024 tokens, 32/8 heads of 128, 4096 wide".
[[nodiscard]] std::string text_of(const planner::Job& job);

/// Byte offsets of what the passes of one micro-batch of a job with kProbedLayers blocks read and
/// write, each a multiple of 256. Units are those of the job: embedding, blocks, head.
struct ProbedMemory {
  static constexpr std::size_t kUnits = kProbedLayers + 2;
  std::array<Bytes, kUnits> weights;    ///< Offset of each unit's weights, bf16.
  std::array<Bytes, kUnits> gradients;  ///< Offset of each unit's gradient, fp32.
  Bytes tied_gradient;  ///< Offset of the output matrix's gradient where it is tied, fp32.
  std::array<Bytes, kProbedLayers> records;  ///< Offset of each block's whole record.
  Bytes head_input;       ///< Offset of the residual stream behind the last block.
  Bytes stream_gradient;  ///< Offset of the residual stream's gradient.
  Bytes workspace;        ///< Offset of the scratch of one pass.
  /// Offsets of int32 [tokens]: inputs and targets.
  Bytes tokens, targets;
  /// Offsets of the rest of the first block's optimizer state: low halves, m and v.
  Bytes low, m, v;
  Bytes norm_blocks;  ///< Offset of the partial sums of a gradient's norm, double.
  Bytes sums;         ///< Offset of two doubles: sums of losses and of squares.
  Bytes total;
};
[[nodiscard]] ProbedMemory probed_memory(const planner::Job& job);

/// Jobs of a probe, in the order in which it runs them, and those whose blocks do not fit.
struct ProbedJobs {
  std::vector<planner::Job> jobs, too_large;
};
/// The jobs of a probe of `depth` that fit `room` bytes of device memory.
[[nodiscard]] ProbedJobs probed_jobs(ProbeDepth depth, Bytes room);

}  // namespace sluice::profiler
