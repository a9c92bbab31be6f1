// All tensors of a model folder's files, sorted into those of the text model and those that are
// carried along.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/model_files/stored_tensor.hpp"
#include "engine/model_files/text_names.hpp"
#include "planner/models/shape.hpp"

namespace sluice::engine {

struct FolderTensors {
  std::vector<std::unique_ptr<SafetensorsFile>> files;
  TextNames form = TextNames::own;
  /// Tensors of the text model by their names there, quantised ones with their scales.
  StoredTensors text;
  /// Tensors that are not read and that an export copies, by their names in the files.
  StoredTensors carried;
  /// Tensors that are not read and not carried: buffers, and copies of others.
  std::vector<std::string> unread;
  /// The lm_head of a tied model, which is not read.
  std::optional<StoredTensor> tied_head;
};

/// Maps the files and sorts their tensors. Throws BadRequest `model: FILE: tensor NAME: ...` for a
/// tensor in two files, for weights of a quantisation that cannot be read, and as join_scales does.
[[nodiscard]] FolderTensors open_tensors(const std::vector<std::filesystem::path>& files,
                                         const planner::ModelShape& shape);

/// Whether the folder of `file` is a checkpoint of a run, whose tensors lie as in memory.
[[nodiscard]] bool is_of_checkpoint(const std::filesystem::path& file);

/// Whether a tensor is left out: a buffer of rotary frequencies or the copy that a tied model's
/// lm_head is, which old checkpoints hold beside their parameters.
[[nodiscard]] bool left_unread(const std::string& name, const planner::ModelShape& shape);

}  // namespace sluice::engine
