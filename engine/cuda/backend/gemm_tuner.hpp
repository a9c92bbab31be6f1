// Makes sure that a job's matrix products have their algorithms in the user's GEMM table.
#pragma once

#include <functional>
#include <string>

#include "engine/cuda/products/gemm_table.hpp"
#include "planner/catalogue/store.hpp"
#include "planner/models/job.hpp"

namespace sluice::engine {

/// What a table on this computer's first GPU holds for. Throws EnvironmentError where there is no
/// GPU.
[[nodiscard]] GemmTableId gemm_table_id();

/// Receives one line before products are tuned, if any are.
using GemmAnnounce = std::function<void(const std::string&)>;
/// Writes the line to standard error, after "sluice: ".
void announce_on_stderr(const std::string& line);

/// The table of `store` with every product of `job`. Products it lacks are tuned now, about ten
/// seconds for a model of 7 billion parameters, and kept; the others keep their algorithms for
/// ever. Processes wait for each other here and so agree. Needs device memory for the largest
/// product (a few GB): call it before arenas are allocated; it gives all of it back. Throws
/// EnvironmentError where there is no usable GPU, no such memory or no writable store, BadRequest
/// for a damaged table (naming the file) and for jobs that the templates do not compute.
[[nodiscard]] GemmTable ensure_gemm_table(const planner::Job& job,
                                          const planner::Store& store = planner::Store::of_user(),
                                          const GemmAnnounce& announce = announce_on_stderr);

}  // namespace sluice::engine
