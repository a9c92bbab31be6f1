// What a run that has begun keeps of the model that it began with: config, tokenizer and template.
#pragma once

#include <filesystem>
#include <optional>

#include "engine/datasets/data.hpp"
#include "engine/model_files/kept_model.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::profiler {

/// Lets `config` take its model from the newest checkpoint of the run in the folder `run`, which
/// the model's own folder need not be there for, if both state the same model. None where the run
/// has no checkpoint, or was told another model since.
[[nodiscard]] std::optional<engine::KeptModel> use_kept_model(planner::RunConfig& config,
                                                              const std::filesystem::path& run);

/// The config by which a run's data are read: with the tokenizer and the chat template that the run
/// keeps, where `kept` has them and `config` states no other template.
[[nodiscard]] planner::RunConfig data_config(const planner::RunConfig& config,
                                             const std::optional<engine::KeptModel>& kept);

/// Tells whether the chat template that a run's data were read with, by `data`, is another than the
/// run trained with, where the run does not keep it.
void tell_of_template(const planner::RunConfig& data, const std::optional<engine::KeptModel>& kept,
                      const engine::WindowedText& text);

/// Whether the run in a folder, which is to continue, took byte values for tokens: it keeps no
/// tokenizer, and its model has none. Its data, which `data` states, are then read in this way
/// again.
[[nodiscard]] bool trained_on_bytes(const std::filesystem::path& run,
                                    const planner::RunConfig& data,
                                    const std::optional<engine::KeptModel>& kept);

}  // namespace sluice::profiler
