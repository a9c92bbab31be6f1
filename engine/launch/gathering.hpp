// All ranks of one start, once each has come to the meeting place.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/launch/launch.hpp"
#include "engine/ranks/board.hpp"
#include "engine/ranks/rank_failure.hpp"

namespace sluice::engine {

struct GatheringSettings {
  /// How long a rank waits for the others to come.
  std::chrono::milliseconds patience = kUsualPatience;
  /// Network interface by which other hosts reach this one; none for the one that reaches the first
  /// rank.
  std::optional<std::string> interface = {};
};

/// One rank's place among all of its start, with the board that they share: it lies in the first
/// rank's memory. A rank that dies or falls silent fails on the board, from the start on.
class Gathering {
 public:
  /// Comes to the launch's meeting place and waits for the others. Throws RankFailure naming a rank
  /// that does not come, BadRequest if two processes come as one rank or with other numbers of
  /// ranks, EnvironmentError if the place cannot be used.
  Gathering(const Launch& launch, const GatheringSettings& settings);

  [[nodiscard]] Board& board() const { return *board_; }
  [[nodiscard]] World world() const { return world_; }
  /// Names of the ranks' hosts, by rank.
  [[nodiscard]] const std::vector<std::string>& hosts() const { return hosts_; }
  /// Number of different hosts.
  [[nodiscard]] int host_count() const;
  /// Number of ranks of this host before this one.
  [[nodiscard]] int local_rank() const;
  /// Number of ranks of this host.
  [[nodiscard]] int local_size() const;
  /// Numeric address by which the other ranks reach this one.
  [[nodiscard]] const std::string& address() const { return address_; }

 private:
  World world_;
  std::unique_ptr<Board> board_;
  std::vector<std::string> hosts_;
  std::string address_;
};

}  // namespace sluice::engine
