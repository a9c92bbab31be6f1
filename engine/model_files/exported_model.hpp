// A checkpoint's weights as a Hugging Face model folder.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "engine/model_files/checkpoint.hpp"

namespace sluice::engine {

struct ExportOptions {
  std::filesystem::path out;
  ElementType type = ElementType::bf16;
  Bytes shard{5'000'000'000};  ///< Most bytes of tensors in a file.
};

struct ExportedModel {
  std::vector<FileRecord> weights;
  std::vector<std::string> copied;  ///< Tokenizer and generation files.
  /// The folder they were copied from; none where the run had none, or it is gone.
  std::optional<std::filesystem::path> source;
};

/// Writes config.json, the weights and the tokenizer's files of the folder that the run's model
/// came from to `options.out`, which appears whole or not at all. Throws BadRequest where `out`
/// holds something already or a weight does not fit the type, EnvironmentError where the disk
/// refuses.
ExportedModel export_model(const Checkpoint& checkpoint, const ExportOptions& options,
                           const std::function<void(std::int64_t elements)>& progress = nullptr);

}  // namespace sluice::engine
