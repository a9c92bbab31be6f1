// The result of one cell, as a file of the results folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/run_folders/gpu_reading.hpp"
#include "planner/machines/machine.hpp"
#include "planner/predictions/predict.hpp"
#include "profiler/ablation/cells.hpp"
#include "sim/units.hpp"

namespace sluice::profiler {

enum class CellStatus {
  fits,          ///< Predicted, and run where the experiment is on a device.
  does_not_fit,  ///< The plan needs `short_by` more of `tier`.
  refused,       ///< The cell is not a valid run, for `reason`.
};

/// One repeat of a cell on the device.
struct CellSample {
  std::int64_t repeat = 1;     ///< Number of the repeat, from 1.
  std::int64_t order = 0;      ///< Position among all runs of the experiment, from 1.
  std::vector<Seconds> steps;  ///< Step times in the order of running, without the warm-up.
  /// Temperature, power and clock of the GPU right after the steps.
  std::optional<engine::GpuReading> gpu{};
};

/// The numbers of a prediction that tables show.
struct CellPrediction {
  Seconds step{0}, low{0}, high{0};
  double tokens_per_s = 0;
  double model_tflops = 0;
  std::optional<double> mfu;
  Seconds bound{0};
  std::string bound_by;
  Bytes hbm{0}, host{0};
  std::string plan_hash, job_hash, cost_model_hash;
  std::string json;  ///< The whole prediction, as `predict --json` prints it.
};

struct CellResult {
  /// Hash of the cell's definition and of the program; a cell with an equal hash is not done again.
  std::string hash;
  std::string name;
  std::vector<std::string> levels;
  CellStatus status = CellStatus::fits;
  std::string reason;
  std::optional<planner::Tier> tier;
  Bytes short_by{0};
  std::string machine, profile_hash;
  std::string plan;  ///< The plan in words.
  /// Optimality gap: by how much the fastest possible plan may be faster, as a share of the step;
  /// none where nothing was searched for.
  std::optional<double> optimality_gap;
  std::optional<CellPrediction> prediction;
  std::string ledger_line;  ///< Hash of the prediction's line in the ledger, where the cell ran.
  std::vector<CellSample> samples;

  [[nodiscard]] std::vector<Seconds> all_steps() const;
  /// "predicted 3.41 s", or why there is no prediction.
  [[nodiscard]] std::string outcome() const;
};

/// A profile that cells were predicted with. Levels of `machine.` numbers make several profiles of
/// one machine.
struct CellProfile {
  std::string machine, hash;
  std::vector<std::size_t> cells;  ///< Indices of the cells that use the profile.
};

/// Profiles of all cells, in the order of the first cell that uses each.
[[nodiscard]] std::vector<CellProfile> profiles_of(
    const std::vector<std::optional<CellResult>>& cells);

[[nodiscard]] CellPrediction to_cell_prediction(const planner::Prediction& prediction);

/// Path of a cell's file, FOLDER/cells/NNNN.json (docs/schemas/ablation-cell.schema.json).
[[nodiscard]] std::filesystem::path cell_file(const std::filesystem::path& folder,
                                              std::size_t index);
[[nodiscard]] std::string to_json_text(const CellResult& result);
void write_cell(const std::filesystem::path& file, const CellResult& result);
/// Reads a cell's result; none where there is no such file. Throws BadRequest naming the file where
/// it is not a cell's result.
[[nodiscard]] std::optional<CellResult> read_cell(const std::filesystem::path& file);

const char* to_string(CellStatus status);

}  // namespace sluice::profiler
