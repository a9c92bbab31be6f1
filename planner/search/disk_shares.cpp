#include "planner/search/disk_shares.hpp"

#include <algorithm>

#include "planner/models/unit_classes.hpp"
#include "planner/plans/disk_state.hpp"

namespace sluice::planner {
namespace {

/// Host buffers: an eighth of a block's state, so that few pieces do and little memory is taken.
constexpr std::int64_t kPiecesOfABlock = 8;
constexpr Bytes kLeastBuffer{64ll << 20};
constexpr Bytes kMostBuffer{1ll << 30};
/// The most bytes that alignment leaves empty in a slot.
constexpr Bytes kPlanesAligned = kDiskAlign * 8;

/// Makes the CPU update the unit, as it must where the unit's state lies on the disk.
void update_on_cpu(UnitPlan& unit) {
  if (unit.executor == Executor::gpu) unit.when = When::forward;
  unit.executor = Executor::cpu;
  unit.resident = Extent::whole;
}

bool is_layer(const Plan& plan, std::size_t unit) {
  return unit > 0 && unit + 1 < plan.units.size();
}

/// Units by who goes first: the last blocks, whose weights are needed last, then the outer units.
std::vector<std::size_t> in_order(const Plan& plan) {
  std::vector<std::size_t> units;
  for (std::size_t unit = plan.units.size() - 1; unit-- > 1;) units.push_back(unit);
  units.push_back(plan.units.size() - 1);
  units.push_back(0);
  return units;
}

std::vector<std::size_t> with_state(const Plan& plan) {
  std::vector<std::size_t> units = in_order(plan);
  std::erase_if(units, [&plan](std::size_t unit) { return plan.units[unit].state != Tier::host; });
  return units;
}

/// Units whose weights may follow their state to the disk: embedding and head first, whose weights
/// cross the disk once a round and not twice; last those that leave HBM for it, with the master on
/// the host.
std::vector<std::size_t> with_weights(const Plan& plan) {
  std::vector<std::size_t> units = in_order(plan);
  std::rotate(units.begin(), units.end() - 2, units.end());
  std::erase_if(units, [&](std::size_t unit) {
    return plan.units[unit].state != Tier::disk || plan.units[unit].weights == Tier::disk;
  });
  std::stable_partition(units.begin(), units.end(),
                        [&](std::size_t unit) { return plan.units[unit].weights == Tier::host; });
  return units;
}

/// So many of the blocks, as far from each other as they can be.
std::vector<std::size_t> spread(const std::vector<std::size_t>& units, std::size_t blocks,
                                std::size_t count) {
  std::vector<std::size_t> some;
  for (std::size_t i = 0; i < count; ++i) some.push_back(units[(2 * i + 1) * blocks / (2 * count)]);
  return some;
}

}  // namespace

DiskShares::DiskShares(const Job& job, const Pins& pins, std::int64_t ranks)
    : job_(job), pins_(pins), ranks_(ranks) {
  parameters_ = padded_sizes(job.model);
  for (const std::int64_t size : parameters_) {
    frees_.push_back({disk_state_bytes(job, size), job.gradient_wire_element() * size,
                      job.weight_element() * size});
  }
  const std::int64_t eighth = frees_[1].state.count() / (kPiecesOfABlock * ranks);
  buffer_ = std::clamp(Bytes(eighth >> 20 << 20), kLeastBuffer, kMostBuffer);
}

Bytes DiskShares::slots(std::int64_t count) const {
  Bytes largest{0};
  for (const Frees& each : frees_) largest = std::max(largest, each.state + each.gradient);
  return std::min(buffer_ * ranks_, largest) * count;
}

Bytes DiskShares::weight_slots(std::int64_t count) const {
  Bytes largest{0};
  for (const Frees& each : frees_) largest = std::max(largest, each.weights);
  return (std::min(buffer_ * ranks_, largest * 2) + kPlanesAligned * ranks_) * count;
}

Bytes DiskShares::state_frees() const {
  Bytes all{0};
  for (const Frees& each : frees_) all += each.state;
  return all;
}

Bytes DiskShares::all_frees() const {
  Bytes all = state_frees();
  for (const Frees& each : frees_) all += each.gradient + each.weights;
  return all;
}

Bytes DiskShares::frees_of(const Plan& plan) const {
  Bytes freed{0};
  for (std::size_t unit = 0; unit < frees_.size(); ++unit) {
    if (plan.units[unit].state == Tier::disk) freed += frees_[unit].state;
    if (plan.units[unit].gradients == Tier::disk) freed += frees_[unit].gradient;
    if (plan.units[unit].weights == Tier::disk) freed += frees_[unit].weights;
  }
  return freed;
}

void DiskShares::bring_back(Plan& plan) {
  for (UnitPlan& unit : plan.units) {
    if (unit.state == Tier::disk) {
      update_on_cpu(unit);
      unit.state = Tier::host;
    }
    if (unit.gradients == Tier::disk) unit.gradients = Tier::host;
    if (unit.weights == Tier::disk) unit.weights = Tier::host;
  }
}

/// Units whose gradients may follow their state to the disk: a tied head's only together with the
/// embedding's.
std::vector<std::size_t> DiskShares::with_gradients(const Plan& plan) const {
  // Between rounds the sums of several ranks wait whole, and not on the disk.
  if (plan.ranks > 1 && plan.rounds > 1) return {};
  std::vector<std::size_t> units = in_order(plan);
  std::erase_if(units, [&](std::size_t unit) {
    const UnitPlan& choice = plan.units[unit];
    return choice.state != Tier::disk || choice.gradients != Tier::host ||
           choice.when == When::backward || (job_.model.tied_head && !is_layer(plan, unit));
  });
  return units;
}

Plan DiskShares::moved(const Plan& plan, std::size_t count, Placement placement,
                       std::int64_t buffers) const {
  std::vector<std::size_t> units = with_state(plan);
  std::size_t left = count - std::min(count, units.size());
  const auto blocks = static_cast<std::size_t>(std::count_if(
      units.begin(), units.end(), [&plan](std::size_t unit) { return is_layer(plan, unit); }));
  if (placement == Placement::even && count < blocks) units = spread(units, blocks, count);
  units.resize(std::min(count, units.size()));
  Plan made = plan;
  for (const std::size_t unit : units) {
    UnitPlan& choice = made.units[unit];
    update_on_cpu(choice);
    choice.state = Tier::disk;
  }
  for (const std::size_t unit : with_gradients(made)) {
    if (left == 0) break;
    made.units[unit].gradients = Tier::disk;
    --left;
  }
  for (const std::size_t unit : with_weights(made)) {
    if (left == 0) break;
    made.units[unit].weights = Tier::disk;
    --left;
  }
  made.disk_buffers = buffers;
  made.disk_buffer = buffer_;
  if (pins_) pins_(made);
  return made;
}

std::size_t DiskShares::fewest(const Plan& plan, Bytes missing) const {
  Bytes needed = slots(2) + missing;
  std::size_t count = 0;
  Bytes freed{0};
  for (const std::size_t unit : with_state(plan)) {
    if (freed >= needed) break;
    freed += frees_[unit].state;
    ++count;
  }
  const Plan all = moved(plan, count, Placement::last, 2);
  for (const std::size_t unit : with_gradients(all)) {
    if (freed >= needed) break;
    freed += waiting_element(job_, plan.rounds) * parameters_[unit];
    ++count;
  }
  if (freed < needed) needed += weight_slots(2);
  for (const std::size_t unit : with_weights(all)) {
    if (freed >= needed) break;
    freed += frees_[unit].weights;
    ++count;
  }
  return count;
}

std::string disk_share_text(const Plan& plan) {
  const auto on_disk = [](const UnitPlan& unit) { return unit.state == Tier::disk; };
  const auto blocks = std::count_if(plan.units.begin() + 1, plan.units.end() - 1, on_disk);
  std::string text = "state of " + std::to_string(blocks) + " of " +
                     std::to_string(plan.units.size() - 2) + " layers";
  if (on_disk(plan.units.back())) text += ", head";
  if (on_disk(plan.units.front())) text += ", embedding";
  const auto waiting =
      std::count_if(plan.units.begin(), plan.units.end(),
                    [](const UnitPlan& unit) { return unit.gradients == Tier::disk; });
  if (waiting == std::ssize(plan.units)) text += ", all gradients";
  if (waiting > 0 && waiting < std::ssize(plan.units)) {
    text += ", gradients of " + std::to_string(waiting) + " layers";
  }
  const auto weights =
      std::count_if(plan.units.begin(), plan.units.end(),
                    [](const UnitPlan& unit) { return unit.weights == Tier::disk; });
  if (weights == std::ssize(plan.units)) text += ", all weights";
  if (weights > 0 && weights < std::ssize(plan.units)) {
    text += ", weights of " + std::to_string(weights) + " layers";
  }
  return text + " on disk";
}

}  // namespace sluice::planner
