// Tuning of matrix products: ensures that the user's GEMM table holds an algorithm for every
// product of a job.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "engine/cuda/products/gemm_table.hpp"
#include "planner/catalogue/store.hpp"
#include "planner/models/job.hpp"

namespace sluice::engine {

/// Identity of this computer's first GPU and its cuBLASLt, for which a table of matrix-product
/// algorithms is valid. Throws EnvironmentError if there is no usable GPU.
[[nodiscard]] GemmTableId gemm_table_id();

/// Function that is told, in one line of text, that matrix products are going to be tuned, and
/// every ten seconds how many are.
using GemmAnnounce = std::function<void(const std::string&)>;
/// Writes `line` to standard error, with "sluice: " before it.
void announce_on_stderr(const std::string& line);

/// The table of matrix-product algorithms (GEMM table) in `store`, completed for every product of
/// `job`. Missing products are tuned now and saved; other products keep their algorithms. A lock
/// makes concurrent processes agree. Needs device memory for the largest product and frees all of
/// it, so call it before arenas are allocated. Throws EnvironmentError if the GPU, the memory or a
/// writable store is missing, BadRequest for a damaged table (naming the file) and for jobs that
/// the CUDA backend does not compute.
[[nodiscard]] GemmTable ensure_gemm_table(const planner::Job& job,
                                          const planner::Store& store = planner::Store::of_user(),
                                          const GemmAnnounce& announce = announce_on_stderr);

/// The table of matrix-product algorithms in `store`, completed for every product of `jobs` by
/// quick comparisons (GemmCare::quick), for measurements that stand for runs. What is added is not
/// saved, because runs tune their products as ensure_gemm_table does. Needs memory and throws as
/// that does.
[[nodiscard]] GemmTable estimated_gemm_table(
    std::span<const planner::Job> jobs, const planner::Store& store = planner::Store::of_user());

}  // namespace sluice::engine
