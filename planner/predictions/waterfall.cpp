#include "planner/predictions/waterfall.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "sim/error.hpp"

namespace sluice::planner {
namespace {

Duration whole_ns(Seconds time) { return std::chrono::round<Duration>(time); }

/// The term of the waterfall to which the compute lane's time under a task of this kind belongs.
WaterfallTerm term_of(TaskKind kind) {
  switch (kind) {
    case TaskKind::recompute:
      return WaterfallTerm::recomputation;
    case TaskKind::update:
      return WaterfallTerm::optimizer;
    case TaskKind::grads:
      return WaterfallTerm::synchronization;
    default:
      return WaterfallTerm::kernels;
  }
}

WaterfallTerm term_of(Stall stall) {
  switch (stall) {
    case Stall::weights:
      return WaterfallTerm::weights;
    case Stall::gradient:
      return WaterfallTerm::gradients;
    case Stall::activation:
      return WaterfallTerm::activations;
    case Stall::optimizer:
      return WaterfallTerm::updates;
    case Stall::launch:
      return WaterfallTerm::launches;
    case Stall::tokens:
      return WaterfallTerm::synchronization;
  }
  return WaterfallTerm::launches;
}

const char* label(WaterfallTerm term) {
  switch (term) {
    case WaterfallTerm::not_compute:
      return "bound above compute";
    case WaterfallTerm::kernels:
      return "kernels below ceiling";
    case WaterfallTerm::recomputation:
      return "recomputation";
    case WaterfallTerm::optimizer:
      return "optimizer on the GPU";
    case WaterfallTerm::updates:
      return "exposed optimizer";
    case WaterfallTerm::weights:
      return "exposed weights";
    case WaterfallTerm::gradients:
      return "exposed gradients";
    case WaterfallTerm::activations:
      return "exposed activations";
    case WaterfallTerm::launches:
      return "launches and gaps";
    case WaterfallTerm::synchronization:
      return "step end and tokens";
  }
  return "";
}

/// Waits that the idle time within a bound is taken off, those that its resource causes first.
std::vector<WaterfallTerm> waits_within(BoundBy by) {
  using Term = WaterfallTerm;
  switch (by) {
    case BoundBy::h2d:
      return {Term::weights, Term::activations, Term::gradients, Term::updates};
    case BoundBy::d2h:
      return {Term::gradients, Term::activations, Term::weights, Term::updates};
    case BoundBy::compute:
    case BoundBy::dram:
    case BoundBy::cpu:
    case BoundBy::disk:
    case BoundBy::chain:
      break;
  }
  return {Term::updates, Term::weights, Term::gradients, Term::activations};
}

/// A line of the table: the name in 24 columns, then one cell a column.
std::string line(const std::string& name, const std::vector<std::string>& cells) {
  std::string text(64, '\0');
  text.resize(static_cast<std::size_t>(
      std::snprintf(text.data(), text.size(), "  %-24.24s", name.c_str())));
  for (const std::string& cell : cells) {
    text += std::string(cell.size() < 20 ? 20 - cell.size() : 1, ' ') + cell;
  }
  return text + "\n";
}

std::string milliseconds(Duration time, Duration step) {
  char text[64];
  const double share = step.count() > 0 ? to_seconds(time) / to_seconds(step) : 0;
  std::snprintf(text, sizeof text, "%.1f ms %5.1f %%", 1e3 * to_seconds(time).count(), 100 * share);
  return text;
}

}  // namespace

Waterfall waterfall(const StallTimes& stalls, const Ceilings& ceilings) {
  const Duration compute = whole_ns(ceilings.compute());
  Waterfall fall;
  fall.step = stalls.period;
  fall.bound = whole_ns(ceilings.bound.time);
  fall.bound_by = ceilings.bound.by;
  fall.at(WaterfallTerm::not_compute) = compute - fall.bound;
  for (const auto& [kind, time] : stalls.kinds) fall.at(term_of(kind)) += time;
  fall.at(WaterfallTerm::kernels) -= compute;
  for (std::size_t i = 0; i < kStalls; ++i) fall.at(term_of(Stall(i))) += stalls.idle[i];
  Duration sum = fall.bound;
  for (const Duration term : fall.terms) sum += term;
  check(sum == fall.step, "the waterfall sums to the step");
  return fall;
}

Waterfall waterfall(const StepGraph& graph, const std::vector<TaskTimes>& spans,
                    const Ceilings& ceilings) {
  return waterfall(stall_times(graph, spans), ceilings);
}

Waterfall waterfall_above(const StallTimes& stalls, const Bound& bound) {
  Waterfall fall = waterfall(stalls, Ceilings{.bound = bound});
  std::vector<WaterfallTerm> order = waits_within(bound.by);
  for (const WaterfallTerm rest :
       {WaterfallTerm::launches, WaterfallTerm::synchronization, WaterfallTerm::optimizer,
        WaterfallTerm::kernels, WaterfallTerm::recomputation}) {
    order.push_back(rest);
  }
  Duration& within = fall.at(WaterfallTerm::not_compute);  // Negative: what the bound contains.
  for (const WaterfallTerm term : order) {
    const Duration taken = std::clamp(fall.at(term), Duration(0), std::max(-within, Duration(0)));
    fall.at(term) -= taken;
    within += taken;
  }
  return fall;
}

const char* label_above(WaterfallTerm term) {
  if (term == WaterfallTerm::kernels) return "slowed kernels";
  return label(term);
}

const char* name_above(WaterfallTerm term) {
  if (term == WaterfallTerm::kernels) return "slowed_kernels";
  return to_string(term);
}

std::string waterfall_table(const std::vector<WaterfallColumn>& columns) {
  if (columns.empty()) return "";
  const auto row = [&columns](const std::string& name, auto&& time) {
    std::vector<std::string> cells;
    cells.reserve(columns.size());
    for (const WaterfallColumn& column : columns) {
      cells.push_back(milliseconds(time(column.waterfall), column.waterfall.step));
    }
    return line(name, cells);
  };
  std::vector<std::string> names;
  names.reserve(columns.size());
  for (const WaterfallColumn& column : columns) names.push_back(column.name);
  std::string text = line("waterfall", names);
  text += row(std::string("bound by ") + to_string(columns.front().waterfall.bound_by),
              [](const Waterfall& fall) { return fall.bound; });
  for (std::size_t i = 0; i < kWaterfallTerms; ++i) {
    const auto term = static_cast<WaterfallTerm>(i);
    text += row(std::string("+ ") + label(term),
                [term](const Waterfall& fall) { return fall.at(term); });
  }
  return text + row("= step", [](const Waterfall& fall) { return fall.step; });
}

std::string waterfall_json(const Waterfall& waterfall) {
  nlohmann::ordered_json json = {{"step_s", to_seconds(waterfall.step).count()},
                                 {"bound_s", to_seconds(waterfall.bound).count()},
                                 {"bound_by", to_string(waterfall.bound_by)},
                                 {"bound_ratio", waterfall.bound_ratio()},
                                 {"terms_s", nlohmann::ordered_json::object()}};
  for (std::size_t i = 0; i < kWaterfallTerms; ++i) {
    json["terms_s"][to_string(static_cast<WaterfallTerm>(i))] =
        to_seconds(waterfall.terms[i]).count();
  }
  return json.dump(2);
}

const char* to_string(WaterfallTerm term) {
  switch (term) {
    case WaterfallTerm::not_compute:
      return "bound_above_compute";
    case WaterfallTerm::kernels:
      return "kernels_below_ceiling";
    case WaterfallTerm::recomputation:
      return "recomputation";
    case WaterfallTerm::optimizer:
      return "gpu_optimizer";
    case WaterfallTerm::updates:
      return "exposed_optimizer";
    case WaterfallTerm::weights:
      return "exposed_weights";
    case WaterfallTerm::gradients:
      return "exposed_gradients";
    case WaterfallTerm::activations:
      return "exposed_activations";
    case WaterfallTerm::launches:
      return "launches";
    case WaterfallTerm::synchronization:
      return "meeting";
  }
  return "";
}

}  // namespace sluice::planner
