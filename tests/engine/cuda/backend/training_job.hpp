// The small job that tests train on GPUs.
#pragma once

#include "planner/models/job.hpp"

namespace sluice::engine {

/// Three layers of a qwen2 with biases; four micro-batches of one sequence of 64 tokens a step.
inline planner::Job training_job() {
  planner::Job job;
  planner::ModelShape& shape = job.model;
  shape.family = planner::Family::qwen2;
  shape.layers = 3;
  shape.hidden = 128;
  shape.intermediate = 320;
  shape.heads = 2;
  shape.kv_heads = 1;
  shape.head_dim = 64;
  shape.vocab = 256;
  shape.qkv_bias = true;
  job.seq_len = 64;
  job.batch_size = 4;
  job.micro_batch = 1;
  job.loss_chunk = 32;
  job.optimizer.lr = 5e-3;
  return job;
}

}  // namespace sluice::engine
