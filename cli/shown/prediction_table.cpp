#include "cli/shown/prediction_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>

#include "planner/predictions/limited_by.hpp"
#include "sim/units_text.hpp"

namespace sluice::cli {
namespace {

using planner::Plan;
using planner::Prediction;
using planner::Tier;
using planner::UnitPlan;

std::string units_text(const UnitPlan& unit, bool block) {
  std::string text = fmt::format(
      "weights {}{}, gradients {}, state {}, optimizer on {} {}", to_string(unit.weights),
      unit.resident == planner::Extent::slice ? " in slices" : "", to_string(unit.gradients),
      to_string(unit.state), to_string(unit.executor),
      unit.when == planner::When::after ? "after the step"
                                        : std::string("under ") + to_string(unit.when));
  if (block)
    text += fmt::format("; keeps {} in {}", to_string(unit.keep), to_string(unit.keep_tier));
  return text;
}

/// A count with its noun, such as "1 round" or "2 rounds".
std::string counted(std::int64_t count, const char* noun, const char* plural = "s") {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : plural);
}

std::string stalls_line(const Prediction& p) {
  std::string text;
  for (std::size_t i = 0; i < planner::kStalls; ++i) {
    const Seconds time = to_seconds(p.stalls.idle[i]);
    if (time.count() <= 0.0005 * to_seconds(p.step).count()) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", to_string(planner::Stall(i)),
                        planner::format_seconds(time));
  }
  return text.empty() ? "nothing" : text;
}

/// The state that the optimizer keeps, in words; empty for fp32.
std::string state_line(const planner::Job& job) {
  switch (job.optimizer.state) {
    case planner::StateType::fp32:
      return "";
    case planner::StateType::bf16:
      return "fp32 masters, m and v in bf16 (8 bytes a parameter)";
    case planner::StateType::int8:
      return "fp32 masters, m and v in 8 bits (6 bytes a parameter)";
    case planner::StateType::bf16_weights:
      return "predicted only, training keeps fp32 masters";
  }
  return "";
}

}  // namespace

std::string memory_table(const planner::Memory& memory) {
  std::string text = "memory       peak        of\n";
  for (const Tier tier : {Tier::hbm, Tier::host}) {
    const planner::TierMemory& used = at(memory, tier);
    text += fmt::format("  {:<9} {:>11} {:>11}{}\n", to_string(tier),
                        planner::format_bytes(used.peak), planner::format_bytes(used.capacity),
                        used.fits() ? "" : "   short by " + planner::format_bytes(used.missing()));
    for (const auto& [part, bytes] : used.parts) {
      text += fmt::format("    {:<11} {:>11}\n", part, planner::format_bytes(bytes));
    }
  }
  return text;
}

