// The model that a run keeps: a checkpoint with the config.json that the run trained with.
#pragma once

#include <filesystem>
#include <optional>

#include "engine/model_files/checkpoint.hpp"

namespace sluice::engine {

/// A checkpoint of a run as the place of the run's model. Its weights need not be intact.
struct KeptModel {
  std::filesystem::path folder;
  CheckpointFacts facts;
};

/// The newest checkpoint in a run's folder whose checkpoint.json and config.json are as they were
/// written; none where the run has none.
[[nodiscard]] std::optional<KeptModel> kept_model_of(const std::filesystem::path& run);

}  // namespace sluice::engine
