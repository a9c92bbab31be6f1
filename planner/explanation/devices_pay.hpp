// What several devices gain over one, and from how many tokens a step they pay.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/effort/deadline.hpp"
#include "planner/requests/request.hpp"

namespace sluice::planner {

/// What a run's devices do in the time in which one of them does 1.
struct DevicesPay {
  std::int64_t devices = 1;
  /// Tokens/s of the devices over those of one device that takes the same steps; none where one
  /// does not hold the run.
  std::optional<double> speed = {};
  /// The fewest tokens a step, among powers of two of micro-batches of every device, at which the
  /// devices do more than half of their number times what one does; none where they do not at any
  /// that was tried.
  std::optional<std::int64_t> pays_from = {};
  std::int64_t most_tried = 0;  ///< The most tokens a step that were tried.
  bool cut_short = false;       ///< Whether time was over before the fewest tokens were found.
};

/// Compares the run's devices, whose step takes `step`, with one: the same job on the same machine,
/// of which one device has all memory of a host and as many threads as all have. Steps are those of
/// searches with little effort (kCompareEffort). The speed is taken to grow with the tokens of a
/// step, so that halving finds from how many on they pay.
[[nodiscard]] DevicesPay devices_pay(const Request& run, Duration step, const Deadline& deadline);

}  // namespace sluice::planner
