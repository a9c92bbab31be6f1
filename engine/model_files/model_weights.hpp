// The weights of a Hugging Face folder as the master weights of a model shape.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/model_files/safetensors.hpp"
#include "engine/model_files/state_source.hpp"
#include "sim/units.hpp"

namespace sluice::engine {

/// Tensors have the names of unit_tensors (planner/models/shape.hpp): those transformers gives to
/// llama, mistral, qwen2 and qwen3. A tied model's lm_head and rotary frequencies are left unread.
class ModelWeights : public StateSource {
 public:
  /// Maps the files, which must hold every tensor of `shape` and none besides. Throws BadRequest
  /// `model: FILE: tensor NAME: ...` for a tensor that is missing, doubled, unknown, of another
  /// shape, of a dtype other than BF16, F16 and F32, or quantised.
  ModelWeights(const std::vector<std::filesystem::path>& files, const planner::ModelShape& shape);

  /// Only StatePart::weights. Pages leave memory as soon as they are read. Throws BadRequest where
  /// a value is infinite or not a number.
  void read(StatePart part, std::size_t unit, const planner::TensorSpec& tensor, std::int64_t first,
            std::span<float> out) const override;

  [[nodiscard]] std::size_t files() const { return files_.size(); }
  [[nodiscard]] Bytes bytes() const { return bytes_; }  ///< Of the tensors that are read.
  [[nodiscard]] const std::set<ElementType>& types() const { return types_; }

 private:
  struct Place {
    const SafetensorsFile* file;
    const TensorEntry* entry;
  };

  void collect(const SafetensorsFile& file, const planner::ModelShape& shape);
  void require(const planner::TensorSpec& tensor);

  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, Place> places_;
  Bytes bytes_{0};
  std::set<ElementType> types_;
};

}  // namespace sluice::engine
