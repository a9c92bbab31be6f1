// Small changes of a plan: blocks from one choice to another, their order, buffers.
#include <algorithm>

#include "planner/guided_search.hpp"
#include "planner/usual_values.hpp"

namespace sluice::planner {

std::vector<PlanSketch> GuidedSearch::moves(const PlanSketch& sketch, std::int64_t rounds) const {
  std::vector<PlanSketch> all;
  const auto with = [&](auto change) {
    PlanSketch moved = sketch;
    if (change(moved)) all.push_back(std::move(moved));
  };
  const auto field = [&](std::int64_t Plan::*which, std::int64_t least,
                         std::initializer_list<std::int64_t> values) {
    for (const std::int64_t value : values) {
      if (value < least || value == sketch.rest.*which) continue;
      with([&](PlanSketch& moved) {
        moved.rest.*which = value;
        moved.rest.prefetch_depth =
            std::min(moved.rest.prefetch_depth, moved.rest.weight_buffers - 1);
        if (which == &Plan::weight_buffers) moved.rest.prefetch_depth = value - 1;
        return true;
      });
    }
  };
  // Blocks from one choice to another.
  const std::int64_t layers = predictor_.job().model.layers;
  const std::int64_t far = std::max<std::int64_t>(2, layers / 12);
  const auto shift = [&](std::vector<BlockCount> PlanSketch::*counts,
                         const std::vector<UnitChoice>& choices) {
    for (std::size_t from = 0; from < (sketch.*counts).size(); ++from) {
      for (const UnitChoice& to : choices) {
        if (to.unit == (sketch.*counts)[from].choice) continue;
        for (const std::int64_t blocks : {far, std::int64_t{1}}) {
          with([&](PlanSketch& moved) {
            auto& list = moved.*counts;
            if (list[from].blocks < blocks) return false;
            list[from].blocks -= blocks;
            const auto known = std::find_if(
                list.begin(), list.end(), [&](const BlockCount& c) { return c.choice == to.unit; });
            if (known != list.end()) {
              known->blocks += blocks;
            } else {
              list.insert(to.unit.executor == Executor::gpu ? list.begin() : list.end(),
                          {to.unit, blocks});
            }
            return true;
          });
        }
      }
    }
  };
  shift(&PlanSketch::records, relaxation_.record_choices(rounds));
  shift(&PlanSketch::residencies, relaxation_.residency_choices(1, rounds));
  for (const auto order :
       {PlanSketch::Order::grouped, PlanSketch::Order::reversed, PlanSketch::Order::spread}) {
    with([&](PlanSketch& moved) {
      moved.record_order = order;
      return order != sketch.record_order;
    });
    with([&](PlanSketch& moved) {
      moved.residency_order = order;
      return order != sketch.residency_order;
    });
  }
  const std::size_t head = sketch.rest.units.size() - 1;
  for (const std::size_t unit : {std::size_t{0}, head}) {
    for (const UnitChoice& choice : relaxation_.residency_choices(unit, rounds)) {
      with([&](PlanSketch& moved) {
        moved.rest.units[unit] = choice.unit;
        return !(choice.unit == sketch.rest.units[unit]);
      });
    }
  }
  const Plan& rest = sketch.rest;
  field(&Plan::weight_buffers, 1, {rest.weight_buffers - 1, rest.weight_buffers + 1, 2, 6});
  field(&Plan::gradient_buffers, 1, {rest.gradient_buffers - 1, rest.gradient_buffers + 2, 4, 8});
  field(&Plan::activation_buffers, 1,
        {rest.activation_buffers / 2, rest.activation_buffers * 2, rest.activation_buffers + 1});
  std::int64_t staged = 0;
  for (const BlockCount& count : sketch.residencies) {
    if (stages_state(count.choice)) staged += count.blocks;
  }
  if (staged > 0) {
    field(&Plan::state_buffers, 0,
          {0, staged / 4, staged / 2, staged * 3 / 4, staged, staged + 2, rest.state_buffers - 1,
           rest.state_buffers + 1});
  }
  const std::int64_t cores = cores_of(predictor_);
  field(&Plan::threads, 1, {cores, std::max<std::int64_t>(1, cores / 2)});
  for (const std::int64_t chunk :
       {rest.copy_chunk.count() / 4, rest.copy_chunk.count() * 4, std::int64_t{0}}) {
    with([&](PlanSketch& moved) {
      moved.rest.copy_chunk = Bytes(chunk);
      return chunk != rest.copy_chunk.count() && (chunk == 0 || chunk >= 65536);
    });
  }
  return all;
}

}  // namespace sluice::planner
