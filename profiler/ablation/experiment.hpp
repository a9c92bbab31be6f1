// EXPERIMENT.yaml: a run as the baseline, and the factors that are varied around it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "planner/runs/run_config.hpp"

namespace sluice::profiler {

/// A key of a run and its value as text. `path` is one of planner::set_path, or "model.FIELD" for a
/// field of the model's config.json.
struct Setting {
  std::string path;
  std::string value;
};

/// One value of a factor: a name, and what it changes of the baseline.
struct Level {
  std::string name;
  /// Keys that the level changes, with their values; empty for the unchanged baseline.
  std::vector<Setting> settings;
};

struct Factor {
  std::string name;
  /// Levels of the factor; those after the first are compared with the first.
  std::vector<Level> levels;
};

enum class Design {
  full,  ///< A cell for every combination of a level of each factor.
  /// A cell with the first level of every factor, and a cell for each other level, with the first
  /// levels of the other factors.
  one_at_a_time,
  /// A cell with the first levels of all factors, a cell with their second levels, and so on.
  paired,
};

enum class Ground {
  simulation,  ///< Every cell is predicted, and none runs.
  device,      ///< Every cell is predicted, and those that fit then run.
};

struct Experiment {
  std::string name;
  std::string question;  ///< The question that the experiment answers, in one line; may be empty.
  planner::RunConfig baseline;
  std::vector<Factor> factors;
  Design design = Design::full;
  Ground on = Ground::simulation;
  double effort = 1;  ///< Effort of each search for a plan, as a multiple of the usual effort.
  /// Seed of the order in which cells run, and of the random numbers by which intervals are
  /// computed.
  std::int64_t seed = 1;
  std::int64_t repeats = 3;  ///< Number of runs of each cell on a device.
  std::int64_t steps = 8;    ///< Number of steps that are measured in each repeat.
  std::int64_t warm_up = 2;  ///< Number of steps before the measured ones in each repeat.
};

/// Reads an experiment from its file. Throws BadRequest naming the file, the line and the nearest
/// known key.
[[nodiscard]] Experiment read_experiment(const std::filesystem::path& file);
/// Parses an experiment; `where` names the text in errors. Throws BadRequest.
[[nodiscard]] Experiment experiment_from_yaml(const std::string& text, const std::string& where);
/// YAML text from which experiment_from_yaml() makes an equal experiment; all defaults are written
/// out.
[[nodiscard]] std::string to_yaml(const Experiment& experiment);

const char* to_string(Design design);
const char* to_string(Ground ground);
[[nodiscard]] Ground parse_ground(const std::string& text, const std::string& where);

}  // namespace sluice::profiler
