#include "profiler/ablation/ablation_files.hpp"

#include <fmt/format.h>
#include <gnu/libc-version.h>

#include <algorithm>
#include <boost/version.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "planner/catalogue/store.hpp"
#include "planner/costs/calibration.hpp"
#include "planner/files/hash.hpp"
#include "planner/files/whole_file.hpp"
#include "profiler/ablation/ablation_report.hpp"
#include "profiler/ablation/cell_columns.hpp"
#include "profiler/ablation/cell_ratio.hpp"
#include "profiler/doctor/doctor.hpp"
#include "sim/error.hpp"
#include "sim/json_object.hpp"
#include "sim/units_text.hpp"
#include "sim/version.hpp"

namespace sluice::profiler {
namespace {

using sim::Json;
using Cells = std::vector<std::optional<CellResult>>;

/// Versions of what the program was compiled with, and of the C library that it runs on.
Json packages() {
  return {{"compiler", __VERSION__},
          {"libc", gnu_get_libc_version()},
          {"boost", BOOST_LIB_VERSION},
          {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100,
                              FMT_VERSION % 100)},
          {"nlohmann_json", fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR,
                                        NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)}};
}

std::string manifest(const Experiment& experiment, const Cells& cells, const std::string& command) {
  Json machines = Json::object();
  Json profiles = Json::array();
  for (const CellProfile& profile : profiles_of(cells)) {
    if (!machines.contains(profile.machine)) machines[profile.machine] = profile.hash;
    profiles.push_back(
        {{"machine", profile.machine}, {"profile_hash", profile.hash}, {"cells", profile.cells}});
  }
  const std::string commit_name(commit());
  Json json = {{"schema", "sluice/ablation-manifest/1"},
               {"name", experiment.name},
               {"experiment_sha256", planner::sha256_hex(to_yaml(experiment))},
               {"command", command},
               {"program", std::string(version())},
               {"commit", commit_name},
               {"dirty", commit_name.ends_with("+")},
               {"written", planner::utc_now()},
               {"seed", experiment.seed},
               {"cells", cells.size()},
               {"machines", machines},
               {"profiles", profiles},
               {"packages", packages()}};
  if (experiment.on == Ground::device) {
    // The doctor's findings on the computer that finished the experiment: GPU, driver, libraries.
    // Clocks are in each sample.
    json["computer"] = Json::parse(
        findings_json(examine_machine({.runs = ".", .store = planner::Store::of_user().root()})));
  }
  return json.dump(1) + "\n";
}

/// The first lines that differ, as " has effort: 1 where this one has effort: 2".
std::string difference(const std::string& before, const std::string& now) {
  std::istringstream old_lines(before), new_lines(now);
  std::string old_line, new_line;
  do {
    if (!std::getline(old_lines, old_line)) old_line = "no more lines";
    if (!std::getline(new_lines, new_line)) new_line = "no more lines";
  } while (old_line == new_line && old_lines && new_lines);
  const auto trimmed = [](const std::string& line) {
    return line.substr(std::min(line.find_first_not_of(' '), line.size()));
  };
  return " has " + trimmed(old_line) + " where this one has " + trimmed(new_line);
}

}  // namespace

void begin_folder(const Experiment& experiment, const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / kExperimentFile;
  const std::string text = to_yaml(experiment);
  if (std::filesystem::exists(file)) {
    const std::string before = planner::read_whole_file(file);
    if (before != text) {
      throw BadRequest("--out: " + folder.string() +
                       " holds results of another experiment, or of other settings (its " +
                       std::string(kExperimentFile) + difference(before, text) +
                       "): name another folder, or remove it");
    }
  }
  planner::write_whole_file(file, text);
}

void write_results(const Experiment& experiment, const Cells& cells,
                   const std::filesystem::path& folder, const std::string& command) {
  planner::write_whole_file(folder / "cells.csv", cells_csv(experiment, cells));
  planner::write_whole_file(folder / "samples.csv", samples_csv(cells));
  planner::write_whole_file(folder / "table.md", ablation_table(experiment, cells));
  planner::write_whole_file(folder / "plot.svg", ablation_plot(experiment, cells));
  planner::write_whole_file(folder / "report.html", ablation_report(experiment, cells));
  planner::write_whole_file(folder / "manifest.json", manifest(experiment, cells, command));
}

