#include "planner/guided/plan_sketch.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <tuple>

namespace sluice::planner {
namespace {

/// Rounds values to whole numbers of the same sum: down, then up where most was lost.
std::vector<std::int64_t> whole_counts(const std::vector<double>& values) {
  std::vector<std::int64_t> counts;
  counts.reserve(values.size());
  for (const double value : values) {
    counts.push_back(static_cast<std::int64_t>(std::floor(value + 1e-6)));
  }
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  auto missing = static_cast<std::int64_t>(std::llround(sum)) -
                 std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  std::vector<std::size_t> by_loss(values.size());
  std::iota(by_loss.begin(), by_loss.end(), std::size_t{0});
  std::stable_sort(by_loss.begin(), by_loss.end(), [&](std::size_t a, std::size_t b) {
    return values[a] - static_cast<double>(counts[a]) > values[b] - static_cast<double>(counts[b]);
  });
  for (std::size_t i = 0; missing > 0; ++i, --missing) ++counts[by_loss[i % by_loss.size()]];
  return counts;
}

std::vector<BlockCount> counted(const std::vector<UnitChoice>& choices,
                                const std::vector<double>& values) {
  const std::vector<std::int64_t> counts = whole_counts(values);
  std::vector<BlockCount> blocks;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) blocks.push_back({choices[i].unit, counts[i]});
  }
  return blocks;
}

std::vector<UnitPlan> in_order(const std::vector<BlockCount>& counts, PlanSketch::Order order) {
  std::vector<UnitPlan> blocks;
  if (order == PlanSketch::Order::device_first) {
    std::vector<BlockCount> device = counts, host = counts;
    const auto is_of_host = [](const BlockCount& count) {
      return count.choice.keep_tier == Tier::host;
    };
    std::erase_if(device, is_of_host);
    std::erase_if(host, std::not_fn(is_of_host));
    blocks = in_order(device, PlanSketch::Order::spread);
    const auto others = in_order(host, PlanSketch::Order::spread);
    blocks.insert(blocks.end(), others.begin(), others.end());
    return blocks;
  }
  if (order != PlanSketch::Order::spread) {
    std::vector<BlockCount> groups = counts;
    if (order == PlanSketch::Order::reversed) std::reverse(groups.begin(), groups.end());
    for (const BlockCount& group : groups) {
      blocks.insert(blocks.end(), static_cast<std::size_t>(group.blocks), group.choice);
    }
    return blocks;
  }
  std::int64_t all = 0;
  for (const BlockCount& group : counts) all += group.blocks;
  std::vector<std::int64_t> placed(counts.size(), 0);
  for (std::int64_t i = 0; i < all; ++i) {
    std::size_t next = 0;
    double most = -1;
    for (std::size_t g = 0; g < counts.size(); ++g) {
      const double due =
          static_cast<double>(counts[g].blocks * (i + 1)) / static_cast<double>(all) -
          static_cast<double>(placed[g]);
      if (due <= most || placed[g] == counts[g].blocks) continue;
      most = due;
      next = g;
    }
    ++placed[next];
    blocks.push_back(counts[next].choice);
  }
  return blocks;
}

std::vector<UnitPlan> leveled(const std::vector<BlockCount>& counts,
                              const std::array<Bytes, 3>& record_bytes) {
  const auto leaves = [&record_bytes](const UnitPlan& unit) {
    return unit.keep_tier == Tier::host ? record_bytes[static_cast<std::size_t>(unit.keep)].count()
                                        : 0;
  };
  std::int64_t blocks = 0, bytes = 0;
  for (const BlockCount& group : counts) {
    blocks += group.blocks;
    bytes += group.blocks * leaves(group.choice);
  }
  std::vector<std::int64_t> left(counts.size());
  std::ranges::transform(counts, left.begin(), &BlockCount::blocks);
  std::vector<UnitPlan> order;
  std::int64_t left_bytes = 0;  // Bytes that leave with blocks placed so far.
  for (std::int64_t i = 0; i < blocks; ++i) {
    const double due =
        static_cast<double>(bytes) * (static_cast<double>(i) + 1) / static_cast<double>(blocks);
    std::optional<std::size_t> next;
    std::pair<double, double> least;
    for (std::size_t g = 0; g < counts.size(); ++g) {
      if (left[g] == 0) continue;
      const auto off = std::abs(static_cast<double>(left_bytes + leaves(counts[g].choice)) - due);
      // Among equals, the choice with most of its blocks to come.
      const std::pair now(off,
                          -static_cast<double>(left[g]) / static_cast<double>(counts[g].blocks));
      if (next && now >= least) continue;
      next = g;
      least = now;
    }
    --left[*next];
    left_bytes += leaves(counts[*next].choice);
    order.push_back(counts[*next].choice);
  }
  return order;
}

