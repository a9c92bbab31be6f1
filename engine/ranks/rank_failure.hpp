// The error by which ranks end because one of them failed.
#pragma once

#include <chrono>
#include <string>

#include "sim/error.hpp"

namespace sluice::engine {

/// Longest time that a rank waits for another one before it takes it for lost. Ranks wait for each
/// other while one of them saves or evaluates, so it is long.
inline constexpr std::chrono::minutes kUsualPatience{10};

/// Error of a rank that ends because another one failed, died or does not answer; all ranks that
/// end for one reason have equal messages, in one line that names the rank.
class RankFailure : public EnvironmentError {
 public:
  RankFailure(int rank, const std::string& line) : EnvironmentError(line), rank_(rank) {}
  /// The rank that failed, for which the others end.
  [[nodiscard]] int rank() const { return rank_; }

 private:
  int rank_;
};

/// Failure of a rank that said why: `reason` is its own error. `host` names its host in all of
/// these; empty where there is one.
[[nodiscard]] RankFailure rank_failed(int rank, const std::string& reason,
                                      const std::string& host = {});
/// Failure of a rank whose process ended and said nothing.
[[nodiscard]] RankFailure rank_ended(int rank, const std::string& host = {});
/// Failure of a rank that the others waited for in vain, for `patience`.
[[nodiscard]] RankFailure rank_silent(int rank, std::chrono::milliseconds patience,
                                      const std::string& host = {});

}  // namespace sluice::engine
