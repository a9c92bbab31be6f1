#include "planner/graph/happens_before.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace sluice::planner {

HappensBefore::HappensBefore(const sim::TaskGraph& graph) : lanes_(graph.lanes().size()) {
  const auto tasks = graph.tasks();
  lane_.reserve(tasks.size());
  position_.reserve(tasks.size());
  known_.assign(tasks.size() * lanes_, 0);
  std::vector<std::int64_t> last_on_lane(lanes_, -1);
  const auto join = [&](std::size_t into, std::size_t from) {
    for (std::size_t lane = 0; lane < lanes_; ++lane) {
      known_[into * lanes_ + lane] =
          std::max(known_[into * lanes_ + lane], known_[from * lanes_ + lane]);
    }
    auto& own = known_[into * lanes_ + lane_[from]];
    own = std::max(own, position_[from]);
  };
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const std::size_t lane = index(tasks[i].lane);
    lane_.push_back(static_cast<std::uint32_t>(lane));
    const std::int64_t previous = last_on_lane[lane];
    position_.push_back(previous < 0 ? 1 : position_[previous] + 1);
    if (previous >= 0) join(i, static_cast<std::size_t>(previous));
    for (const sim::TaskId before : tasks[i].after) {
      check(index(before) < i, "edges of a step graph point forward");
      join(i, index(before));
    }
    last_on_lane[lane] = static_cast<std::int64_t>(i);
  }
}

}  // namespace sluice::planner
