// Execution of an experiment into a results folder, and resumption of one that an earlier run left
// unfinished.
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
  std::filesystem::path folder;  ///< Folder of the experiment's results.
  CellShare share;               ///< The cells that this process does; others do the rest.
  std::string command;           ///< Command line that repeats the experiment, for the manifest.
  std::function<void(const std::string&)> say = [](const std::string&) {};
  /// Request to stop: once it is set, the experiment stops after the cell's run in progress. Null
  /// for none.
  const std::atomic<bool>* interrupted = nullptr;
};

struct AblationResult {
  /// Results by index of the cell; none for a cell that is not done yet.
  std::vector<std::optional<CellResult>> cells;
  bool interrupted = false;
  [[nodiscard]] std::size_t missing() const;
};

/// Does the cells of options.share: predicts all of them, then, if the experiment is on a device,
/// runs each `repeats` times, the cells of a repeat in an order that the seed shuffles. Every
/// cell's file is complete after each of its runs, and a cell whose file has an equal hash is not
/// done again. Tables are written once no cell is missing. Throws BadRequest where the share is all
/// cells and none is a valid run, or the folder holds another experiment; EnvironmentError where
/// the disk or the device fails.
[[nodiscard]] AblationResult run_ablation(const Experiment& experiment,
                                          const AblationOptions& options);

}  // namespace sluice::profiler
