#include "planner/graph/buffer_schedule.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "sim/error.hpp"

namespace sluice::planner {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

struct Slot {
  std::optional<std::int64_t> block;
  std::int64_t last_use = -1;
  std::int64_t next_use = kNever;
};

/// next_use[i]: the use after i of the same block, or kNever.
std::vector<std::int64_t> next_uses(const std::vector<WeightUse>& uses) {
  std::vector<std::int64_t> next(uses.size(), kNever);
  std::map<std::int64_t, std::int64_t> upcoming;
  for (std::int64_t i = static_cast<std::int64_t>(uses.size()) - 1; i >= 0; --i) {
    const auto found = upcoming.find(uses[i].block);
    if (found != upcoming.end()) next[i] = found->second;
    upcoming[uses[i].block] = i;
  }
  return next;
}

}  // namespace

std::vector<SlotAssignment> assign_slots(const std::vector<WeightUse>& uses, std::int64_t slots,
                                         std::int64_t depth) {
  check(slots >= 1 && depth >= 0 && depth < slots, "0 <= prefetch depth < weight buffers");
  const std::vector<std::int64_t> next = next_uses(uses);
  std::vector<Slot> state(static_cast<std::size_t>(slots));
  std::vector<SlotAssignment> assigned;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(uses.size()); ++i) {
    const std::int64_t window_start = i - depth;
    auto chosen = std::find_if(state.begin(), state.end(),
                               [&](const Slot& slot) { return slot.block == uses[i].block; });
    const bool hit = chosen != state.end();
    if (!hit) {
      chosen = state.end();
      for (auto slot = state.begin(); slot != state.end(); ++slot) {
        if (slot->block && slot->last_use >= window_start) continue;  // still held by the window
        if (chosen == state.end()) {
          chosen = slot;
          continue;
        }
        const auto key = [](const Slot& s) {
          return std::pair(s.block ? s.next_use : kNever, s.block ? -s.last_use : kNever);
        };
        if (key(*slot) > key(*chosen)) chosen = slot;
      }
      check(chosen != state.end(), "a slot outside the prefetch window");
    }
    chosen->block = uses[i].block;
    chosen->last_use = i;
    chosen->next_use = next[i];
    assigned.push_back({chosen - state.begin(), !hit});
  }
  return assigned;
}

}  // namespace sluice::planner
