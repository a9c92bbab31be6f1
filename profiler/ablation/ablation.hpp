// Runs an experiment into a results folder, and resumes one that an earlier run left unfinished.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "profiler/ablation/cell_result.hpp"
#include "profiler/ablation/cells.hpp"
#include "profiler/ablation/experiment.hpp"

namespace sluice::profiler {

struct AblationOptions {
  std::filesystem::path folder;  ///< Folder of the results.
  CellShare share;               ///< The cells to do here; another process does the others.
  std::string command;           ///< The command that repeats the experiment, for the manifest.
  std::function<void(const std::string&)> say = [](const std::string&) {};
  const std::atomic<bool>* interrupted = nullptr;  ///< Set to stop between two runs of cells.
};

struct AblationResult {
  /// Results by index of the cell; none where a cell is not done yet.
  std::vector<std::optional<CellResult>> cells;
  bool interrupted = false;
  [[nodiscard]] std::size_t missing() const;
};

/// Predicts the cells of the share, all of them before any runs. On a device, then runs each
/// `repeats` times, the cells of a repeat in an order that the seed shuffles. Every cell's file is
/// complete after each of its runs, and a cell whose file has an equal hash is not done again.
/// Tables are written once no cell is missing. Throws BadRequest where no cell is a run, or the
/// folder holds another experiment; EnvironmentError where the disk or the device fails.
[[nodiscard]] AblationResult run_ablation(const Experiment& experiment,
                                          const AblationOptions& options);

}  // namespace sluice::profiler
