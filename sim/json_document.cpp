#include "sim/json_document.hpp"

namespace sluice::sim {

std::string_view JsonValue::key() const {
  const std::uint32_t name = document_->nodes_[node_].name;
  return name == JsonDocument::kNoName ? std::string_view() : document_->names_[name];
}

bool JsonValue::boolean() const { return document_->nodes_[node_].bits != 0; }

double JsonValue::number() const {
  const std::uint64_t bits = document_->nodes_[node_].bits;
  if (kind() == JsonKind::real) return std::bit_cast<double>(bits);
  if (kind() == JsonKind::natural) return static_cast<double>(bits);
  return static_cast<double>(static_cast<std::int64_t>(bits));
}

std::int64_t JsonValue::integer() const {
  return static_cast<std::int64_t>(document_->nodes_[node_].bits);
}

std::uint64_t JsonValue::natural() const { return document_->nodes_[node_].bits; }

std::string_view JsonValue::text() const {
  const JsonDocument::Node& node = document_->nodes_[node_];
  return {document_->letters_.data() + node.bits, node.size};
}

std::size_t JsonValue::size() const {
  return is_list() || is_object() ? document_->nodes_[node_].size : 0;
}

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
  if (!is_object()) return std::nullopt;
  for (const JsonValue member : *this) {
    if (member.key() == key) return member;
  }
  return std::nullopt;
}

}  // namespace sluice::sim
