// What is known of one cell, as a file of the results folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/records/gpu_reading.hpp"
#include "planner/machines/machine.hpp"
#include "planner/predictions/predict.hpp"
#include "profiler/ablation/cells.hpp"
#include "sim/units.hpp"

namespace sluice::profiler {

enum class CellStatus {
  fits,          ///< Predicted, and run where a device was asked for.
  does_not_fit,  ///< `tier` lacks `short_by`.
  refused,       ///< No run can be made of it: `reason`.
};

/// One repeat on the device.
struct CellSample {
  std::int64_t repeat = 1;                  ///< From 1.
  std::int64_t order = 0;                   ///< Its place among all that ran, from 1.
  std::vector<Seconds> steps;               ///< As they ran, the warm-up left out.
  std::optional<engine::GpuReading> gpu{};  ///< Right after them.
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
  std::string json;  ///< All of it, as `predict --json` has it.
};

struct CellRecord {
  std::string hash;  ///< Of what the cell is and of the program: an equal one is not done again.
  std::string name;
  std::vector<std::string> levels;
  CellStatus status = CellStatus::fits;
  std::string reason;
  std::optional<planner::Tier> tier;
  Bytes short_by{0};
  std::string machine, profile_hash;
  std::string plan;  ///< In words.
  /// How much faster than the plan found any could be, as a share of its step; none where nothing
  /// was searched for.
  std::optional<double> optimality_gap;
  std::optional<CellPrediction> prediction;
  std::string ledger_line;  ///< Of the prediction, where it ran.
  std::vector<CellSample> samples;

  [[nodiscard]] std::vector<Seconds> all_steps() const;
  /// "predicted 3.41 s", or why there is no prediction.
  [[nodiscard]] std::string outcome() const;
};

/// A machine that cells were predicted on: levels of `machine.` numbers make several of one name.
struct CellProfile {
  std::string machine, hash;
  std::vector<std::size_t> cells;  ///< By index.
};

/// In the order of the cells that have them first.
[[nodiscard]] std::vector<CellProfile> profiles_of(
    const std::vector<std::optional<CellRecord>>& cells);

[[nodiscard]] CellPrediction to_cell_prediction(const planner::Prediction& prediction);

/// FOLDER/cells/NNNN.json, one of docs/schemas/ablation-cell.schema.json.
[[nodiscard]] std::filesystem::path cell_file(const std::filesystem::path& folder,
                                              std::size_t index);
[[nodiscard]] std::string to_json_text(const CellRecord& record);
void write_cell(const std::filesystem::path& file, const CellRecord& record);
/// None where there is no such file. Throws BadRequest naming it where it is no record of a cell.
[[nodiscard]] std::optional<CellRecord> read_cell(const std::filesystem::path& file);

const char* to_string(CellStatus status);

}  // namespace sluice::profiler
