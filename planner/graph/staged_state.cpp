#include "planner/graph/staged_state.hpp"

#include <algorithm>
#include <span>

#include "planner/graph/record.hpp"
#include "planner/models/unit_classes.hpp"

namespace sluice::planner {
namespace {

/// Sizes of a rank's slice of each kind of unit.
struct UnitSizes {
  UnitSizes(const Job& job, std::int64_t ranks) : model(job.model), sizes(unit_count(model)) {
    for (const std::size_t unit : representatives(model)) {
      sizes[unit] = slice_of(unit_size(job, unit), ranks);
    }
  }
  [[nodiscard]] const UnitSize& of(std::size_t unit) const {
    return sizes[class_representative(model, unit)];
  }

  [[nodiscard]] std::int64_t largest_block() const {
    const auto blocks = std::span(sizes).subspan(1, sizes.size() - 2);
    return std::ranges::max_element(blocks, {}, &UnitSize::parameters)->parameters;
  }

  const ModelShape& model;
  std::vector<UnitSize> sizes;  ///< Sizes by unit; 0 for blocks other than the first of a kind.
};

/// Bytes of device memory that the backward pass frees: records of the blocks it has passed, less
/// the gradients up to the block after them.
class FreedRecords {
 public:
  FreedRecords(const Job& job, const Plan& plan, Bytes gradient)
      : plan_(plan),
        record_(block_record(job)),
        gradient_(gradient),
        block_(plan.units.size() - 1) {
    at_ = waits(plan.units[block_ - 1]) ? Bytes(0) - gradient_ : Bytes(0);
  }

  /// The last block at the end of whose backward pass `needed` bytes are free; none if there is
  /// none.
  std::optional<std::size_t> block_leaving(Bytes needed) {
    while (at_ < needed && block_ > 1) {
      const UnitPlan& done = plan_.units[--block_];
      if (done.keep_tier == Tier::hbm) {
        at_ += record_.kept(done.keep) * plan_.micro_batches_per_round;
      }
      if (block_ > 1 && waits(plan_.units[block_ - 1])) at_ = at_ - gradient_;
    }
    return at_ < needed ? std::nullopt : std::optional(block_);
  }

 private:
  /// Whether the unit's gradient waits on the device, whole or as a slice.
  [[nodiscard]] bool waits(const UnitPlan& unit) const {
    return !streams_gradient(plan_.rounds, unit);
  }

  const Plan& plan_;
  BlockRecord record_;
  Bytes gradient_;
  std::size_t block_;  ///< The backward passes of this block and of all blocks after it are over.
  Bytes at_{0};
};

}  // namespace

Bytes staged_bytes(const UnitPlan& unit, const Job& job, const UnitSize& size) {
  const std::int64_t resident = unit.weights == Tier::hbm ? job.weight_element().count() : 0;
  return state_bytes(job, size) - Bytes(resident * size.parameters);
}

Bytes rotating_bytes(const UnitPlan& unit, const Job& job, const UnitSize& size) {
  const Bytes state = staged_bytes(unit, job, size);
  return rotates_gradient(unit) ? state + job.gradient_wire_element() * size.parameters : state;
}

std::vector<StagedLoad> staged_loads(const Job& job, const Plan& plan) {
  std::vector<std::size_t> units;
  for (std::size_t unit = 0; unit < plan.units.size(); ++unit) {
    if (stages_state(plan.units[unit]) && !rotates_state(plan.units[unit])) units.push_back(unit);
  }
  const auto count = static_cast<std::int64_t>(units.size());
  auto sharing = static_cast<std::size_t>(std::max<std::int64_t>(0, count - plan.state_buffers));
  if (units.empty()) return {};
  const UnitSizes sizes(job, plan.ranks);
  std::vector<StagedLoad> in_records;
  // With several rounds gradients were there before.
  const Bytes gradient = job.gradient_element() * sizes.largest_block();
  FreedRecords freed(job, plan, plan.rounds == 1 ? gradient : Bytes(0));
  Bytes needed{0};
  while (sharing > 0) {
    const std::size_t unit = units[sharing - 1];
    needed += staged_bytes(plan.units[unit], job, sizes.of(unit));
    const auto block = freed.block_leaving(needed);
    if (!block) break;
    in_records.push_back({unit, block});
    --sharing;
  }
  std::vector<StagedLoad> loads;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const bool shares = i >= sharing && i < sharing + in_records.size();
    if (!shares) loads.push_back({units[i], std::nullopt});
  }
  loads.insert(loads.end(), in_records.begin(), in_records.end());
  return loads;
}

}  // namespace sluice::planner
