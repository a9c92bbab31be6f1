#include "profiler/probe/block_bench.hpp"

#include <cmath>
#include <cstring>
#include <memory>
#include <random>

#include "engine/optimizer/master_weights.hpp"
#include "planner/graph/record.hpp"
#include "planner/models/shape.hpp"

namespace sluice::profiler {
namespace {

constexpr std::size_t kAlignment = 64;

std::vector<std::byte> aligned_room(Bytes bytes) {
  return std::vector<std::byte>(static_cast<std::size_t>(bytes.count()) + kAlignment);
}

std::byte* aligned(std::vector<std::byte>& room) {
  void* data = room.data();
  std::size_t space = room.size();
  return static_cast<std::byte*>(std::align(kAlignment, 1, data, space));
}

void fill_random(std::uint16_t* values, std::size_t count, float deviation) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, deviation);
  for (std::size_t i = 0; i < count; ++i) values[i] = engine::float_to_bf16(normal(random));
}

}  // namespace

planner::Job block_job(const BlockSizes& sizes) {
  planner::Job job;
  job.model.name = "probe";
  job.model.layers = 1;
  job.model.hidden = sizes.hidden;
  job.model.intermediate = sizes.intermediate;
  job.model.heads = sizes.heads;
  job.model.kv_heads = sizes.heads;
  job.model.head_dim = sizes.head_dim;
  job.model.vocab = 256;
  job.seq_len = sizes.seq_len;
  job.batch_size = sizes.sequences;
  job.micro_batch = sizes.sequences;
  job.loss_chunk = sizes.seq_len;
  job.compute = planner::ComputeType::bf16;
  return job;
}

BlockBench::BlockBench(const planner::Job& job)
    : job_(job),
      templates_(job),
      weights_(static_cast<std::size_t>(planner::unit_tensors(job.model, 1).padded_size)),
      gradient_(weights_.size()),
      record_(aligned_room(planner::block_record(job).all_bytes)),
      next_input_(aligned_room(planner::stream_bytes(job))),
      stream_gradient_(aligned_room(planner::stream_bytes(job))),
      workspace_(aligned_room(planner::workspace_bytes(job))) {
  const std::size_t stream = static_cast<std::size_t>(job.micro_tokens() * job.model.hidden);
  fill_random(weights_.data(), weights_.size(), 0.02F);
  fill_random(reinterpret_cast<std::uint16_t*>(aligned(record_)), stream, 1.0F);
  fill_random(reinterpret_cast<std::uint16_t*>(aligned(stream_gradient_)), stream, 1e-3F);
}

engine::RecordView BlockBench::record() {
  return {aligned(record_), nullptr, planner::block_record(job_).all_bytes};
}

engine::Workspace BlockBench::workspace() {
  return {aligned(workspace_), planner::workspace_bytes(job_)};
}

void BlockBench::forward() {
  templates_.block_forward({weights_.data(), nullptr}, record(), aligned(next_input_), workspace());
}

void BlockBench::backward() {
  templates_.block_backward({weights_.data(), nullptr}, gradient_.data(), true, record(),
                            aligned(stream_gradient_), workspace());
}

}  // namespace sluice::profiler
