// Tokens that end the turns that a run learnt.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "engine/model_files/checkpoint.hpp"

namespace sluice::cli {

/// Id of the special token that ends the assistant's turns in a run's conversations, by the
/// tokenizer in `folder`, which the run keeps. Empty for a run without conversations, and where the
/// tokenizer has no such token.
[[nodiscard]] std::vector<std::int32_t> turn_ends(
    const engine::CheckpointFacts& facts, const std::optional<std::filesystem::path>& folder);

}  // namespace sluice::cli
