// Reading JSON with errors that name the file, the field and the fix.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/json_document.hpp"
#include "sim/json_tree.hpp"

namespace sluice::sim {

/// Parses `text`, which messages call `where`. Throws BadRequest `WHERE: line L, column C: ...`,
/// also for a key given twice in one object. NaN, Infinity and numbers beyond double are kept as
/// marks that every typed access of JsonObject refuses, so that the error names the field.
[[nodiscard]] JsonDocument parse_json(std::string_view text, std::string_view where);

/// Contents of the file at `path`; `-` is standard input. Throws BadRequest naming the file and the
/// reason.
[[nodiscard]] std::string read_text_file(const std::string& path);

/// `value` as a short text on one line, for messages.
[[nodiscard]] std::string describe(const JsonValue& value);

class JsonObjects;

/// Typed read access to one object of a document, which must outlive it. Every error is a
/// BadRequest that begins with `WHERE: FIELD`. A field that is null counts as absent. Accesses
/// named find_ return none for an absent field; the others throw.
class JsonObject {
 public:
  /// Reads `value`, which messages call `where`: the file, or the file and an object in it
  /// ("g.json: task \"load0\""). Throws BadRequest if `value` is no object.
  JsonObject(const JsonValue& value, std::string where);
  JsonObject(const JsonDocument& document, std::string where)
      : JsonObject(document.root(), std::move(where)) {}

  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] std::vector<std::string> keys() const;

  /// The field's number, which must be finite.
  [[nodiscard]] double number(std::string_view key) const;
  [[nodiscard]] std::int64_t integer(std::string_view key) const;
  [[nodiscard]] bool boolean(std::string_view key) const;
  [[nodiscard]] std::string text(std::string_view key) const;
  /// The field's text as a view that is valid as long as the document.
  [[nodiscard]] std::string_view text_view(std::string_view key) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view key) const;
  [[nodiscard]] std::vector<std::string_view> text_views(std::string_view key) const;
  [[nodiscard]] std::vector<double> numbers(std::string_view key) const;
  [[nodiscard]] JsonObject object(std::string_view key) const;
  /// The field's list of objects. Throws BadRequest, before any object is read, if an item is no
  /// object.
  [[nodiscard]] JsonObjects objects(std::string_view key) const;

  /// The number that `member`, a member of json(), holds; checked and refused as number() does.
  [[nodiscard]] double number_of(const JsonValue& member) const;

  [[nodiscard]] std::optional<double> find_number(std::string_view key) const;
  [[nodiscard]] std::optional<std::int64_t> find_integer(std::string_view key) const;
  [[nodiscard]] std::optional<bool> find_boolean(std::string_view key) const;
  [[nodiscard]] std::optional<std::string> find_text(std::string_view key) const;
  [[nodiscard]] std::optional<JsonObject> find_object(std::string_view key) const;

  /// The untyped value of a field. Throws BadRequest if it is absent.
  [[nodiscard]] JsonValue value(std::string_view key) const;
  [[nodiscard]] const JsonValue& json() const { return value_; }

  /// Throws BadRequest if the object has a key that is not in `known`, naming that key and the
  /// known one nearest to it.
  void refuse_unknown(std::initializer_list<std::string_view> known) const;

  /// Throws BadRequest `WHERE: KEY: REASON`, where WHERE names the object.
  [[noreturn]] void fail(std::string_view key, const std::string& reason) const;

 private:
  [[nodiscard]] std::optional<JsonValue> find(std::string_view key) const;

  JsonValue value_;
  std::string where_;
};

/// List of objects, each of which is made when a loop comes to it, so that a long list takes no
/// memory.
class JsonObjects {
 public:
  class Iterator {
   public:
    Iterator(const JsonObjects* objects, JsonValue::Iterator item, std::size_t index)
        : objects_(objects), item_(item), index_(index) {}
    JsonObject operator*() const { return objects_->object(*item_, index_); }
    Iterator& operator++() {
      ++item_;
      ++index_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return item_ == other.item_; }

   private:
    const JsonObjects* objects_;
    JsonValue::Iterator item_;
    std::size_t index_;
  };

  /// Makes a list of no objects.
  JsonObjects() = default;
  /// Reads the list `list`. Throws BadRequest if it holds anything but objects. Messages call item
  /// i (from 0) `where[i]`.
  JsonObjects(const JsonValue& list, std::string where);

  [[nodiscard]] std::size_t size() const { return list_ ? list_->size() : 0; }
  [[nodiscard]] Iterator begin() const;
  [[nodiscard]] Iterator end() const;

 private:
  [[nodiscard]] JsonObject object(const JsonValue& item, std::size_t index) const;

  std::optional<JsonValue> list_;
  std::string where_;
};

}  // namespace sluice::sim
