// A JSON text as a compact tree: sixteen bytes a value, and the name of a member kept once.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sluice::sim {

/// Kinds of a JSON value. A whole number is an `integer` where it has a minus sign and a `natural`
/// where it has none; a number with a point or an exponent, or beyond 64 bits, is `real`.
enum class JsonKind : std::uint8_t { null, boolean, integer, natural, real, text, list, object };

class JsonDocument;

/// View of one value of a document. The document must outlive the view and must not be moved.
class JsonValue {
 public:
  /// Iterator over the items of a list or the members of an object, in file order.
  class Iterator {
   public:
    Iterator(const JsonDocument* document, std::size_t node) : document_(document), node_(node) {}
    JsonValue operator*() const { return {*document_, node_}; }
    Iterator& operator++();
    bool operator==(const Iterator& other) const { return node_ == other.node_; }

   private:
    const JsonDocument* document_;
    std::size_t node_;
  };

  JsonValue(const JsonDocument& document, std::size_t node) : document_(&document), node_(node) {}

  [[nodiscard]] JsonKind kind() const;
  [[nodiscard]] bool is_null() const { return kind() == JsonKind::null; }
  [[nodiscard]] bool is_boolean() const { return kind() == JsonKind::boolean; }
  [[nodiscard]] bool is_text() const { return kind() == JsonKind::text; }
  [[nodiscard]] bool is_list() const { return kind() == JsonKind::list; }
  [[nodiscard]] bool is_object() const { return kind() == JsonKind::object; }
  /// Whether the value is an `integer` or a `natural`; "3.0" is not whole here.
  [[nodiscard]] bool is_whole() const;
  [[nodiscard]] bool is_number() const { return is_whole() || kind() == JsonKind::real; }

  /// The value's name as a member of an object; empty for the root and for items of lists.
  [[nodiscard]] std::string_view key() const;

  // Each of these may be called only on a value of its kind.
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] double number() const;          ///< A number of any kind, rounded to double.
  [[nodiscard]] std::int64_t integer() const;   ///< A whole number; it wraps beyond 2^63 - 1.
  [[nodiscard]] std::uint64_t natural() const;  ///< A whole number; it wraps below 0.
  [[nodiscard]] std::string_view text() const;

  /// Number of items of a list or members of an object; 0 for other values.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] Iterator begin() const;
  [[nodiscard]] Iterator end() const;
  /// The object's member named `key`; none if there is none or the value is no object. Takes time
  /// in proportion to the number of members.
  [[nodiscard]] std::optional<JsonValue> find(std::string_view key) const;
  [[nodiscard]] bool contains(std::string_view key) const { return find(key).has_value(); }

 private:
  const JsonDocument* document_;
  std::size_t node_;
};

/// A parsed JSON text, which owns the values in it (read by sim/json_reader.hpp). The text need not
/// outlive the document.
class JsonDocument {
 public:
  JsonDocument() = default;
  JsonDocument(JsonDocument&&) = default;
  JsonDocument& operator=(JsonDocument&&) = default;
  /// Not copied, because names are views of this document's own letters.
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;
  ~JsonDocument() = default;

  [[nodiscard]] JsonValue root() const { return {*this, 0}; }
  [[nodiscard]] std::size_t value_count() const { return nodes_.size(); }
  /// Work that reading took: one step for each value and one for each member compared again when
  /// repeated names were looked for. Linear reading keeps it below a fixed multiple of the number
  /// of values.
  [[nodiscard]] std::size_t reading_steps() const { return reading_steps_; }

 private:
  friend class JsonValue;
  friend class JsonBuilder;

  /// Name index of values without a name: the root, and items of lists.
  static constexpr std::uint32_t kNoName = (1U << 28U) - 1;

  /// One value. What a list or object contains follows it in `nodes_`.
  struct Node {
    std::uint32_t name : 28;  ///< Index of the value's name in `names_`, or kNoName.
    std::uint32_t kind : 4;
    /// Number of bytes of a text, of items of a list, or of members of an object.
    std::uint32_t size = 0;
    /// Bits of a number, offset of a text's first byte in `letters_`, or index in `nodes_` at which
    /// a list or object ends.
    std::uint64_t bits = 0;
  };
  static_assert(sizeof(Node) == 16);

  [[nodiscard]] std::size_t after(std::size_t node) const {
    const auto kind = static_cast<JsonKind>(nodes_[node].kind);
    return kind == JsonKind::list || kind == JsonKind::object ? nodes_[node].bits : node + 1;
  }

  std::vector<Node> nodes_;
  std::vector<char> letters_;
  std::vector<std::string_view> names_;
  std::size_t reading_steps_ = 0;
};

inline JsonKind JsonValue::kind() const {
  return static_cast<JsonKind>(document_->nodes_[node_].kind);
}
inline bool JsonValue::is_whole() const {
  return kind() == JsonKind::integer || kind() == JsonKind::natural;
}
inline JsonValue::Iterator& JsonValue::Iterator::operator++() {
  node_ = document_->after(node_);
  return *this;
}
inline JsonValue::Iterator JsonValue::begin() const { return {document_, node_ + 1}; }
inline JsonValue::Iterator JsonValue::end() const { return {document_, document_->after(node_)}; }

}  // namespace sluice::sim
