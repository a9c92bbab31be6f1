// Weights of a Hugging Face folder, read as fp32 master weights.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/model_files/folder_tensors.hpp"
#include "engine/model_files/state_source.hpp"
#include "engine/model_files/tensor_places.hpp"
#include "sim/units.hpp"

namespace sluice::engine {

/// Weights in safetensors files, as published or as a run's checkpoints hold them. A model that
/// sees or hears is read as its text model. A tied model's lm_head and rotary frequencies are not
/// read.
class ModelWeights : public StateSource {
 public:
  /// Maps the files, which must hold every tensor of `shape` and no others than those that are
  /// carried. Throws BadRequest `model: FILE: tensor NAME: ...` for a tensor that is missing,
  /// duplicated, unknown, of another shape, or of numbers that cannot be read (BF16, F16, F32,
  /// MXFP4 and FP8 with factors of blocks can).
  /// Tensors of which `lacks` is true, where it is not null, are not wanted and cannot be read.
  ModelWeights(const std::vector<std::filesystem::path>& files, const planner::ModelShape& shape,
               LeavesOut lacks = nullptr);

  /// Reads weights; `part` must be StatePart::weights. Pages leave memory as soon as they were
  /// read. Throws BadRequest if a value is infinite or NaN.
  void read(StatePart part, std::size_t unit, const planner::TensorSpec& tensor, std::int64_t first,
            std::span<float> out) const override;

  /// One line that says so if a file's lm_head differs from the embedding that config.json ties it
  /// to, and is therefore not used. Compares all bytes of the two.
  [[nodiscard]] std::optional<std::string> unused_head() const;

  /// One line that says how many tensors, and how much, are carried and not trained; none if all
  /// are read.
  [[nodiscard]] std::optional<std::string> not_trained() const;

  /// All tensors of the files.
  [[nodiscard]] const FolderTensors& tensors() const { return tensors_; }
  [[nodiscard]] std::size_t files() const { return tensors_.files.size(); }
  [[nodiscard]] Bytes bytes() const { return bytes_; }  ///< Size of all tensors that are read.
  /// Types of the numbers in the files, as messages name them: "bf16", "MXFP4".
  [[nodiscard]] const std::set<std::string>& types() const { return types_; }

 private:
  void require(const planner::TensorSpec& tensor);

  FolderTensors tensors_;
  TensorPlaces places_;
  Bytes bytes_{0};
  std::set<std::string> types_;
};

/// Throws, for the model called `model`, what reading its weights for training would throw, by the
/// headers of their files alone: early, before a plan is searched for. Does nothing if it has no
/// weights.
void require_readable_weights(const std::string& model, const planner::ModelShape& shape);

/// Names of all tensors of `shape`.
[[nodiscard]] std::set<std::string> tensor_names(const planner::ModelShape& shape);

}  // namespace sluice::engine
