// EXPERIMENT.yaml: one run as the baseline, and the factors that are varied around it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "planner/runs/run_config.hpp"

namespace sluice::profiler {

/// One path of a run and its value as text. Besides the paths of planner::set_path: "model.FIELD",
/// a field of the model's config.json.
struct Setting {
  std::string path;
  std::string value;
};

/// One value of a factor.
struct Level {
  std::string name;
  std::vector<Setting> settings;  ///< Empty: the baseline as it is.
};

struct Factor {
  std::string name;
  std::vector<Level> levels;  ///< The first is the one the others are compared with.
};

enum class Design {
  full,           ///< Every level of a factor with every level of the others.
  one_at_a_time,  ///< The first levels, and each other level by itself.
  paired,         ///< The first levels of all factors, then the second ones of all, ...
};

enum class Ground {
  simulation,  ///< Every cell is predicted.
  device,      ///< Predicted, then run.
};

struct Experiment {
  std::string name;
  std::string question;  ///< One line; may be empty.
  planner::RunConfig baseline;
  std::vector<Factor> factors;
  Design design = Design::full;
  Ground on = Ground::simulation;
  double effort = 1;         ///< Of each search for a plan, beside the usual one.
  std::int64_t seed = 1;     ///< Of the order in which cells run, and of the intervals' resampling.
  std::int64_t repeats = 3;  ///< Of each cell on a device.
  std::int64_t steps = 8;    ///< Measured in each repeat.
  std::int64_t warm_up = 2;  ///< Steps before them that are not looked at.
};

/// Throws BadRequest naming the file, the line and the nearest known key.
[[nodiscard]] Experiment read_experiment(const std::filesystem::path& file);
/// `where` names the text in refusals.
[[nodiscard]] Experiment experiment_from_yaml(const std::string& text, const std::string& where);
/// All defaults written out; reads back to an equal experiment.
[[nodiscard]] std::string to_yaml(const Experiment& experiment);

const char* to_string(Design design);
const char* to_string(Ground ground);
[[nodiscard]] Ground parse_ground(const std::string& text, const std::string& where);

}  // namespace sluice::profiler
