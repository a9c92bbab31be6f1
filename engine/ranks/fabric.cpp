#include "engine/ranks/fabric.hpp"

#include "sim/error.hpp"

namespace sluice::engine {

std::size_t run_bytes(std::size_t bytes, int ranks) {
  const auto runs = static_cast<std::size_t>(ranks);
  check(bytes % runs == 0, "a range between ranks is cut into equal runs");
  return bytes / runs;
}

}  // namespace sluice::engine
