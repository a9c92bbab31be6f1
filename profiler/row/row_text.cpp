#include <fmt/format.h>

#include "profiler/row/row.hpp"
#include "sim/units_text.hpp"

namespace sluice::profiler {
namespace {

using planner::format_bytes;

double gib(Bytes bytes) { return static_cast<double>(bytes.count()) / (1ll << 30); }

std::string choices(const planner::UnitPlan& unit, bool block) {
  std::string text =
      fmt::format("weights {}, gradients {}, state {}, optimizer {} {}", to_string(unit.weights),
                  to_string(unit.gradients), to_string(unit.state), to_string(unit.executor),
                  to_string(unit.when));
  if (block)
    text += fmt::format(", keeps {} in {}", to_string(unit.keep), to_string(unit.keep_tier));
  return text;
}

/// The plan in words, with neighbours of equal kind and choices on one line.
std::string plan_text(const planner::Plan& plan, const planner::Job& job) {
  std::string text = fmt::format(
      "plan: {} rounds of {} micro-batches of {}, {} weight buffers (prefetch {}), {} gradient "
      "buffers, {} activation buffers, copies of {}, {} optimizer threads\n",
      plan.rounds, plan.micro_batches_per_round, job.micro_batch, plan.weight_buffers,
      plan.prefetch_depth, plan.gradient_buffers, plan.activation_buffers,
      plan.copy_chunk.count() == 0 ? "whole tensors" : format_bytes(plan.copy_chunk), plan.threads);
  for (std::size_t first = 0; first < plan.units.size();) {
    const bool block = unit_at(job.model, first).kind == planner::UnitKind::block;
    std::size_t end = first + 1;
    while (end < plan.units.size() && plan.units[end] == plan.units[first] &&
           unit_at(job.model, end).kind == unit_at(job.model, first).kind) {
      ++end;
    }
    text += fmt::format("  {:>3} x {:<10} {}\n", end - first, unit_name(job.model, first),
                        choices(plan.units[first], block));
    first = end;
  }
  return text;
}

std::string bound_text(const PromisedRow& row) {
  const planner::Ceilings& top = row.ceilings;
  std::string text =
      fmt::format("bound of the machine: {:.4f} s by {}, {:.0f} tokens/s;", top.bound.time.count(),
                  to_string(top.bound.by), row.tokens_per_s(top.bound.time));
  for (std::size_t i = 0; i < planner::kBounds; ++i) {
    if (top.bound.each[i].count() <= 0) continue;
    text += fmt::format(" {} {:.4f} s", to_string(static_cast<planner::BoundBy>(i)),
                        top.bound.each[i].count());
  }
  return text + fmt::format(
                    "\n  compute: products {:.4f} s, attention {:.4f} s, element-wise "
                    "{:.4f} s\n",
                    top.products.count(), top.attention.count(), top.element_wise.count());
}

std::string hbm_text(const PromisedRow& row, const MeasuredRow& measured) {
  const Bytes predicted = at(row.step.prediction.memory, planner::Tier::hbm).peak;
  if (!measured.hbm_in_use) {
    return fmt::format("hbm: predicted {:.3f} GiB; the driver was not asked or did not say\n",
                       gib(predicted));
  }
  std::string text = fmt::format(
      "hbm: predicted {:.3f} GiB, in use {:.3f} GiB as the driver reports it, ratio {:.4f}; "
      "besides the arena {:.3f} GiB",
      gib(predicted), gib(*measured.hbm_in_use), *measured.hbm_in_use / predicted,
      gib(*measured.hbm_in_use - row.step.graph.layout.device_bytes));
  if (measured.hbm_of_all)
    text += fmt::format("; total less free {:.3f} GiB", gib(*measured.hbm_of_all));
  return text + "\n";
}

}  // namespace

std::string promise_text(const PromisedRow& row) {
  const planner::Prediction& p = row.step.prediction;
  const planner::Memory& memory = p.memory;
  std::string text =
      fmt::format("row {}: {} on {}, {} sequences of {} tokens a step, residency {}\n",
                  row.request.name, row.job.model.name, row.machine.profile.name,
                  row.job.batch_size, row.job.seq_len, to_string(row.request.config.residency));
  text +=
      fmt::format("predicted: {:.4f} s ({:.4f} to {:.4f}), {:.0f} tokens/s\n",
                  row.predicted().count(), p.step_low.count(), p.step_high.count(), p.tokens_per_s);
  text += bound_text(row);
  text += plan_text(p.plan, row.job);
  text += fmt::format(
      "arenas: device {:.3f} GiB, host {:.3f} GiB; hbm {:.3f} GiB of {:.3f}, host "
      "memory {:.3f} GiB of {:.3f}\n",
      gib(row.step.graph.layout.device_bytes), gib(row.step.graph.layout.host_bytes),
      gib(at(memory, planner::Tier::hbm).peak), gib(at(memory, planner::Tier::hbm).capacity),
      gib(at(memory, planner::Tier::host).peak), gib(at(memory, planner::Tier::host).capacity));
  return text;
}

std::string row_text(const PromisedRow& row, const MeasuredRow& measured) {
  const planner::Prediction& p = row.step.prediction;
  std::string text = fmt::format(
      "ready after {:.1f} s\nmeasured: median {:.4f} s of {} steps ({:.4f} to {:.4f}), {:.0f} "
      "tokens/s ({:.0f} to {:.0f}); predicted {:+.1f} %\n",
      measured.ready.count(), measured.median.count(), measured.steps.size(),
      measured.fastest.count(), measured.slowest.count(), row.tokens_per_s(measured.median),
      row.tokens_per_s(measured.slowest), row.tokens_per_s(measured.fastest),
      100 * (row.predicted() / measured.median - 1));
  text += fmt::format("bound ratio: predicted {:.3f}, measured {:.3f}; {} of the model",
                      row.predicted() / row.ceilings.bound.time,
                      measured.median / row.ceilings.bound.time,
                      planner::format_rate(p.model_flops * (row.predicted() / measured.median)));
  if (p.mfu)
    text += fmt::format(", MFU {:.1f} %", 100 * *p.mfu * (row.predicted() / measured.median));
  text += "\n" + hbm_text(row, measured);
  text += fmt::format("loss: first {:.6f}, last {:.6f}\nledger: {}\n", measured.first_loss,
                      measured.last_loss, measured.promise);
  text +=
      planner::waterfall_table({{"predicted", row.waterfall}, {"measured", measured.waterfall}});
  return text + task_means_table(measured.tasks);
}

}  // namespace sluice::profiler
