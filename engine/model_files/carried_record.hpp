// Record of tensors that a run carries from its model's folder to its exports.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/model_files/stored_tensor.hpp"
#include "sim/units.hpp"

namespace sluice::engine {

/// Tensors of a model's folder that are no part of its text model: they are not trained, and an
/// export copies them from there.
struct CarriedRecord {
  std::int64_t tensors = 0;
  Bytes bytes{0};
  /// carried_hash of every tensor by its name; empty in checkpoints that recorded none.
  std::map<std::string, std::string> sha256{};
  friend bool operator==(const CarriedRecord&, const CarriedRecord&) = default;
};

/// SHA-256 of the line "DTYPE SHAPE", such as "F16 [1, 3]", and of the tensor's bytes behind it.
/// Pages leave memory as they were read.
[[nodiscard]] std::string carried_hash(const StoredTensor& stored);

/// Record of `carried`, every byte of which is read.
[[nodiscard]] CarriedRecord record_carried(const StoredTensors& carried);

/// Number and size of `carried`: its record without hashes.
[[nodiscard]] CarriedRecord size_carried(const StoredTensors& carried);

/// "N tensors (SIZE)".
[[nodiscard]] std::string text_of(const CarriedRecord& record);

/// Beginnings of the names of `carried`, each once, such as "model.visual" and "mtp".
[[nodiscard]] std::vector<std::string> parts_of(const StoredTensors& carried);

}  // namespace sluice::engine
