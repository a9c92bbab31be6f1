#include "engine/ranks/posted_failure.hpp"

#include <cstdlib>

namespace sluice::engine {

std::optional<RankFailure> posted_failure(const Board& board) {
  const std::optional<std::string> text = board.find(kFailureKey);
  if (!text) return std::nullopt;
  const std::size_t space = text->find(' ');
  return RankFailure(std::atoi(text->c_str()), text->substr(space + 1));
}

RankFailure post_failure(Board& board, const RankFailure& failure) {
  board.post(kFailureKey, std::to_string(failure.rank()) + ' ' + failure.what());
  return posted_failure(board).value_or(failure);
}

std::string host_key(int rank) { return "host-" + std::to_string(rank); }

std::string host_of(const Board& board, int rank) {
  return board.find(host_key(rank)).value_or("");
}

}  // namespace sluice::engine
