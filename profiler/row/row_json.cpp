#include <nlohmann/json.hpp>

#include "profiler/doctor/nvidia.hpp"
#include "profiler/row/row.hpp"

namespace sluice::profiler {
namespace {

using nlohmann::ordered_json;

ordered_json waterfall_object(const planner::Waterfall& fall) {
  return ordered_json::parse(planner::waterfall_json(fall));
}

ordered_json optional_bytes(std::optional<Bytes> bytes) {
  return bytes ? ordered_json(bytes->count()) : ordered_json(nullptr);
}

ordered_json predicted_object(const PromisedRow& row) {
  const planner::Prediction& p = row.step.prediction;
  return {{"step_s", row.predicted().count()},
          {"step_s_low", p.step_low.count()},
          {"step_s_high", p.step_high.count()},
          {"tokens_per_s", p.tokens_per_s},
          {"hbm_bytes", at(p.memory, planner::Tier::hbm).peak.count()},
          {"host_bytes", at(p.memory, planner::Tier::host).peak.count()},
          {"device_arena_bytes", row.step.graph.layout.device_bytes.count()},
          {"host_arena_bytes", row.step.graph.layout.host_bytes.count()},
          {"plan_hash", p.plan_hash},
          {"job_hash", p.job_hash},
          {"profile_hash", p.profile_hash},
          {"cost_model_hash", p.cost_model_hash},
          {"numerics_id", p.numerics_id},
          {"waterfall", waterfall_object(row.waterfall)}};
}

ordered_json measured_object(const PromisedRow& row, const MeasuredRow& measured) {
  ordered_json out = {{"step_s", measured.median.count()},
                      {"step_s_fastest", measured.fastest.count()},
                      {"step_s_slowest", measured.slowest.count()},
                      {"tokens_per_s", row.tokens_per_s(measured.median)},
                      {"bound_ratio", measured.median / row.ceilings.bound.time},
                      {"steps_s", ordered_json::array()},
                      {"ready_s", measured.ready.count()},
                      {"hbm_in_use_bytes", optional_bytes(measured.hbm_in_use)},
                      {"hbm_total_less_free_bytes", optional_bytes(measured.hbm_of_all)},
                      {"loss_first", measured.first_loss},
                      {"loss_last", measured.last_loss},
                      {"ledger_line", measured.promise},
                      {"waterfall", waterfall_object(measured.waterfall)}};
  for (const Seconds step : measured.steps) out["steps_s"].push_back(step.count());
  return out;
}

ordered_json bound_object(const planner::Ceilings& ceilings) {
  ordered_json each = ordered_json::object();
  for (std::size_t i = 0; i < planner::kBounds; ++i) {
    each[to_string(static_cast<planner::BoundBy>(i))] = ceilings.bound.each[i].count();
  }
  return {{"bound_s", ceilings.bound.time.count()},
          {"bound_by", to_string(ceilings.bound.by)},
          {"each_s", std::move(each)},
          {"products_s", ceilings.products.count()},
          {"attention_s", ceilings.attention.count()},
          {"element_wise_s", ceilings.element_wise.count()}};
}

ordered_json tasks_array(const std::vector<TaskMean>& tasks) {
  ordered_json out = ordered_json::array();
  for (const TaskMean& task : tasks) {
    out.push_back({{"name", task.name},
                   {"lane", to_string(task.lane)},
                   {"count", task.count},
                   {"predicted_s", task.predicted.count()},
                   {"measured_s", task.measured.count()},
                   {"ceiling_s", task.ceiling.count()},
                   {"bytes", task.bytes.count()},
                   {"flop", task.flops},
                   {"parameters", task.parameters}});
  }
  return out;
}

}  // namespace

std::string row_json(const PromisedRow& row, const MeasuredRow& measured) {
  ordered_json out = {{"schema", "sluice/row/1"},
                      {"name", row.request.name},
                      {"model", row.job.model.name},
                      {"seq_len", row.job.seq_len},
                      {"batch_size", row.job.batch_size},
                      {"micro_batch", row.job.micro_batch},
                      {"tokens", row.job.tokens()},
                      {"residency", to_string(row.request.config.residency)},
                      {"machine", row.machine.profile.name},
                      {"commit", row.request.commit},
                      {"warm_up", row.request.warm_up},
                      {"gpu", nullptr},
                      {"driver", nullptr}};
  const bool cuda = row.machine.profile.device == planner::DeviceKind::cuda;
  if (const auto driver = cuda ? ask_nvidia_driver() : std::nullopt) {
    if (!driver->gpus.empty()) out["gpu"] = driver->gpus.front().name;
    if (driver->version) out["driver"] = *driver->version;
  }
  out["bound"] = bound_object(row.ceilings);
  out["predicted"] = predicted_object(row);
  out["measured"] = measured_object(row, measured);
  out["tasks"] = tasks_array(measured.tasks);
  return out.dump(2) + "\n";
}

}  // namespace sluice::profiler
