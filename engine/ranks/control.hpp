// Short texts that ranks tell each other: to agree before a run, at each step, and when one fails.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/ranks/rank_failure.hpp"
#include "engine/ranks/world.hpp"

namespace sluice::engine {

/// One rank's means to talk to the others. Every rank must make the same calls in the same order;
/// calls of one rank must not overlap. A call returns once all ranks have made it, and throws
/// RankFailure if one failed or stays away for longer than the patience that the ranks were made
/// with.
class Control {
 public:
  virtual ~Control() = default;
  Control() = default;
  Control(const Control&) = delete;  // Other ranks know it.
  Control& operator=(const Control&) = delete;

  [[nodiscard]] virtual World world() const = 0;
  /// The texts of all ranks, by rank; this one's is `text`.
  [[nodiscard]] virtual std::vector<std::string> gather(const std::string& text) = 0;
  /// The text that rank `root` passes; other ranks' `text` is ignored.
  [[nodiscard]] std::string broadcast(const std::string& text, int root = 0);
  /// Returns once all ranks have called it.
  void barrier() { (void)gather({}); }

  /// Ends all ranks because this one failed for `reason`, an error in one line: what they wait for,
  /// or wait for next, throws RankFailure. If several ranks fail, the first is named. May be called
  /// from any thread at any time.
  virtual void fail(const std::string& reason) noexcept = 0;
  /// The failure of any rank that is known now; none if there is none. May be called from any
  /// thread at any time.
  [[nodiscard]] virtual std::optional<RankFailure> failure() const = 0;
};

}  // namespace sluice::engine