Bytes bytes_of_results(const Experiment& experiment) {
  constexpr std::int64_t kManifest = 1024;
  const std::size_t texts = to_yaml(experiment).size() + ablation_report(experiment, {}).size();
  return Bytes(kManifest + static_cast<std::int64_t>(texts));
}

Bytes bytes_of_results(const CellResult& result, const Experiment& experiment) {
  // Bytes of a cell and of a step in tables, plot and page.
  constexpr std::int64_t kRows = 1600, kStep = 64;
  const std::int64_t steps =
      experiment.on == Ground::device ? experiment.repeats * experiment.steps : 0;
  return Bytes(kRows + static_cast<std::int64_t>(to_json_text(result).size()) + kStep * steps);
}

std::optional<MedianInterval> measured_of(const CellResult& result, const Experiment& experiment) {
  if (result.samples.empty()) return std::nullopt;
  std::vector<std::vector<double>> groups;
  groups.reserve(result.samples.size());
  for (const CellSample& sample : result.samples) {
    std::vector<double>& group = groups.emplace_back();
    group.reserve(sample.steps.size());
    for (const Seconds step : sample.steps) group.push_back(step.count());
  }
  return bootstrap_median(groups, static_cast<std::uint64_t>(experiment.seed));
}

std::string cells_csv(const Experiment& experiment, const Cells& cells) {
  std::string text = cell_header(experiment);
  if (cells.empty()) return text;
  const CellResult& first = first_that_fits(cells);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const CellResult& cell = *cells[i];
    text += std::to_string(i);
    for (const std::string& level : cell.levels) text += "," + csv_field(level);
    text += fmt::format(",{},{},{},{},{}", to_string(cell.status), csv_field(cell.reason),
                        cell.tier ? to_string(*cell.tier) : "",
                        cell.tier ? std::to_string(cell.short_by.count()) : "",
                        csv_field(cell.machine));
    if (const auto& p = cell.prediction) {
      text += fmt::format(",{},{},{},{},{},{},{},{},{},{},{}", p->step.count(), p->low.count(),
                          p->high.count(), p->tokens_per_s, p->model_tflops,
                          p->mfu ? fmt::format("{}", *p->mfu) : "", p->bound.count(), p->bound_by,
                          p->limited_by, p->hbm.count(), p->host.count());
    } else {
      text += ",,,,,,,,,,,";
    }
    if (const auto measured = measured_of(cell, experiment)) {
      text += fmt::format(",{},{},{},{}", measured->median, measured->low, measured->high,
                          cell.all_steps().size());
    } else {
      text += ",,,,";
    }
    text += fmt::format(",{},{},{},{},{}", csv_field(cell.plan),
                        cell.prediction ? cell.prediction->plan_hash : "",
                        cell.prediction ? cell.prediction->job_hash : "", cell.profile_hash,
                        cell.optimality_gap ? fmt::format("{}", *cell.optimality_gap) : "");
    const auto beside = speed_beside(first, cell);
    text += beside ? fmt::format(",{},{},{}\n", beside->ratio, beside->low, beside->high) : ",,,\n";
  }
  return text;
}

std::string samples_csv(const Cells& cells) {
  std::string text =
      "cell,repeat,order,step,seconds,outlier,gpu_clock_hz,gpu_power_w,gpu_temperature_c\n";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    std::vector<double> all;
    for (const Seconds step : cells[i]->all_steps()) all.push_back(step.count());
    const std::vector<bool> apart = outliers(all);
    std::size_t row = 0;
    for (const CellSample& sample : cells[i]->samples) {
      const std::string gpu = sample.gpu ? fmt::format("{},{},{}", sample.gpu->clock,
                                                       sample.gpu->power, sample.gpu->temperature)
                                         : ",,";
      for (std::size_t step = 0; step < sample.steps.size(); ++step, ++row) {
        text += fmt::format("{},{},{},{},{},{},{}\n", i, sample.repeat, sample.order, step + 1,
                            sample.steps[step].count(), apart[row] ? 1 : 0, gpu);
      }
    }
  }
  return text;
}

}  // namespace sluice::profiler