std::string prediction_table(const Prediction& p, const planner::Job& job,
                             const std::string& machine) {
  std::string text =
      fmt::format("{} ({} parameters) on {}: {} sequences of {} tokens a step, {} at a time\n\n",
                  job.model.name, planner::format_amount(static_cast<double>(p.parameters)),
                  p.plan.ranks == 1 ? machine : counted(p.plan.ranks, "GPU") + " of " + machine,
                  job.batch_size, job.seq_len, job.micro_batch);
  text += fmt::format("step         {}  (90 %: {} to {})\n",
                      planner::format_seconds(to_seconds(p.step)),
                      planner::format_seconds(p.step_low), planner::format_seconds(p.step_high));
  if (!p.cycle.empty()) {
    std::string turns;
    for (const Duration step : p.cycle) {
      turns += (turns.empty() ? "" : ", ") + planner::format_seconds(to_seconds(step));
    }
    text += fmt::format("steps        take turns: {}; the step is their mean\n", turns);
  }
  text += fmt::format("throughput   {:.0f} tokens/s, {}", p.tokens_per_s,
                      planner::format_rate(p.model_flops));
  if (p.mfu) text += fmt::format(", MFU {:.1f} %", 100 * *p.mfu);
  text +=
      fmt::format("\nbound        {} by {}; the step takes {:.2f} times that",
                  planner::format_seconds(p.bound.time), to_string(p.bound.by), p.bound_ratio());
  const auto [lane, share] = planner::limited_by(p);
  if (lane != to_string(p.bound.by)) {
    text += fmt::format(", limited by {}, busy {:.0f} % of it", lane, 100 * share);
  }
  text += "\n";
  text += fmt::format("compute      {}; waits for {}\n",
                      planner::format_seconds(to_seconds(p.stalls.compute)), stalls_line(p));
  text += "busy        ";
  for (const auto& [name, part] : p.busy) text += fmt::format(" {} {:.0f} %", name, 100 * part);
  text +=
      fmt::format("\nevidence     {:.0f} % measured, {:.0f} % fitted, {:.0f} % datasheet\n",
                  100 * p.evidence.measured, 100 * p.evidence.fitted, 100 * p.evidence.datasheet);
  const std::vector<std::string> off = planner::terms_off(p.terms);
  if (!off.empty()) text += fmt::format("model        without {}\n", fmt::join(off, ", "));
  if (planner::is_fp8(job.compute)) {
    text += fmt::format(
        "products     FP8 in {:.0f} of {} blocks (compute {}); MFU is of the bf16 peak\n",
        job.fp8_share() * static_cast<double>(job.model.layers), job.model.layers,
        to_string(job.compute));
  }
  if (const std::string state = state_line(job); !state.empty()) {
    text += fmt::format("state        {}: {}\n", to_string(job.optimizer.state), state);
  }
  if (job.optimizer.kind == planner::OptimizerKind::muon) {
    text += "optimizer    Muon for the matrices of blocks, AdamW for the rest\n";
  }
  text += memory_table(p.memory);
  return text;
}

std::string plan_table(const Plan& plan, const planner::Job& job) {
  std::string text = fmt::format(
      "plan         {}{} (prefetch {}), {}, {} of {},\n             copies of {}, {}\n",
      plan.ranks == 1 ? "" : counted(plan.ranks, "GPU") + ", each with ",
      counted(plan.weight_buffers, "weight buffer"), plan.prefetch_depth,
      counted(plan.gradient_buffers, "gradient buffer"), counted(plan.rounds, "round"),
      counted(plan.micro_batches_per_round, "micro-batch", "es"),
      plan.copy_chunk.count() == 0 ? "whole tensors" : planner::format_bytes(plan.copy_chunk),
      counted(plan.threads, "optimizer thread"));
  if (plan.gather == planner::Gather::host) {
    text +=
        fmt::format("             weights in host memory are copied whole by every GPU, from {}\n",
                    plan.hosts == 1 ? "one copy" : "a copy on each host, renewed once a step");
  }
  for (std::size_t first = 0; first < plan.units.size();) {
    std::size_t last = first;
    while (last + 1 < plan.units.size() && plan.units[last + 1] == plan.units[first] &&
           unit_at(job.model, last + 1).kind == unit_at(job.model, first).kind) {
      ++last;
    }
    std::string name = unit_name(job.model, first);
    if (last > first) name += ".." + unit_name(job.model, last);
    const bool block = unit_at(job.model, first).kind == planner::UnitKind::block;
    text += fmt::format("  {:<10} {}\n", name, units_text(plan.units[first], block));
    first = last + 1;
  }
  return text;
}

std::string remedies_table(const std::vector<planner::Remedy>& remedies) {
  if (remedies.empty()) return "no single change of memory or sizes makes it fit\n";
  std::string text = "it fits with any of\n";
  for (const planner::Remedy& remedy : remedies) {
    text += fmt::format("  {:<28} {}: {} a step{}\n", remedy.setting, remedy.what,
                        planner::format_seconds(to_seconds(remedy.step)),
                        remedy.changes_bits ? " (another job: its bits differ)" : "");
  }
  return text;
}

std::string infeasible_table(const planner::Infeasible& infeasible) {
  return fmt::format("does not fit: {} is short by {} even with the plan of least memory\n",
                     to_string(infeasible.tier), planner::format_bytes(infeasible.short_by)) +
         memory_table(infeasible.memory) + remedies_table(infeasible.remedies);
}

void print(const std::string& text) { std::fputs(text.c_str(), stdout); }

}  // namespace sluice::cli
