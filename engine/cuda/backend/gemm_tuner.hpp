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

/// Identity of the hardware and libraries for which a table of this computer's first GPU is valid.
/// Throws EnvironmentError if there is no GPU.
[[nodiscard]] GemmTableId gemm_table_id();

/// Called with one line of text before products are tuned, if any need it.
using GemmAnnounce = std::function<void(const std::string&)>;
/// Writes the line to standard error after "sluice: ".
void announce_on_stderr(const std::string& line);

/// The GEMM table in `store`, completed for every product of `job`. Missing products are tuned now,
/// in about ten seconds for a model of 7 billion parameters, and saved; other products keep their
/// algorithms. A lock makes concurrent processes agree. Needs device memory for the largest product
/// (a few GB) and frees all of it, so call it before arenas are allocated. Throws EnvironmentError
/// if the GPU, the memory or a writable store is missing, BadRequest for a damaged table (naming
/// the file) and for jobs that the templates do not compute.
[[nodiscard]] GemmTable ensure_gemm_table(const planner::Job& job,
                                          const planner::Store& store = planner::Store::of_user(),
                                          const GemmAnnounce& announce = announce_on_stderr);

/// The GEMM table in `store`, completed for every product of `jobs` by quick comparisons
/// (GemmCare::quick), for measurements that stand for runs. What is added is not saved: runs tune
/// their products as ensure_gemm_table does. Needs memory and throws as it does.
[[nodiscard]] GemmTable estimated_gemm_table(
    std::span<const planner::Job> jobs, const planner::Store& store = planner::Store::of_user());

}  // namespace sluice::engine
