// The cuda backend's blocks against the host backend's fp32 ones, on the same bf16 weights and
// inputs: errors are those of rounding to bf16, and recomputed records and repeated runs have the
// same bits.
#pragma once

#include <cuda_runtime_api.h>

#include "planner/models/job.hpp"

namespace sluice::engine {

/// Expects that forward, recomputation and backward of the block `unit` of `job`, which computes in
/// bf16, agree with the host. Where the job keeps attention within documents, sequences of 128
/// tokens hold some.
void expect_block_agrees(cudaStream_t stream, const planner::Job& job, std::size_t unit);

/// Expects that the block `unit` computes one sequence of 128 tokens in parts, one of them a single
/// token, as it computes the whole.
void expect_sequence_parts_agree(cudaStream_t stream, const planner::Job& job, std::size_t unit);

}  // namespace sluice::engine