std::size_t largest(const std::vector<double>& values) {
  return static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

void place(UnitPlan& unit, const UnitPlan& choice) {
  const UnitPlan kept = unit;
  unit = choice;
  unit.keep = kept.keep;
  unit.keep_tier = kept.keep_tier;
}

/// Places embedding and head by the choice with the largest share; a tied pair by the largest share
/// together, for their one gradient waits in one place.
void place_outer_units(Plan& plan, const PlanRelaxation& relaxation, const RelaxedNode& node,
                       const RelaxedPlan& relaxed) {
  const auto embeds = relaxation.residency_choices(0, node.rounds);
  const auto heads = relaxation.residency_choices(plan.units.size() - 1, node.rounds);
  std::size_t embed = node.embed ? *node.embed : largest(relaxed.embeds);
  std::size_t head = node.head ? *node.head : largest(relaxed.heads);
  if (relaxation.tied_head()) {
    const auto share = [](const std::vector<double>& values, std::size_t i) {
      return values.size() == 1 ? 1.0 : values[i];
    };
    double most = -1;
    for (std::size_t e = 0; e < embeds.size(); ++e) {
      for (std::size_t h = 0; h < heads.size(); ++h) {
        if ((node.embed && e != *node.embed) || (node.head && h != *node.head)) continue;
        if (embeds[e].unit.gradients != heads[h].unit.gradients) continue;
        const double together = share(relaxed.embeds, e) + share(relaxed.heads, h);
        if (together <= most) continue;
        most = together;
        embed = e;
        head = h;
      }
    }
  }
  place(plan.units.front(), embeds[embed].unit);
  place(plan.units.back(), heads[head].unit);
}

}  // namespace

bool offloads_records(const PlanSketch& sketch) {
  return std::any_of(sketch.records.begin(), sketch.records.end(),
                     [](const BlockCount& count) { return count.choice.keep_tier == Tier::host; });
}

std::int64_t staged_blocks(const PlanSketch& sketch) {
  std::int64_t staged = 0;
  for (const BlockCount& count : sketch.residencies) {
    if (stages_state(count.choice)) staged += count.blocks;
  }
  return staged;
}

bool move_blocks(std::vector<BlockCount>& counts, const UnitPlan& from, const UnitPlan& to,
                 std::int64_t blocks) {
  const auto left = std::ranges::find(counts, from, &BlockCount::choice);
  if (left == counts.end() || left->blocks < blocks) return false;
  left->blocks -= blocks;
  const auto known = std::ranges::find(counts, to, &BlockCount::choice);
  if (known != counts.end()) {
    known->blocks += blocks;
  } else {
    counts.insert(to.executor == Executor::gpu ? counts.begin() : counts.end(), {to, blocks});
  }
  return true;
}

Plan to_plan(const PlanSketch& sketch) {
  Plan plan = sketch.rest;
  if (!offloads_records(sketch)) plan.stream_buffers = kFewestStreams;
  const auto records = sketch.record_order == PlanSketch::Order::level
                           ? leveled(sketch.records, sketch.record_bytes)
                           : in_order(sketch.records, sketch.record_order);
  const auto residencies = in_order(sketch.residencies, sketch.residency_order);
  for (std::size_t block = 0; block < residencies.size(); ++block) {
    UnitPlan& unit = plan.units[block + 1];
    unit = residencies[block];
    unit.keep = records[block].keep;
    unit.keep_tier = records[block].keep_tier;
  }
  return plan;
}

PlanSketch sketch_of(const PlanRelaxation& relaxation, const RelaxedNode& node,
                     const RelaxedPlan& relaxed, const Plan& usual) {
  PlanSketch sketch;
  sketch.from = node;
  for (const Limit limit :
       {Limit::cpu, Limit::dram, Limit::update_span_updates, Limit::update_span_dram}) {
    sketch.updates_bind |= relaxed.prices[constraint_index(limit)] > 0;
  }
  sketch.rest = usual;
  sketch.record_bytes = relaxation.record_bytes();
  sketch.rest.rounds = node.rounds;
  sketch.rest.micro_batches_per_round = usual.rounds * usual.micro_batches_per_round / node.rounds;
  sketch.records = counted(relaxation.record_choices(node.rounds), relaxed.records);
  sketch.residencies = counted(relaxation.residency_choices(1, node.rounds), relaxed.residencies);
  std::stable_sort(
      sketch.records.begin(), sketch.records.end(), [](const BlockCount& a, const BlockCount& b) {
        const auto key = [](const BlockCount& c) {
          return std::pair(c.choice.keep_tier != Tier::host, static_cast<int>(c.choice.keep));
        };
        return key(a) < key(b);
      });
  std::stable_sort(sketch.residencies.begin(), sketch.residencies.end(),
                   [](const BlockCount& a, const BlockCount& b) {
                     const auto key = [](const BlockCount& c) {
                       return std::tuple(c.choice.executor != Executor::gpu,
                                         c.choice.state != Tier::hbm,
                                         c.choice.gradients != Tier::hbm);
                     };
                     return key(a) < key(b);
                   });
  place_outer_units(sketch.rest, relaxation, node, relaxed);
  return sketch;
}

}  // namespace sluice::planner
