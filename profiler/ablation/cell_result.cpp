#include "profiler/ablation/cell_result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "planner/catalogue/store.hpp"
#include "planner/files/choice.hpp"
#include "planner/files/whole_file.hpp"
#include "planner/plans/plan_choices.hpp"
#include "planner/requests/prediction_json.hpp"
#include "sim/json_object.hpp"
#include "sim/units_text.hpp"

namespace sluice::profiler {
namespace {

using sim::Json;
using sim::JsonObject;

constexpr const char* kCellSchema = "sluice/ablation-cell/1";

Json sample_json(const CellSample& sample) {
  Json steps = Json::array();
  for (const Seconds step : sample.steps) steps.push_back(step.count());
  Json json = {{"repeat", sample.repeat}, {"order", sample.order}, {"steps_s", steps}};
  if (sample.gpu) {
    json["gpu"] = {{"clock_hz", sample.gpu->clock},
                   {"power_w", sample.gpu->power},
                   {"temperature_c", sample.gpu->temperature}};
  }
  return json;
}

CellSample sample_from(const JsonObject& json) {
  CellSample sample{.repeat = json.integer("repeat"), .order = json.integer("order"), .steps = {}};
  for (const double step : json.numbers("steps_s")) sample.steps.emplace_back(step);
  if (const auto gpu = json.find_object("gpu")) {
    sample.gpu = engine::GpuReading{.temperature = gpu->number("temperature_c"),
                                    .power = gpu->number("power_w"),
                                    .clock = gpu->number("clock_hz")};
  }
  return sample;
}

CellPrediction prediction_from(const JsonObject& json) {
  const JsonObject memory = json.object("memory");
  const auto errors = json.find_object("errors");
  return {.step = Seconds(json.number("step_s")),
          .low = Seconds(json.number("step_s_low")),
          .high = Seconds(json.number("step_s_high")),
          .tokens_per_s = json.number("tokens_per_s"),
          .model_tflops = json.number("model_tflops"),
          .mfu = json.find_number("mfu"),
          .bound = Seconds(json.number("bound_s")),
          .bound_by = json.text("bound_by"),
          .limited_by = json.find_text("limited_by").value_or(""),
          .hbm = Bytes(memory.object("hbm").integer("peak_bytes")),
          .host = Bytes(memory.object("host").integer("peak_bytes")),
          .plan_hash = json.text("plan_hash"),
          .job_hash = json.text("job_hash"),
          .cost_model_hash = json.text("cost_model_hash"),
          .errors = errors ? std::optional(planner::read_errors(*errors)) : std::nullopt,
          .json = sim::json_tree(json.json()).dump()};
}

CellResult result_of(const sim::JsonDocument& json, const std::string& where) {
  const JsonObject cell(json, where);
  if (cell.text("schema") != kCellSchema) {
    throw BadRequest(where + ": schema: is not " + kCellSchema);
  }
  CellResult result;
  result.hash = cell.text("hash");
  result.name = cell.text("name");
  result.levels = cell.texts("levels");
  result.status =
      planner::parse_choice(cell.text("status"), where + ": status",
                            {CellStatus::fits, CellStatus::does_not_fit, CellStatus::refused});
  result.reason = cell.text("reason");
  if (const auto tier = cell.find_text("tier")) {
    result.tier = planner::parse_tier(*tier, where + ": tier");
  }
  result.short_by = Bytes(cell.integer("short_bytes"));
  result.machine = cell.text("machine");
  result.profile_hash = cell.text("profile_hash");
  result.plan = cell.text("plan");
  result.optimality_gap = cell.find_number("optimality_gap");
  if (const auto prediction = cell.find_object("prediction")) {
    result.prediction = prediction_from(*prediction);
  }
  result.ledger_line = cell.text("ledger_line");
  for (const JsonObject& sample : cell.objects("samples")) {
    result.samples.push_back(sample_from(sample));
  }
  return result;
}

}  // namespace

std::vector<Seconds> CellResult::all_steps() const {
  std::vector<Seconds> all;
  for (const CellSample& sample : samples) {
    all.insert(all.end(), sample.steps.begin(), sample.steps.end());
  }
  return all;
}

std::string CellResult::outcome() const {
  if (status != CellStatus::fits) return reason;
  return "predicted " + planner::format_seconds(prediction->step);
}

CellPrediction to_cell_prediction(const planner::Prediction& prediction) {
  const std::string where = "prediction";
  Json whole = planner::prediction_json(prediction);
  whole["errors"] = planner::errors_json(prediction.errors);
  const sim::JsonDocument json = sim::parse_json(whole.dump(), where);
  return prediction_from(JsonObject(json, where));
}

std::vector<CellProfile> profiles_of(const std::vector<std::optional<CellResult>>& cells) {
  std::vector<CellProfile> profiles;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const CellResult& cell = *cells[i];
    if (cell.machine.empty()) continue;
    auto known = std::ranges::find_if(profiles, [&cell](const CellProfile& profile) {
      return profile.machine == cell.machine && profile.hash == cell.profile_hash;
    });
    if (known == profiles.end()) {
      known = profiles.insert(known, {cell.machine, cell.profile_hash, {}});
    }
    known->cells.push_back(i);
  }
  return profiles;
}

std::filesystem::path cell_file(const std::filesystem::path& folder, std::size_t index) {
  return folder / "cells" / fmt::format("{:04}.json", index);
}

std::string to_json_text(const CellResult& result) {
  Json json = {{"schema", kCellSchema},
               {"hash", result.hash},
               {"name", result.name},
               {"levels", result.levels},
               {"status", to_string(result.status)},
               {"reason", result.reason},
               {"tier", result.tier ? Json(to_string(*result.tier)) : Json()},
               {"short_bytes", result.short_by.count()},
               {"machine", result.machine},
               {"profile_hash", result.profile_hash},
               {"plan", result.plan},
               {"optimality_gap", result.optimality_gap ? Json(*result.optimality_gap) : Json()},
               {"prediction", result.prediction ? Json::parse(result.prediction->json) : Json()},
               {"ledger_line", result.ledger_line},
               {"samples", Json::array()}};
  for (const CellSample& sample : result.samples) json["samples"].push_back(sample_json(sample));
  return json.dump(1) + "\n";
}

void write_cell(const std::filesystem::path& file, const CellResult& result) {
  planner::write_whole_file(file, to_json_text(result));
}

std::optional<CellResult> read_cell(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return std::nullopt;
  const std::string text = planner::read_whole_file(file);
  try {
    return result_of(sim::parse_json(text, file.string()), file.string());
  } catch (const BadRequest& error) {
    throw BadRequest(std::string(error.what()) + ": remove the file, and its cell is done again");
  }
}

const char* to_string(CellStatus status) {
  switch (status) {
    case CellStatus::fits:
      return "fits";
    case CellStatus::does_not_fit:
      return "does not fit";
    case CellStatus::refused:
      break;
  }
  return "refused";
}

}  // namespace sluice::profiler
