#include "engine/datasets/repeated_ends.hpp"

#include <algorithm>
#include <utility>

namespace sluice::engine {

void RepeatedEnds::add(std::int64_t id, bool learnt) {
  if (!learnt) return add_padding();
  end_ = end_.length > 0 && end_.id == id ? Run{id, end_.length + 1} : Run{id, 1};
  if (begin_ended_) return;
  begin_ended_ = begin_.length > 0 && begin_.id != id;
  if (!begin_ended_) begin_ = {id, begin_.length + 1};
}

void RepeatedEnds::add_padding() {
  begin_ended_ = true;
  end_ = {};
}

void RepeatedEnds::end_row() {
  // A row of one id alone has no tokens that padding would stand beside.
  if (begin_ended_) {
    count(end_, at_end_);
    count(begin_, at_begin_);
  }
  begin_ = end_ = {};
  begin_ended_ = false;
}

void RepeatedEnds::count(const Run& run, ById& found) {
  if (run.length < 2) return;
  Found& here = found[run.id];
  ++here.rows;
  here.repeats += run.length - 1;
  here.longest = std::max(here.longest, run.length);
}

std::optional<std::string> RepeatedEnds::told(std::int64_t tokens) const {
  constexpr std::int64_t kFewestRows = 2, kShortestRun = 3, kHundredth = 100;
  const auto repeats = [](const auto& each) { return each.second.repeats; };
  for (const auto& [side, found] : {std::pair("end", &at_end_), std::pair("begin", &at_begin_)}) {
    if (found->empty()) continue;
    const auto& [id, most] = *std::ranges::max_element(*found, {}, repeats);
    if (most.rows < kFewestRows || most.longest < kShortestRun) continue;
    if (most.repeats * kHundredth < tokens) continue;
    return std::to_string(most.rows) + " rows " + side + " in token " + std::to_string(id) +
           ", repeated (" + std::to_string(most.repeats + most.rows) + " tokens of it)";
  }
  return std::nullopt;
}

}  // namespace sluice::engine
