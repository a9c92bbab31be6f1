// Advice on the micro-batch of a mixture of experts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "planner/requests/request.hpp"

namespace sluice::planner {

/// A larger micro-batch, and what it does to the step's bound: experts that get more tokens at a
/// time run nearer to their rate.
struct LargerMicroBatch {
  std::int64_t micro_batch = 0;
  double faster = 1;  ///< The bound with the run's micro-batch over that with this one.
};

/// The smallest micro-batch, of 2, 4, 8, ... that divide the batch, whose bound is within 2 % of
/// the least; none for a dense model, where the gain is less than 5 %, and for sequences in chunks.
/// Computes bounds alone, which do not say whether a plan fits.
[[nodiscard]] std::optional<LargerMicroBatch> larger_micro_batch(const Request& request);

/// The advice in words, without a full stop.
[[nodiscard]] std::string to_text(const LargerMicroBatch& larger);

}  // namespace sluice::planner
