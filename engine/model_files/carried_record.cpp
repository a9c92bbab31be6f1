#include "engine/model_files/carried_record.hpp"

#include <algorithm>
#include <set>

#include "planner/files/hash.hpp"
#include "sim/units_text.hpp"

namespace sluice::engine {

std::string carried_hash(const StoredTensor& stored) {
  planner::Sha256 sha;
  sha.update(stored.entry->dtype + " " + shape_text(stored.entry->shape) + "\n");
  for_each_piece(stored, [&](std::span<const std::byte> piece) { sha.update(piece); });
  return sha.hex();
}

CarriedRecord size_carried(const StoredTensors& carried) {
  CarriedRecord record{.tensors = std::ssize(carried)};
  for (const auto& [name, stored] : carried) record.bytes += stored.bytes();
  return record;
}

CarriedRecord record_carried(const StoredTensors& carried) {
  CarriedRecord record = size_carried(carried);
  for (const auto& [name, stored] : carried) record.sha256.emplace(name, carried_hash(stored));
  return record;
}

std::string text_of(const CarriedRecord& record) {
  return std::to_string(record.tensors) + " tensors (" + planner::format_bytes(record.bytes) + ")";
}

std::vector<std::string> parts_of(const StoredTensors& carried) {
  std::set<std::string> parts;
  for (const auto& [name, stored] : carried) {
    parts.insert(name.substr(0, name.find('.', name.starts_with("model.") ? 6 : 0)));
  }
  return {parts.begin(), parts.end()};
}

}  // namespace sluice::engine
