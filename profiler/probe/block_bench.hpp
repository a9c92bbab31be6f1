// Bench of one block of a made-up model with its weights, record and gradients, which times the
// layer templates exactly as a run calls them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/host/templates.hpp"
#include "planner/costs/cost.hpp"
#include "planner/models/job.hpp"

namespace sluice::profiler {

/// Sizes of the made-up block; `sequences` x `seq_len` tokens pass through it at once.
struct BlockSizes {
  std::int64_t hidden = 256, intermediate = 688, heads = 4, head_dim = 64;
  std::int64_t seq_len = 256, sequences = 1;
};
[[nodiscard]] planner::Job block_job(const BlockSizes& sizes);

/// A block with random weights and inputs, since zeros would run faster on some units. One thread
/// at a time may use it.
class BlockBench {
 public:
  explicit BlockBench(const planner::Job& job);
  void forward();
  /// Runs the backward pass; forward() must have run before. The residual stream's gradient stays
  /// bounded however often it runs.
  void backward();
  [[nodiscard]] const planner::Job& job() const { return job_; }

 private:
  [[nodiscard]] engine::RecordView record();
  [[nodiscard]] engine::Workspace workspace();

  planner::Job job_;
  engine::HostTemplates templates_;
  std::vector<std::uint16_t> weights_;
  std::vector<float> gradient_;
  /// Buffers that are larger than needed, so that their used part can begin at a multiple of 64
  /// bytes.
  std::vector<std::byte> record_, next_input_, stream_gradient_, workspace_;
};

}  // namespace sluice::profiler
