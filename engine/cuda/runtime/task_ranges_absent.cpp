#include "engine/execution/task_ranges.hpp"

namespace sluice::engine {

struct TaskRanges::Names {};

TaskRanges::TaskRanges(const Program& /*program*/) {}
TaskRanges::~TaskRanges() = default;

TaskRanges::Scope::Scope(const TaskRanges& ranges, std::uint32_t /*task*/) : ranges_(ranges) {
  static_cast<void>(ranges_);
}
TaskRanges::Scope::~Scope() {
}  // NOLINT(performance-trivially-destructible): the other build's ends a range.

}  // namespace sluice::engine
