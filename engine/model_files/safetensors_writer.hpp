// Writer of state as safetensors files of bounded size, named as transformers does.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "engine/model_files/element_type.hpp"
#include "engine/model_files/out_tensor.hpp"
#include "engine/model_files/state_source.hpp"
#include "engine/model_files/written_file.hpp"

namespace sluice::engine {

/// Beginning of a safetensors file: the length of its header, and the header, JSON text, padded
/// with spaces so that data begin at a multiple of eight bytes.
[[nodiscard]] std::string safetensors_head(std::string json);

/// How one part of a model's state is written to files.
struct StateFiles {
  std::filesystem::path folder;
  /// Base name: "model" gives model.safetensors, or model-00001-of-00002.safetensors and so on.
  std::string name;
  StatePart part = StatePart::weights;
  ElementType type = ElementType::fp32;
  /// Largest number of bytes of tensors in a file; a larger tensor gets a file of its own.
  Bytes most{0};
  /// Largest number of writing threads, but never more than state_threads(); 0 means
  /// state_threads().
  std::int64_t threads = 0;
  /// Says which tensors of a unit have no such part and are left out; null where all have it.
  LeavesOut lacks = nullptr;
};

/// Writes one part (weights, m or v) of `source` as `files` says, several files at a time, and a
/// NAME.safetensors.index.json if there is more than one; returns all of them. Values are rounded
/// to nearest, ties to even. `progress`, if any, receives numbers of elements as they are written,
/// from any thread. Throws BadRequest naming tensor and element if a finite value is too large for
/// the type, EnvironmentError if the disk refuses.
[[nodiscard]] std::vector<FileRecord> write_state(
    const StateFiles& files, const planner::ModelShape& shape, const StateSource& source,
    const std::function<void(std::int64_t elements)>& progress = nullptr);

struct WrittenTensors {
  std::vector<FileRecord> files;
  RoundingError mxfp4;  ///< What rounding to MXFP4 lost.
};

/// Writes `tensors` in this order, as write_state does those of a model's state; `files.type` has
/// no effect.
[[nodiscard]] WrittenTensors write_tensors(
    const StateFiles& files, const std::vector<OutTensor>& tensors, const StateSource& source,
    const std::function<void(std::int64_t elements)>& progress = nullptr);

}  // namespace sluice::engine
