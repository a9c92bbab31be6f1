// Runs an experiment into a results folder, and goes on where an earlier run of it stopped.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "profiler/ablation/cell_record.hpp"
#include "profiler/ablation/cells.hpp"
#include "profiler/ablation/experiment.hpp"

namespace sluice::profiler {

struct AblationOptions {
  std::filesystem::path folder;  ///< Of the results.
  CellShare share;               ///< Of the cells: the others are another process's.
  std::string command;           ///< That repeats it, for the manifest.
  std::function<void(const std::string&)> say = [](const std::string&) {};
  const std::atomic<bool>* interrupted = nullptr;  ///< Stops between two runs of cells.
};

struct AblationResult {
  std::vector<std::optional<CellRecord>> cells;  ///< By index; none where it is not done yet.
  bool interrupted = false;
  [[nodiscard]] std::size_t missing() const;
};

/// Predicts the cells of the share, all of them before any runs; on a device, runs each `repeats`
/// times, the cells of a repeat in an order that the seed shuffles. Every cell's file is complete
/// after each of its runs, and one of an equal hash is not done again. Tables are written once no
/// cell is missing. Throws BadRequest where no cell is a run, or the folder holds another
/// experiment; EnvironmentError where the disk or the device fails.
[[nodiscard]] AblationResult run_ablation(const Experiment& experiment,
                                          const AblationOptions& options);

}  // namespace sluice::profiler
