#include "engine/ranks/rank_failure.hpp"

#include <fmt/format.h>

namespace sluice::engine {

RankFailure rank_failed(int rank, const std::string& reason) {
  return {rank, fmt::format("rank {} failed: {}", rank, reason)};
}

RankFailure rank_ended(int rank) {
  return {rank, fmt::format("rank {} ended and said nothing: see what its process and the system "
                            "wrote (was it killed, or is memory short?)",
                            rank)};
}

RankFailure rank_silent(int rank, std::chrono::milliseconds patience) {
  return {rank, fmt::format("rank {} did not answer for {:g} s: see whether its process hangs or "
                            "never started",
                            rank, std::chrono::duration<double>(patience).count())};
}

}  // namespace sluice::engine
