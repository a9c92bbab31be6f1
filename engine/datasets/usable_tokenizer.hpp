// The tokenizer of a run's model, or the refusal of a model that has lost its own.
#pragma once

#include <optional>

#include "engine/model_files/tokenizer_place.hpp"
#include "engine/tokenizer/tokenizer_folder.hpp"
#include "planner/runs/data_reading.hpp"

namespace sluice::engine {

/// The tokenizer that lies at `place`, that of a run's model; none where the values of bytes are
/// the model's tokens. Throws BadRequest if the model has weights, which were trained on tokens,
/// and no tokenizer of them: byte values are taken for them only where data_format=bytes says so.
/// `reading`: how the run's data become tokens; none for the present reading.
[[nodiscard]] std::optional<TokenizerFolder> usable_tokenizer(
    const TokenizerPlace& place, std::optional<planner::DataReading> reading = std::nullopt);

}  // namespace sluice::engine
