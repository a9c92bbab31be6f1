// Folders that hold an adapter (of peft), which is trained beside the weights of a model.
#pragma once

#include <filesystem>
#include <string>

namespace sluice::engine {

/// Says that the folder `folder`, which holds an adapter, is no model here, where all weights are
/// trained, and how to merge the adapter into the model that adapter_config.json names.
[[nodiscard]] std::string adapter_advice(const std::filesystem::path& folder);

/// Throws BadRequest with adapter_advice() if `model` is a folder with an adapter and no weights of
/// its own; warns where both lie in it, because the adapter is not read.
void require_no_adapter(const std::string& model);

}  // namespace sluice::engine
