// A Hugging Face model folder: where it lies and which files in it hold weights.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sluice::engine {

/// The folder that a run's model name stands for: a model folder, a run's newest checkpoint, or the
/// snapshot of a Hugging Face id in the local cache. None for catalogue names and for a lone
/// config.json, which give only a shape. Throws BadRequest as planner::find_model_source does.
[[nodiscard]] std::optional<std::filesystem::path> find_model_folder(const std::string& model);

/// The safetensors files that hold the folder's weights: model.safetensors, or those listed by
/// model.safetensors.index.json; empty if the folder has no weights at all. Throws BadRequest
/// naming the file if weights exist only in another format (PyTorch, GGUF, an adapter), are
/// quantised in a way that cannot be read (GPTQ, AWQ, ...; the format is named), were not
/// downloaded to the end (with the command that does), or the index is wrong.
[[nodiscard]] std::vector<std::filesystem::path> weight_files(const std::filesystem::path& folder);

/// Whether the folder holds weights, in any format and state, that weight_files finds or refuses.
[[nodiscard]] bool claims_weights(const std::filesystem::path& folder);

/// Refuses a Hugging Face id as the beginning of a run if its weights are not on this computer: who
/// names one means its weights. Throws BadRequest with the command that downloads them.
void require_weights_of_id(const std::string& model);

/// Throws BadRequest `WHERE: ...` naming the quantisation format if a tensor of this name belongs
/// to quantised weights.
void refuse_quantised_tensor(const std::string& where, const std::string& tensor);

}  // namespace sluice::engine
