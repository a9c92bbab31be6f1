#include "profiler/ablation/ablation_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "planner/files/hash.hpp"
#include "profiler/ablation/ablation_files.hpp"
#include "profiler/report/page.hpp"
#include "profiler/report/report.hpp"
#include "sim/version.hpp"

namespace sluice::profiler {
namespace {

using sim::Json;

Json samples_of(const CellResult& cell) {
  std::vector<double> all;
  for (const Seconds step : cell.all_steps()) all.push_back(step.count());
  const std::vector<bool> apart = outliers(all);
  Json samples = Json::array();
  std::size_t at = 0;
  for (const CellSample& sample : cell.samples) {
    Json steps = Json::array();
    Json marks = Json::array();
    for (const Seconds step : sample.steps) {
      steps.push_back(step.count());
      marks.push_back(apart[at++] ? 1 : 0);
    }
    samples.push_back({{"repeat", sample.repeat},
                       {"order", sample.order},
                       {"steps_s", std::move(steps)},
                       {"apart", std::move(marks)}});
  }
  return samples;
}

Json cell_json(const CellResult& cell, const Experiment& experiment) {
  Json json = {{"name", cell.name},
               {"levels", cell.levels},
               {"status", to_string(cell.status)},
               {"fits", cell.status == CellStatus::fits && cell.prediction.has_value()},
               {"reason", cell.reason},
               {"plan", cell.plan},
               {"samples", samples_of(cell)},
               {"measured", nullptr},
               {"parts", nullptr},
               {"bound_by", ""},
               {"limited_by", ""}};
  if (const auto& p = cell.prediction) {
    json["step_s"] = p->step.count();
    json["low_s"] = p->low.count();
    json["high_s"] = p->high.count();
    json["tokens_per_s"] = p->tokens_per_s;
    json["bound_s"] = p->bound.count();
    json["bound_by"] = p->bound_by;
    json["limited_by"] = p->limited_by;
    json["hbm_bytes"] = p->hbm.count();
    json["host_bytes"] = p->host.count();
    const Json whole = Json::parse(p->json);
    json["parts"] = whole.at("stalls");
    json["parts"]["compute"] = whole.at("compute_s");
  }
  if (const auto measured = measured_of(cell, experiment)) {
    json["measured"] = {
        {"median_s", measured->median}, {"low_s", measured->low}, {"high_s", measured->high}};
  }
  return json;
}

Json experiment_json(const Experiment& experiment) {
  Json factors = Json::array();
  for (const Factor& factor : experiment.factors) {
    Json levels = Json::array();
    for (const Level& level : factor.levels) levels.push_back(level.name);
    factors.push_back({{"name", factor.name}, {"levels", std::move(levels)}});
  }
  return {{"design", to_string(experiment.design)}, {"on", to_string(experiment.on)},
          {"repeats", experiment.repeats},          {"steps", experiment.steps},
          {"factors", std::move(factors)},          {"yaml", to_yaml(experiment)}};
}

/// The cells of a profile as ", cell 3" or ", cell 3 and 4 more"; empty where all cells use it.
std::string whose(const CellProfile& profile, std::size_t cells) {
  if (profile.cells.size() == cells) return "";
  const std::string first = fmt::format(", cell {}", profile.cells.front() + 1);
  const std::size_t more = profile.cells.size() - 1;
  return more == 0 ? first : first + fmt::format(" and {} more", more);
}

}  // namespace

std::string ablation_report(const Experiment& experiment,
                            const std::vector<std::optional<CellResult>>& cells) {
  Json page = {{"kind", "ablate"},
               {"title", experiment.question.empty() ? experiment.name : experiment.question},
               {"experiment", experiment_json(experiment)},
               {"cells", Json::array()}};
  for (const auto& cell : cells) page["cells"].push_back(cell_json(*cell, experiment));
  const std::string how =
      experiment.on == Ground::device
          ? fmt::format("predicted, then run: {} repeats of {} steps after {} of warm-up",
                        experiment.repeats, experiment.steps, experiment.warm_up)
          : std::string("predicted");
  page["subtitle"] = fmt::format("{}: {} cells, {}", experiment.name, cells.size(), how);
  Provenance provenance = {{"program", std::string(version())},
                           {"commit", std::string(commit())},
                           {"experiment", planner::sha256_hex(to_yaml(experiment))},
                           {"seed", std::to_string(experiment.seed)}};
  for (const CellProfile& profile : profiles_of(cells)) {
    provenance.emplace_back("profile of " + profile.machine + whose(profile, cells.size()),
                            profile.hash);
  }
  page["provenance"] = to_json(provenance);
  return page_html(page);
}

}  // namespace sluice::profiler
