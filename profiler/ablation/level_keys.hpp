// Keys of a run that the levels of factors set, and conflicts between two levels of a cell.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>

#include "profiler/ablation/experiment.hpp"

namespace sluice::profiler {

/// Keys of a run that `setting` sets, by their own names: "learning_rate" sets optimizer.lr. Throws
/// BadRequest for a path that no run has.
[[nodiscard]] std::set<std::string> keys_of(const Setting& setting);

/// A conflict: levels of two factors set one key to different values in the same cell, so that the
/// cell's name would not say which value it has.
struct Contest {
  std::size_t factor;  ///< Index of that one of the two factors which comes later.
  std::string what;    ///< The conflict in words, such as "a and b both set seq_len (a=64, b=32)".
};
[[nodiscard]] std::optional<Contest> contest_of(const Experiment& experiment);

}  // namespace sluice::profiler
