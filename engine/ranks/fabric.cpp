#include "engine/ranks/fabric.hpp"

#include "sim/error.hpp"

namespace sluice::engine {

RankRuns runs_of(std::span<std::byte> whole, int ranks) {
  const auto runs = static_cast<std::size_t>(ranks);
  check(whole.size() % runs == 0, "a range between ranks is cut into equal runs");
  return {whole.data(), whole.size() / runs, whole.size() / runs};
}

}  // namespace sluice::engine
