// The first failure of any rank, on the board that all of them see.
#pragma once

#include <optional>
#include <string>

#include "engine/ranks/board.hpp"
#include "engine/ranks/rank_failure.hpp"

namespace sluice::engine {

/// Key under which a board has the first failure: the rank's number, a space, the line.
inline constexpr char kFailureKey[] = "failure";

/// The failure that the board has, if any.
[[nodiscard]] std::optional<RankFailure> posted_failure(const Board& board);
/// Posts `failure` unless another one was first, and returns the first one.
RankFailure post_failure(Board& board, const RankFailure& failure);

/// Key under which a board has the name of a rank's host.
[[nodiscard]] std::string host_key(int rank);
/// Name of the rank's host, if the board has it; else empty.
[[nodiscard]] std::string host_of(const Board& board, int rank);

}  // namespace sluice::engine
