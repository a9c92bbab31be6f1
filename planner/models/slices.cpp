#include "planner/models/slices.hpp"

#include "sim/error.hpp"

namespace sluice::planner {

std::int64_t slice_parameters(std::int64_t padded, std::int64_t ranks) {
  check(padded >= 1 && ranks >= 1, "a vector is cut into slices");
  if (ranks == 1) return padded;
  const std::int64_t blocks = (padded + kNormBlock - 1) / kNormBlock;
  return (blocks + ranks - 1) / ranks * kNormBlock;
}

std::int64_t sliced_parameters(std::int64_t padded, std::int64_t ranks) {
  return slice_parameters(padded, ranks) * ranks;
}

Job part_of_rank(const Job& job, std::int64_t ranks) {
  check(ranks >= 1 && job.batch_size % ranks == 0 && job.groups % ranks == 0,
        "ranks have equal parts of a step");
  Job part = job;
  part.batch_size /= ranks;
  part.groups /= ranks;
  return part;
}

}  // namespace sluice::planner
