// Report on a folder's weights, from the headers of its files, without reading weights.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "planner/models/shape.hpp"
#include "sim/units.hpp"

namespace sluice::engine {

/// A tensor whose shape in the files is not the one that config.json makes it.
struct TensorMisfit {
  /// Shapes as text, "[64, 128]": in the files and by config.json.
  std::string name, found, wanted;
};

struct WeightsReport {
  /// Reason why the weights cannot be read, as training would refuse them; empty where they can.
  std::string refused;
  std::size_t files = 0;
  Bytes bytes{0};                             ///< Bytes of all tensors in the files.
  std::map<std::string, std::size_t> dtypes;  ///< Number of tensors of each dtype ("BF16").
  std::vector<std::string> missing;           ///< Tensors of the model that no file has.
  std::vector<std::string> surplus;  ///< Tensors of the files that the model does not have.
  /// Tensors of the files that are not read: buffers, copies of others, and those of parts that
  /// are carried and not trained.
  std::vector<std::string> unread;
  std::vector<TensorMisfit> misfits;
  bool stacked_experts = false;  ///< Whether a block's experts lie in the files as one tensor.
};

/// Compares the headers of the folder's weights with the tensors of `shape`. What training would
/// refuse is reported, not thrown.
[[nodiscard]] WeightsReport report_weights(const std::filesystem::path& folder,
                                           const planner::ModelShape& shape);

}  // namespace sluice::engine
