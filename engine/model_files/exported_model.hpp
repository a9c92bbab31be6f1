// Export of a checkpoint's weights as a Hugging Face model folder.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "engine/model_files/checkpoint.hpp"

namespace sluice::engine {

/// Numbers of experts' matrices in an export.
enum class ExpertNumbers {
  as_others,  ///< In the type of all other weights.
  mxfp4,      ///< In MXFP4, rounded to nearest.
};

struct ExportOptions {
  std::filesystem::path out;
  ElementType type = ElementType::bf16;
  ExpertNumbers experts = ExpertNumbers::as_others;
  /// Ids of tokens that end what the model writes, to be added to those that generation_config.json
  /// names.
  std::vector<std::int32_t> end_tokens{};
  Bytes shard{5'000'000'000};  ///< Largest number of bytes of tensors in one file.
};

struct ExportedModel {
  std::vector<FileRecord> weights;
  /// Names of the tokenizer and generation files that were copied.
  std::vector<std::string> copied;
  /// Folder that the copied tokenizer files came from: the run's or that of its model; none if
  /// neither has any.
  std::optional<std::filesystem::path> source;
  /// Tensors that were copied unchanged from the folder that the run began with.
  CarriedRecord carried;
  /// Beginnings of their names, such as "model.visual".
  std::vector<std::string> carried_parts{};
  /// Relative error (root of the quotient of summed squares) of the numbers that were rounded to
  /// MXFP4; none without such.
  std::optional<double> mxfp4_error{};
};

/// Writes config.json, the weights as the model's family publishes them, the tensors that the run
/// carries, and the tokenizer files that the run keeps, or that the folder
/// of its model has, to `options.out`, which appears complete or not at all. `progress`, if any,
/// receives numbers of elements as they are written, from any thread. Throws BadRequest if `out`
/// already holds something, a weight does not fit the type, the model's experts are not published
/// in MXFP4, or carried tensors are no longer there; EnvironmentError if the disk refuses.
ExportedModel export_model(const Checkpoint& checkpoint, const ExportOptions& options,
                           const std::function<void(std::int64_t elements)>& progress = nullptr);

}  // namespace sluice::engine
