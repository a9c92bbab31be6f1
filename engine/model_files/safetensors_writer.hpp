// State as safetensors files of bounded size, as transformers names them.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "engine/model_files/element_type.hpp"
#include "engine/model_files/state_source.hpp"
#include "engine/model_files/written_file.hpp"

namespace sluice::engine {

/// How a part of a model's state becomes files.
struct StateFiles {
  std::filesystem::path folder;
  std::string name;  ///< Of the files: "model" gives model.safetensors, or model-00001-of-00002...
  StatePart part = StatePart::weights;
  ElementType type = ElementType::fp32;
  Bytes most{0};             ///< Bytes of tensors in a file; a larger tensor has a file to itself.
  std::int64_t threads = 0;  ///< At most, as state_threads() allows; 0: so many.
};

/// Writes `files` of `source`, several at a time, and for more than one a
/// NAME.safetensors.index.json. Values are rounded to nearest, ties to even. `progress`, if any, is
/// given elements as they are written, from any thread. Throws BadRequest naming tensor and element
/// where a finite value is too large for the type, EnvironmentError where the disk refuses.
[[nodiscard]] std::vector<FileRecord> write_state(
    const StateFiles& files, const planner::ModelShape& shape, const StateSource& source,
    const std::function<void(std::int64_t elements)>& progress = nullptr);

}  // namespace sluice::engine
