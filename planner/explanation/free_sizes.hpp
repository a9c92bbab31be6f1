// Job sizes that the planner may choose too, on request. They change the bits of results, so it
// reports its choice.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/effort/deadline.hpp"
#include "planner/requests/request.hpp"

namespace sluice::planner {

/// Sizes that the planner may choose, as `--free micro_batch,loss_chunk` names them: true for each
/// that is free.
struct FreeSizes {
  bool micro_batch = false, loss_chunk = false;
};
/// Parses the value of --free. Throws BadRequest naming the nearest size.
[[nodiscard]] FreeSizes parse_free_sizes(const std::string& text);

struct SizeTrial {
  std::int64_t micro_batch = 0, loss_chunk = 0;
  /// Step of the best plan that a quick search finds with these sizes; none where nothing fits, or
  /// where the bound alone is above the best step so far.
  std::optional<Duration> step;
};

struct ChosenSizes {
  RunConfig config;  ///< The run, with the chosen sizes in place of its own.
  std::vector<SizeTrial> trials;
  bool cut_short = false;  ///< Whether the deadline came before all sizes were tried.
};

/// Function that is called before each search with the sizes to be tried, such as "micro_batch 4,
/// loss_chunk 1024".
using SizesProgress = std::function<void(const std::string&)>;

/// Chooses the free sizes of a run by the fastest plan found: micro_batch over the divisors of
/// batch_size, then loss_chunk over powers of two from 256 tokens to a whole micro-batch. Where
/// nothing fits the sizes stay as they are; once the deadline is over, the best so far is kept.
/// Throws BadRequest where a policy states one of them.
[[nodiscard]] ChosenSizes choose_sizes(const Request& run, const FreeSizes& free,
                                       const SizesProgress& progress = {},
                                       const Deadline& deadline = {});

/// Sizes that differ between two runs, in words, such as "micro_batch 4 instead of 1, loss_chunk
/// 2048 instead of 1024 (another job: its bits differ)".
[[nodiscard]] std::string describe_choice(const RunConfig& before, const RunConfig& after);

}  // namespace sluice::planner
