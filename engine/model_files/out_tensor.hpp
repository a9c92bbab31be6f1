// A tensor to be written to a file: of a model's state, or copied from another file.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/model_files/element_type.hpp"
#include "engine/model_files/mxfp4.hpp"
#include "engine/model_files/published_tensors.hpp"
#include "engine/model_files/state_source.hpp"
#include "engine/model_files/stored_tensor.hpp"

namespace sluice::engine {

/// What of a tensor is written.
enum class OutContent {
  numbers,       ///< The numbers, in an element type.
  mxfp4_blocks,  ///< The numbers in MXFP4, without scales.
  mxfp4_scales,  ///< The scales of the numbers in MXFP4.
  copy,          ///< The bytes of a stored tensor, unchanged.
};

struct OutTensor {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::int64_t bytes = 0;
  OutContent content = OutContent::numbers;
  ElementType type = ElementType::fp32;  ///< Type of OutContent::numbers.
  std::vector<PublishedPart> parts{};    ///< Tensors in memory that it consists of, if not copied.
  StoredTensor copied{};                 ///< What OutContent::copy copies.
};

[[nodiscard]] OutTensor numbers_out(const PublishedTensor& tensor, ElementType type);
/// NAME_blocks and NAME_scales. Throws BadRequest `--dtype: ...` if rows are not whole blocks.
[[nodiscard]] std::vector<OutTensor> mxfp4_out(const PublishedTensor& tensor);
[[nodiscard]] OutTensor copy_out(const StoredTensor& stored);

/// Receives the bytes of a tensor in order.
using ByteSink = std::function<void(std::span<const std::byte> bytes)>;

/// Sends a tensor's bytes to `sink`, at most planner::kStatePiece elements at a time, and returns
/// what rounding to MXFP4 blocks lost. `progress`, if any, receives numbers of elements of state.
/// Throws BadRequest naming tensor and element if a finite value is too large for the type.
RoundingError send(const OutTensor& tensor, StatePart part, const StateSource& source,
                   const ByteSink& sink,
                   const std::function<void(std::int64_t elements)>& progress);

}  // namespace sluice::engine
