// Opens the training text that a run's `data` names.
#pragma once

#include <filesystem>
#include <memory>

#include "engine/datasets/data.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::engine {

/// Sets the run's `date_string` to the date of today (UTC), as "26 Jul 2024", where the run states
/// none and its chat template writes the date: the template sees that date whenever the run goes
/// on.
void fix_date(planner::RunConfig& run);

/// Whether one of the run's data sets is token ids: its format says so, or it states no format, and
/// its file has the ending .npy or NumPy's first bytes.
[[nodiscard]] bool has_token_ids(const planner::RunConfig& run);

/// Opens the training text that a run's `data` name, cut by the tokenizer of the model's folder, or
/// read as bytes if there is none. `cache`: folder for cut tokens; `progress` is called while
/// tokens are cut. Throws BadRequest for data that are refused, EnvironmentError where data or
/// cache cannot be used here.
[[nodiscard]] std::unique_ptr<WindowedText> open_text(const planner::RunConfig& run,
                                                      const std::filesystem::path& cache,
                                                      const TextProgress& progress = nullptr);

}  // namespace sluice::engine
