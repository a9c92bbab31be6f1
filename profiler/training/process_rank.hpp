// A run's process as one of several ranks.
#pragma once

#include <filesystem>
#include <string>

#include "engine/ranks/rank_links.hpp"
#include "engine/ranks/world.hpp"

namespace sluice::profiler {

/// Place of one process among those that train a run together. The first rank owns the run's
/// folder; every other one has a folder of its own in it.
struct ProcessRank {
  /// Connections to the others, which outlive the run.
  engine::RankLinks links;
  engine::World here;  ///< Place of this rank among those of its host.
  /// Folder of the run, which the first rank has made; empty on that rank.
  std::filesystem::path run = {};

  [[nodiscard]] bool is_first() const { return links.world().rank == 0; }
  /// The folder that this rank writes in; not the first one's.
  [[nodiscard]] std::filesystem::path folder() const {
    return run / "ranks" / ("rank-" + std::to_string(links.world().rank));
  }
};

}  // namespace sluice::profiler
