// Weights of a Hugging Face folder, read as fp32 master weights.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/model_files/expert_stacks.hpp"
#include "engine/model_files/safetensors.hpp"
#include "engine/model_files/state_source.hpp"
#include "sim/units.hpp"

namespace sluice::engine {

/// Weights in safetensors files. Tensors have the names of unit_tensors (planner/models/shape.hpp),
/// which are those of llama, mistral, qwen2 and qwen3 in transformers; experts may be stacked
/// (engine/model_files/expert_stacks.hpp). A tied model's lm_head and rotary frequencies are not
/// read.
class ModelWeights : public StateSource {
 public:
  /// Maps the files, which must hold every tensor of `shape` and no others. Throws BadRequest
  /// `model: FILE: tensor NAME: ...` for a tensor that is missing, duplicated, unknown, quantised,
  /// of another shape, or of a dtype other than BF16, F16 and F32.
  ModelWeights(const std::vector<std::filesystem::path>& files, const planner::ModelShape& shape);

  /// Reads weights; `part` must be StatePart::weights. Pages leave memory as soon as they were
  /// read. Throws BadRequest if a value is infinite or NaN.
  void read(StatePart part, std::size_t unit, const planner::TensorSpec& tensor, std::int64_t first,
            std::span<float> out) const override;

  /// One line that says so if a file's lm_head differs from the embedding that config.json ties it
  /// to, and is therefore not used. Compares all bytes of the two.
  [[nodiscard]] std::optional<std::string> unused_head() const;

  [[nodiscard]] std::size_t files() const { return files_.size(); }
  [[nodiscard]] Bytes bytes() const { return bytes_; }  ///< Size of all tensors that are read.
  [[nodiscard]] const std::set<ElementType>& types() const { return types_; }

 private:
  void collect(const SafetensorsFile& file, const planner::ModelShape& shape);
  void require(const planner::TensorSpec& tensor);
  /// Reads elements [first, first + out.size()) of a matrix with `cols` columns, counted row by
  /// row, whose file holds it column by column.
  void read_columns(const TensorPlace& place, std::int64_t cols, std::int64_t first,
                    std::span<float> out) const;

  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  TensorPlaces places_;
  TensorPlace tied_head_;  ///< The lm_head of a tied model, which is not read; empty without one.
  Bytes bytes_{0};
  std::set<ElementType> types_;
};

/// Throws, for the model called `model`, what reading its weights for training would throw, by the
/// headers of their files alone: early, before a plan is searched for. Does nothing if it has no
/// weights.
void require_readable_weights(const std::string& model, const planner::ModelShape& shape);

/// Whether a tensor is left out: a buffer of rotary frequencies or the copy that a tied model's
/// lm_head is, which old checkpoints hold beside their parameters.
[[nodiscard]] bool left_unread(const std::string& name, const planner::ModelShape& shape);

/// Names of all tensors of `shape`.
[[nodiscard]] std::set<std::string> tensor_names(const planner::ModelShape& shape);

}  // namespace sluice::engine
