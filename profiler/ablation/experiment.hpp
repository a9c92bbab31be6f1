// EXPERIMENT.yaml: one run as the baseline, and the factors that are varied around it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "planner/runs/run_config.hpp"

namespace sluice::profiler {

/// A path of a run and its value as text. Paths are those of planner::set_path, and "model.FIELD"
/// for a field of the model's config.json.
struct Setting {
  std::string path;
  std::string value;
};

/// One value of a factor.
struct Level {
  std::string name;
  std::vector<Setting> settings;  ///< What the level changes; empty for the unchanged baseline.
};

struct Factor {
  std::string name;
  std::vector<Level> levels;  ///< Levels; the others are compared with the first.
};

enum class Design {
  full,           ///< Every level of a factor with every level of the others.
  one_at_a_time,  ///< The first levels, and each other level by itself.
  paired,         ///< The first levels of all factors, then the second levels of all, and so on.
};

enum class Ground {
  simulation,  ///< Every cell is predicted.
  device,      ///< Every cell is predicted, then run.
};

struct Experiment {
  std::string name;
  std::string question;  ///< The question that it answers, in one line; may be empty.
  planner::RunConfig baseline;
  std::vector<Factor> factors;
  Design design = Design::full;
  Ground on = Ground::simulation;
  double effort = 1;  ///< Effort of each search for a plan, as a multiple of the usual.
  /// Seed of the order in which cells run, and of the intervals' resampling.
  std::int64_t seed = 1;
  std::int64_t repeats = 3;  ///< Runs of each cell on a device.
  std::int64_t steps = 8;    ///< Steps measured in each repeat.
  std::int64_t warm_up = 2;  ///< Steps before the measured ones.
};

/// Reads an experiment. Throws BadRequest naming the file, the line and the nearest known key.
[[nodiscard]] Experiment read_experiment(const std::filesystem::path& file);
/// Parses an experiment; `where` names the text in errors. Throws BadRequest.
[[nodiscard]] Experiment experiment_from_yaml(const std::string& text, const std::string& where);
/// YAML text that parses to an equal experiment; all defaults are written out.
[[nodiscard]] std::string to_yaml(const Experiment& experiment);

const char* to_string(Design design);
const char* to_string(Ground ground);
[[nodiscard]] Ground parse_ground(const std::string& text, const std::string& where);

}  // namespace sluice::profiler
