// Result of one cell, which is a file of the results folder.
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
  fits,          ///< The cell is predicted and, if the experiment is on a device, run.
  does_not_fit,  ///< The cell's plan needs `short_by` more bytes of `tier` than there are.
  refused,       ///< The cell is not a valid run; `reason` says why.
};

/// Measured steps of one repeat of a cell on the device.
struct CellSample {
  std::int64_t repeat = 1;     ///< Number of the repeat among those of its cell, from 1.
  std::int64_t order = 0;      ///< Position of the run among all runs of the experiment, from 1.
  std::vector<Seconds> steps;  ///< Step times in the order in which they ran, without the warm-up.
  /// Temperature, power and clock of the GPU right after the steps; none where it does not report
  /// them.
  std::optional<engine::GpuReading> gpu{};
};

/// Numbers of a cell's prediction that tables show.
struct CellPrediction {
  Seconds step{0}, low{0}, high{0};
  double tokens_per_s = 0;
  double model_tflops = 0;
  std::optional<double> mfu;
  Seconds bound{0};
  std::string bound_by;
  /// The lane that is busy longest in the plan; empty in cells written before predictions said it.
  std::string limited_by;
  Bytes hbm{0}, host{0};
  std::string plan_hash, job_hash, cost_model_hash;
  /// Causes of the step's error; none in cells that were written before predictions kept them.
  std::optional<planner::StepErrors> errors;
  /// JSON text of the whole prediction, as `predict --json` prints it, with the errors.
  std::string json;
};

struct CellResult {
  /// Hash of the cell's definition and of the program (PreparedCell::hash); a cell whose file has
  /// an equal hash is not done again.
  std::string hash;
  std::string name;
  std::vector<std::string> levels;
  CellStatus status = CellStatus::fits;
  std::string reason;
  std::optional<planner::Tier> tier;
  Bytes short_by{0};
  std::string machine, profile_hash;
  std::string plan;  ///< The plan in words (describe_plan).
  /// Optimality gap: by how much the fastest possible plan may be faster, as a share (0 to 1) of
  /// the step; none where no plan was searched for.
  std::optional<double> optimality_gap;
  std::optional<CellPrediction> prediction;
  /// Hash of the prediction's line in the ledger; empty where the cell did not run.
  std::string ledger_line;
  std::vector<CellSample> samples;

  [[nodiscard]] std::vector<Seconds> all_steps() const;
  /// Text such as "predicted 3.41 s", or why there is no prediction.
  [[nodiscard]] std::string outcome() const;
};

/// A machine profile that cells were predicted with. Levels of `machine.` numbers make several
/// profiles of one machine.
struct CellProfile {
  std::string machine, hash;
  std::vector<std::size_t> cells;  ///< Indices of the cells that were predicted with the profile.
};

/// Profiles that the cells were predicted with, in the order of the first cell that uses each.
[[nodiscard]] std::vector<CellProfile> profiles_of(
    const std::vector<std::optional<CellResult>>& cells);

[[nodiscard]] CellPrediction to_cell_prediction(const planner::Prediction& prediction);

/// Path of a cell's file, FOLDER/cells/NNNN.json (docs/schemas/ablation-cell.schema.json).
[[nodiscard]] std::filesystem::path cell_file(const std::filesystem::path& folder,
                                              std::size_t index);
[[nodiscard]] std::string to_json_text(const CellResult& result);
void write_cell(const std::filesystem::path& file, const CellResult& result);
/// Reads a cell's result from its file; none where there is no such file. Throws BadRequest naming
/// the file where it is not a cell's result.
[[nodiscard]] std::optional<CellResult> read_cell(const std::filesystem::path& file);

const char* to_string(CellStatus status);

}  // namespace sluice::profiler
