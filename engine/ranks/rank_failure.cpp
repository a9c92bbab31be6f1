#include "engine/ranks/rank_failure.hpp"

#include <fmt/format.h>

namespace sluice::engine {
namespace {

std::string name_of_rank(int rank, const std::string& host) {
  return host.empty() ? fmt::format("rank {}", rank) : fmt::format("rank {} on {}", rank, host);
}

}  // namespace

RankFailure rank_failed(int rank, const std::string& reason, const std::string& host) {
  return {rank, fmt::format("{} failed: {}", name_of_rank(rank, host), reason)};
}

RankFailure rank_ended(int rank, const std::string& host) {
  return {rank, fmt::format("{} ended and said nothing: see what its process and the system "
                            "wrote (was it killed, or is memory short?)",
                            name_of_rank(rank, host))};
}

RankFailure rank_silent(int rank, std::chrono::milliseconds patience, const std::string& host) {
  return {rank,
          fmt::format("{} did not answer for {:g} s: see whether its process hangs or "
                      "never started{}",
                      name_of_rank(rank, host), std::chrono::duration<double>(patience).count(),
                      host.empty() ? "" : ", and whether the network reaches its host")};
}

}  // namespace sluice::engine
