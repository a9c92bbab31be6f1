// Reading JSON with errors that name the file, the field and the fix.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::sim {

/// Keys keep their file order.
using Json = nlohmann::ordered_json;

/// Parses `text`. Throws BadRequest `WHERE: line L, column C: ...`, also for a key given twice in
/// one object. NaN, Infinity and numbers beyond double are kept as marks that every typed access of
/// JsonObject refuses, so that the error names the field.
[[nodiscard]] Json parse_json(std::string_view text, std::string_view where);

/// The whole file (`-` is standard input). Throws BadRequest naming the file and the reason.
[[nodiscard]] std::string read_text_file(const std::string& path);

/// `value` for a message: short, on one line.
[[nodiscard]] std::string describe(const Json& value);

/// Typed read access to one JSON object that outlives it. Every error is a BadRequest that begins
/// with `WHERE: FIELD`. A field that is null counts as absent.
class JsonObject {
 public:
  /// `where` is the file, or the file and an object in it ("g.json: task \"load0\""). Throws where
  /// `value` is no object.
  JsonObject(const Json& value, std::string where);

  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] std::vector<std::string> keys() const;

  [[nodiscard]] double number(std::string_view key) const;  ///< Finite.
  [[nodiscard]] std::int64_t integer(std::string_view key) const;
  [[nodiscard]] bool boolean(std::string_view key) const;
  [[nodiscard]] std::string text(std::string_view key) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view key) const;
  [[nodiscard]] std::vector<double> numbers(std::string_view key) const;
  [[nodiscard]] JsonObject object(std::string_view key) const;
  [[nodiscard]] std::vector<JsonObject> objects(std::string_view key) const;

  [[nodiscard]] std::optional<double> find_number(std::string_view key) const;
  [[nodiscard]] std::optional<std::int64_t> find_integer(std::string_view key) const;
  [[nodiscard]] std::optional<bool> find_boolean(std::string_view key) const;
  [[nodiscard]] std::optional<std::string> find_text(std::string_view key) const;
  [[nodiscard]] std::optional<JsonObject> find_object(std::string_view key) const;

  /// The value itself; throws where absent.
  [[nodiscard]] const Json& value(std::string_view key) const;
  [[nodiscard]] const Json& json() const { return *value_; }

  /// Throws naming the first key that is not among `known` and the nearest one that is.
  void refuse_unknown(std::initializer_list<std::string_view> known) const;

  /// Throws BadRequest `WHERE: KEY: REASON`.
  [[noreturn]] void fail(std::string_view key, const std::string& reason) const;

 private:
  [[nodiscard]] const Json* find(std::string_view key) const;

  const Json* value_;
  std::string where_;
};

}  // namespace sluice::sim
