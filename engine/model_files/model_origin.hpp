// The folder that a run's weights came from, for what an export takes from there.
#pragma once

#include <filesystem>
#include <optional>

#include "engine/model_files/carried_record.hpp"
#include "engine/model_files/checkpoint.hpp"
#include "engine/model_files/folder_tensors.hpp"

namespace sluice::engine {

/// The tensors of the model folder that a checkpoint's run began with, or that the run began with
/// whose checkpoint it began with. None where that had no weights, or is no longer there and
/// nothing is carried from it. Throws BadRequest if tensors are carried and the folder does not
/// hold them as it did.
[[nodiscard]] std::optional<FolderTensors> open_origin(const Checkpoint& checkpoint);

/// Record of the tensors that a run carries but does not train, where it begins with the weights
/// `tensors` of `folder`, a model folder or a checkpoint; none where it trains them all.
[[nodiscard]] std::optional<CarriedRecord> carried_from(const std::filesystem::path& folder,
                                                        const FolderTensors& tensors);

}  // namespace sluice::engine
