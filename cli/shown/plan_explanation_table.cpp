#include "cli/shown/plan_explanation_table.hpp"

#include <fmt/format.h>

#include <cmath>

#include "planner/explanation/machine_resources.hpp"
#include "sim/units_text.hpp"

namespace sluice::cli {
namespace {

using planner::format_seconds;
using planner::PlanExplanation;
using planner::Relief;

std::string meaning(const std::string& resource) {
  return planner::machine_resource(resource).meaning;
}

double share(Duration part, Duration whole) { return 100 * to_seconds(part) / to_seconds(whole); }

std::string bound_line(const PlanExplanation& e) {
  const double of_step = 100 * (e.bound.time / to_seconds(e.step));
  std::string text =
      fmt::format("bounded by   {}: {} of {}, {:.0f} % of the step", to_string(e.bound.by),
                  format_seconds(e.bound.time), format_seconds(to_seconds(e.step)), of_step);
  if (e.next_bound) {
    const Seconds next = e.bound.each[static_cast<std::size_t>(*e.next_bound)];
    text += fmt::format("; next {} with {}", to_string(*e.next_bound), format_seconds(next));
  }
  return text + "\n";
}

std::string waterfall_lines(const PlanExplanation& e) {
  constexpr double kWorthALine = 0.0005;
  const planner::Waterfall& fall = e.waterfall;
  const auto line = [&](const std::string& name, Duration time) {
    return fmt::format("  {:<24} {:>10} {:>6.1f} %\n", name, format_seconds(to_seconds(time)),
                       share(time, e.step));
  };
  std::string text = "waterfall\n";
  text += line(std::string("bound by ") + to_string(e.bound.by), fall.bound);
  Duration small{0};
  for (std::size_t i = 0; i < planner::kWaterfallTerms; ++i) {
    const auto term = static_cast<planner::WaterfallTerm>(i);
    const Duration time = fall.at(term);
    if (std::abs(to_seconds(time).count()) < kWorthALine * to_seconds(e.step).count()) {
      small += time;
    } else {
      text += line(std::string("+ ") + label_above(term), time);
    }
  }
  if (small.count() != 0) text += line("+ all else", small);
  return text + line("= step", e.step);
}

std::string relief_text(const Relief& relief, Duration step) {
  return fmt::format("{}{:+.1f} %", relief.coarse ? "about " : "",
                     -share(step - relief.step, step));
}

/// The interval of a relief's step over the explained one, as a change in percent.
std::string interval_text(const Relief& relief) {
  if (!relief.ratio) return "";
  return fmt::format("; 90 %: {:+.1f} to {:+.1f} %", 100 * (relief.ratio->low - 1),
                     100 * (relief.ratio->high - 1));
}

std::string others_text(const PlanExplanation& e, const Relief& first) {
  constexpr double kShown = 0.05;  // Smallest share shown, in percent; smaller ones round to zero.
  std::string felt, rest;
  for (const Relief& relief : e.reliefs) {
    if (&relief == &first) continue;
    if (std::abs(share(e.step - relief.step, e.step)) >= kShown) {
      felt += (felt.empty() ? "" : ", ") + relief.resource + " " + relief_text(relief, e.step);
    } else {
      rest += (rest.empty() ? "" : ", ") + relief.resource;
    }
  }
  if (!rest.empty()) rest += " no change";
  return "             10 % more of " + felt + (felt.empty() || rest.empty() ? "" : "; ") + rest +
         "\n";
}

std::string relief_lines(const PlanExplanation& e) {
  const Relief* first = e.first();
  std::string text = "relax first  ";
  if (first == nullptr) {
    text += "nothing: 10 % more of any one resource takes less than 0.5 % off the step\n";
  } else {
    text += fmt::format("{}: 10 % more, {} of the step ({}{})\n", meaning(first->resource),
                        relief_text(*first, e.step), format_seconds(to_seconds(first->step)),
                        interval_text(*first));
    text += others_text(e, *first);
  }
  if (!e.next) return text;
  const planner::NextBottleneck& next = *e.next;
  text +=
      fmt::format("then         with {:.0f} times the {} the step takes {}; ", next.relieved.factor,
                  meaning(next.relieved.resource), format_seconds(to_seconds(next.relieved.step)));
  if (next.resource.empty()) {
    return text + "no single resource limits it then\n";
  }
  return text + fmt::format("{} {}limits it then (10 % more: {})\n", meaning(next.resource),
                            next.resource == next.relieved.resource ? "still " : "",
                            fmt::format("{:+.1f} %", -share(next.relieved.step - next.step,
                                                            next.relieved.step)));
}

std::string left_out_line(const PlanExplanation& e) {
  std::string text;
  for (const std::string& what : e.left_out) text += (text.empty() ? "" : ", ") + what;
  return text.empty() ? "" : "left out     for lack of time: " + text + "\n";
}

}  // namespace

std::string explanation_table(const PlanExplanation& e) {
  return bound_line(e) + waterfall_lines(e) + relief_lines(e) + left_out_line(e);
}

}  // namespace sluice::cli
