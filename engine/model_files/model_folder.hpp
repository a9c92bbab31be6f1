// A Hugging Face model folder: where it lies and which files in it hold weights.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sluice::engine {

/// The folder that a run's model name stands for: a model folder, or the newest snapshot of a
/// Hugging Face id in the local cache. None for catalogue names and for a lone config.json, which
/// give only a shape.
[[nodiscard]] std::optional<std::filesystem::path> find_model_folder(const std::string& model);

/// The safetensors files that hold the folder's weights: model.safetensors, or those listed by
/// model.safetensors.index.json; empty if the folder has no weights at all. Throws BadRequest
/// naming the file if weights exist only in another format (PyTorch, GGUF, an adapter), are
/// quantised (GPTQ, AWQ, MXFP4, ...; the format is named), or the index is wrong.
[[nodiscard]] std::vector<std::filesystem::path> weight_files(const std::filesystem::path& folder);

/// Throws BadRequest `WHERE: ...` naming the quantisation format if a tensor of this name belongs
/// to quantised weights.
void refuse_quantised_tensor(const std::string& where, const std::string& tensor);

}  // namespace sluice::engine
