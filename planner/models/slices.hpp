// Slices: the runs into which N ranks of one job cut every unit's vector. Rank r keeps weights,
// gradients and optimizer state of run r alone, and computes with its own part of each step's
// sequences.
#pragma once

#include <cstdint>

#include "planner/models/job.hpp"

namespace sluice::planner {

/// Elements that one partial sum of squares of the gradient norm covers.
inline constexpr std::int64_t kNormBlock = 4096;

/// Parameters of one rank's slice of a vector of `padded` parameters, of which there are `ranks`
/// equal ones: for one rank the whole vector, else the fewest whole blocks of kNormBlock elements
/// that make up the vector.
[[nodiscard]] std::int64_t slice_parameters(std::int64_t padded, std::int64_t ranks);

/// Parameters of all slices of a vector of `padded` parameters: slice_parameters() x `ranks`, of
/// which those behind `padded` are padding.
[[nodiscard]] std::int64_t sliced_parameters(std::int64_t padded, std::int64_t ranks);

/// The part of a step that each of `ranks` ranks computes: batch_size / ranks sequences in
/// groups / ranks groups of micro-batches. Rank r holds the r-th run of the step's sequences,
/// micro-batches and groups. `ranks` must be an admissible number (admissible_ranks) that divides
/// the job's micro-batches.
[[nodiscard]] Job part_of_rank(const Job& job, std::int64_t ranks);

}  // namespace sluice::planner
