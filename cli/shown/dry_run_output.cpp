#include "cli/shown/dry_run_output.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "sim/units_text.hpp"

namespace sluice::cli {
namespace {

using nlohmann::ordered_json;

std::filesystem::path folder_of(const planner::RunConfig& config) {
  return config.out.value_or("runs");
}

ordered_json memory_json(const planner::Memory& memory) {
  ordered_json out;
  for (const planner::Tier tier : {planner::Tier::hbm, planner::Tier::host, planner::Tier::disk}) {
    const planner::TierMemory& each = at(memory, tier);
    out[to_string(tier)] = {{"peak_bytes", each.peak.count()},
                            {"capacity_bytes", each.capacity.count()}};
  }
  return out;
}

}  // namespace

std::optional<Bytes> free_disk(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path there = std::filesystem::absolute(path, error);
  while (!std::filesystem::exists(there, error) && there.has_relative_path()) {
    there = there.parent_path();
  }
  const auto space = std::filesystem::space(there, error);
  if (error) return std::nullopt;
  return Bytes(static_cast<std::int64_t>(space.available));
}

std::string times_table(const planner::RunConfig& config, const profiler::RunTimes& times,
                        std::int64_t first_step) {
  return fmt::format(
      "run          {} of {} steps in {}: training {}, {} evaluations {}{}\n",
      config.steps - first_step, config.steps, planner::format_seconds(times.all()),
      planner::format_seconds(times.training), times.evaluations,
      planner::format_seconds(times.evaluation),
      times.saving > Seconds(0) ? ", checkpoints " + planner::format_seconds(times.saving) : "");
}

std::string saving_table(const planner::RunConfig& config, const planner::SavingPlan& saving) {
  std::string text = fmt::format("checkpoints  {} each", planner::format_bytes(saving.checkpoint));
  if (saving.saves == 0) {
    text += fmt::format(", one at the end in {}", planner::format_seconds(saving.write));
  } else if (saving.background()) {
    text += fmt::format(
        ", every {} steps from a snapshot of {} in host memory: training stands still for {}, the "
        "disk has it after {}",
        config.save_every, planner::format_bytes(saving.snapshot),
        planner::format_seconds(saving.stall), planner::format_seconds(saving.write));
  } else {
    text +=
        fmt::format(", every {} steps: host memory holds no snapshot, training stands still for {}",
                    config.save_every, planner::format_seconds(saving.stall));
  }
  text += fmt::format("; up to {} of disk", planner::format_bytes(saving.disk));
  if (const auto free = free_disk(folder_of(config))) {
    text += fmt::format(" ({} free{})", planner::format_bytes(*free),
                        *free < saving.disk ? ": saves will fail, lower keep_last" : "");
  }
  return text + "\n";
}

std::string dry_run_json(const planner::RunConfig& config, const planner::Job& job,
                         const planner::ChosenPlan& plan, const planner::SavingPlan& saving,
                         const profiler::RunTimes& times, std::int64_t first_step,
                         const std::optional<profiler::PackingAdvice>& advice) {
  const planner::Prediction& prediction = plan.step().prediction;
  ordered_json out;
  out["fits"] = true;
  out["steps"] = config.steps;
  out["first_step"] = first_step + 1;
  out["tokens"] = (config.steps - first_step) * job.tokens();
  out["step_s"] = to_seconds(prediction.step).count();
  out["step_s_low"] = prediction.step_low.count();
  out["step_s_high"] = prediction.step_high.count();
  out["tokens_per_s"] = prediction.tokens_per_s;
  out["eta_s"] = times.all().count();
  out["training_s"] = times.training.count();
  out["evaluations"] = times.evaluations;
  out["evaluation_s"] = times.evaluation.count();
  out["memory"] = memory_json(prediction.memory);
  const auto free = free_disk(folder_of(config));
  out["checkpoints"] = {{"bytes", saving.checkpoint.count()},
                        {"during", saving.saves},
                        {"kept", saving.kept},
                        {"background", saving.background()},
                        {"snapshot_bytes", saving.snapshot.count()},
                        {"stall_s", saving.stall.count()},
                        {"write_s", saving.write.count()},
                        {"all_s", times.saving.count()},
                        {"disk_bytes", saving.disk.count()},
                        {"disk_free_bytes", free ? ordered_json(free->count()) : nullptr}};
  if (advice) {
    out["padding"] = {{"share", advice->padding},
                      {"sequences", advice->sequences},
                      {"packed_sequences", advice->packed_sequences},
                      {"packed_steps", advice->packed_steps},
                      {"packed_s", advice->packed_time.count()}};
  }
  out["plan_source"] = to_string(plan.source);
  out["plan_hash"] = prediction.plan_hash;
  out["job_hash"] = prediction.job_hash;
  out["profile_hash"] = prediction.profile_hash;
  out["numerics_id"] = prediction.numerics_id;
  return out.dump(2) + "\n";
}

}  // namespace sluice::cli
