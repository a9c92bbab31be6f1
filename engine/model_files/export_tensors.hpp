// Tensors of an export: those of the text model as its family publishes them, and those that the
// run carries.
#pragma once

#include <optional>
#include <vector>

#include "engine/model_files/exported_model.hpp"
#include "engine/model_files/folder_tensors.hpp"
#include "engine/model_files/out_tensor.hpp"

namespace sluice::engine {

/// Tensors to write for a model of `shape`. `origin` is what a run that carries tensors began with:
/// a wrapper's tensors then have the names and shapes that they have there. Throws BadRequest
/// `--dtype: ...` if experts shall be in MXFP4 and are not published so.
[[nodiscard]] std::vector<OutTensor> export_tensors(const planner::ModelShape& shape,
                                                    const std::optional<FolderTensors>& origin,
                                                    const ExportOptions& options);

}  // namespace sluice::engine
