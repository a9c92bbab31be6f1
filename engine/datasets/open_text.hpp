// The text that a run's `data` stand for.
#pragma once

#include <filesystem>
#include <memory>

#include "engine/datasets/data.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::engine {

/// By the tokenizer of the model's folder, or as bytes where it has none. The format is the one
/// given, or that of the data set's registry, or what the file's name and first record say; JSON
/// records that are none of the known ones are read as text, with a warning on stderr. `cache`:
/// folder of the tokens that were cut before; `progress` is told where they are cut now. Throws
/// BadRequest for what is refused.
[[nodiscard]] std::unique_ptr<WindowedText> open_text(const planner::RunConfig& run,
                                                      const std::filesystem::path& cache,
                                                      const TextProgress& progress = nullptr);

}  // namespace sluice::engine
