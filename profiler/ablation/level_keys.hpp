// Which keys of a run the levels of factors set, and whether two of a cell set the same one.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>

#include "profiler/ablation/experiment.hpp"

namespace sluice::profiler {

/// What a setting sets, by the key's own name: "learning_rate" is another one of optimizer.lr.
/// Throws BadRequest for what no run takes.
[[nodiscard]] std::set<std::string> keys_of(const Setting& setting);

/// Levels of two factors that set one key to different values in one cell: it has the one, and is
/// called by the other, too.
struct Contest {
  std::size_t factor;  ///< The later of the two.
  std::string what;    ///< "a and b both set seq_len (a=64, b=32)"
};
[[nodiscard]] std::optional<Contest> contest_of(const Experiment& experiment);

}  // namespace sluice::profiler
