// Opens the training text that a run's `data` names.
#pragma once

#include <filesystem>
#include <memory>

#include "engine/datasets/data.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::engine {

/// States the date of today in `date_string`, as "26 Jul 2024", where the run states none and its
/// chat template asks for it: from a run's first start on, its templates see one date.
void fix_date(planner::RunConfig& run);

/// Whether a data set of the run is token ids: its format says so, or it is a .npy file without a
/// stated format.
[[nodiscard]] bool has_token_ids(const planner::RunConfig& run);

/// The text of a run, cut by the tokenizer of the model's folder, or read as bytes if there is
/// none. `cache`: folder for cut tokens; `progress` is called while tokens are cut. Throws
/// BadRequest for data that are refused.
[[nodiscard]] std::unique_ptr<WindowedText> open_text(const planner::RunConfig& run,
                                                      const std::filesystem::path& cache,
                                                      const TextProgress& progress = nullptr);

}  // namespace sluice::engine
