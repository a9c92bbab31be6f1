#include "planner/relaxation/plan_relaxation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "planner/graph/record.hpp"
#include "planner/models/muon.hpp"

namespace sluice::planner {
namespace {

constexpr double kNone = 1e-6;  ///< Block counts below this are treated as zero.

bool passes_ring(const UnitPlan& unit) {
  return rotates_state(unit) && unit.staging == Staging::ring;
}

/// Whether counts of a group with one unit divide that unit between several choices.
bool is_of_several(const std::vector<double>& counts) {
  constexpr double kWhole = 1 - 1e-6;
  return std::all_of(counts.begin(), counts.end(), [](double each) { return each < kWhole; });
}

}  // namespace

UseSum PlanRelaxation::base() const {
  const Job& job = predictor_->part();
  const PassTimes& pass = predictor_->pass_times();
  const auto micro = static_cast<double>(job.micro_batches());
  const auto layers = static_cast<double>(job.model.layers);
  UseSum sum{};
  use_of(sum, Use::forward) = micro * (pass.embed_forward + layers * pass.block_forward).count();
  use_of(sum, Use::tail) =
      micro * (pass.loss + layers * pass.block_backward + pass.embed_backward).count() +
      (pass.once + pass.group_sums).count();
  use_of(sum, Use::compute) = use_of(sum, Use::forward) + use_of(sum, Use::tail);
  if (job.model.tied_head) use_of(sum, Use::fabric) = exchanges_[0];
  return sum;
}

PlanRelaxation PlanRelaxation::at_pace(const Pace& pace) const {
  PlanRelaxation slower = *this;
  slower.h2d_rate_ *= pace.h2d;
  slower.d2h_rate_ *= pace.d2h;
  slower.update_rate_ *= pace.update;
  return slower;
}

PlanRelaxation PlanRelaxation::without_rings() const {
  // Rings are what lets gradients of blocks that the device updates wait on the host.
  if (muon_updates(predictor_->part(), 1)) return *this;
  PlanRelaxation rest = *this;
  for (std::vector<UnitPlan>& choices : rest.placed_) {
    std::erase_if(choices, passes_ring);
    if (choices.empty()) return *this;
  }
  return rest;
}

bool PlanRelaxation::has_rings() const {
  return std::ranges::any_of(placed_, [](const std::vector<UnitPlan>& choices) {
    return std::ranges::any_of(choices, passes_ring);
  });
}

std::vector<RelaxedNode> PlanRelaxation::split(const RelaxedNode& node,
                                               const RelaxedPlan& relaxed) const {
  std::vector<RelaxedNode> nodes;
  const bool embed = !node.embed && is_of_several(relaxed.embeds);
  if (embed || (!node.head && is_of_several(relaxed.heads))) {
    for (std::size_t choice = 0; choice < (embed ? relaxed.embeds : relaxed.heads).size();
         ++choice) {
      (embed ? nodes.emplace_back(node).embed : nodes.emplace_back(node).head) = choice;
    }
    return nodes;
  }
  if (node.proves) {
    nodes = split_gradients(node, relaxed);
    if (!nodes.empty()) return nodes;
  }
  // Slots are of one size: that of a record which may leave, or 0.
  const BlockRecord record = block_record(predictor_->part());
  std::vector<Bytes> sizes;
  if (!node.largest_record) {
    for (const UnitPlan& unit : kept_) {
      if (unit.keep_tier == Tier::host) sizes.push_back(record.kept(unit.keep));
    }
  }
  if (!sizes.empty()) {
    sizes.push_back(Bytes(0));
    for (const Bytes size : sizes) nodes.emplace_back(node).largest_record = size;
    return nodes;
  }
  // With as many slots as a block has records in a round nothing waits for one.
  const SlotRange& slots = node.record_slots;
  const std::int64_t most = std::min(slots.most, predictor_->part().micro_batches() / node.rounds);
  if (slots.least >= most) return split_counts(node, relaxed);
  const auto choices = record_choices(node);
  RelaxedNode fewest = node;
  fewest.record_slots.most = slots.least;
  const auto single = record_choices(fewest);
  const auto waits = [](UseSum use) {
    return use_of(use, Use::forward_waits) + use_of(use, Use::backward_waits);
  };
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (relaxed.records[i] < kNone || waits(single[i].use) <= waits(choices[i].use)) continue;
    const auto middle =
        static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(slots.least * most))));
    const std::int64_t from = std::clamp(middle, slots.least + 1, most);
    nodes = {node, node};
    nodes.front().record_slots.most = from - 1;
    nodes.back().record_slots.least = from;
    return nodes;
  }
  return split_counts(node, relaxed);
}

std::vector<RelaxedNode> PlanRelaxation::split_gradients(const RelaxedNode& node,
                                                         const RelaxedPlan& relaxed) const {
  constexpr std::int64_t kMostSlots = 8;
  const std::int64_t layers = predictor_->part().model.layers;
  const std::int64_t fewest = node.gradient_slots.least;
  if (node.rounds == 1 || fewest >= std::min({node.gradient_slots.most, kMostSlots, layers})) {
    return {};
  }
  double blocks = 0;
  const std::vector<UnitChoice> choices = residency_choices(1, node.rounds);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (stores_gradient(choices[i].unit)) blocks += relaxed.residencies[i];
  }
  const auto slot =
      static_cast<double>((predictor_->part().gradient_element() * parameters_[1]).count());
  const double slots = relaxed.more_slots / slot + blocks / static_cast<double>(layers);
  const auto few = static_cast<double>(fewest);
  if (blocks <= few + kNone || slots >= few + 1 - kNone) return {};
  std::vector<RelaxedNode> nodes{node, node, node};
  nodes[0].gradient_blocks.most = std::min(node.gradient_blocks.most, fewest);
  for (RelaxedNode* each : {&nodes[1], &nodes[2]}) {
    each->gradient_blocks.least = std::max(node.gradient_blocks.least, fewest + 1);
  }
  nodes[1].gradient_slots.most = fewest;
  nodes[2].gradient_slots.least = fewest + 1;
  return nodes;
}

std::vector<RelaxedNode> PlanRelaxation::split_counts(const RelaxedNode& node,
                                                      const RelaxedPlan& relaxed) {
  constexpr double kPart = 1e-4;  // Smaller parts of a block count as none.
  const auto part = [](double count) { return std::abs(count - std::round(count)); };
  const auto most = [&part](const std::vector<double>& counts) {
    return std::ranges::max_element(counts, {}, part);
  };
  const bool residency = part(*most(relaxed.residencies)) >= kPart;
  const auto& counts = residency ? relaxed.residencies : relaxed.records;
  const auto at = most(counts);
  if (part(*at) < kPart) return {};
  std::vector<RelaxedNode> nodes{node, node};
  const auto range_of = [&](RelaxedNode& each) -> CountRange& {
    auto& ranges = residency ? each.residencies : each.records;
    ranges.resize(counts.size());
    return ranges[static_cast<std::size_t>(at - counts.begin())];
  };
  range_of(nodes.front()).most = std::floor(*at);
  range_of(nodes.back()).least = std::ceil(*at);
  return nodes;
}

}  // namespace sluice::planner
