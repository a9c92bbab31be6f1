// One object of a tokenizer.json, with its place for messages.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/tokenizer/text_pattern.hpp"

namespace sluice::engine {

/// A step of a tokenizer (a normalizer, a pre-tokenizer, ...). Every reading throws BadRequest
/// `WHERE: FIELD: ...` where the value is not of its kind.
class JsonStep {
 public:
  /// `where` names the file, `field` the step in it.
  JsonStep(const nlohmann::json& value, std::string where, std::string field);

  /// The kind of step: the value of `type`.
  [[nodiscard]] const std::string& type() const { return type_; }
  [[nodiscard]] const nlohmann::json& value() const { return value_; }
  [[nodiscard]] std::string place() const { return where_ + ": " + field_; }

  [[nodiscard]] std::string text(const char* key) const;
  [[nodiscard]] std::string text(const char* key, const std::string& otherwise) const;
  [[nodiscard]] bool flag(const char* key, bool otherwise) const;
  [[nodiscard]] std::optional<bool> flag(const char* key) const;
  [[nodiscard]] std::int64_t count(const char* key) const;
  /// The text in field `key`, which must be a single character; `otherwise` if the field is absent.
  [[nodiscard]] char32_t character(const char* key, char32_t otherwise) const;
  /// The pattern in field `key`: {"String": ...} or {"Regex": ...}.
  [[nodiscard]] TextPattern pattern(const char* key) const;
  /// The steps in the list that is field `key`.
  [[nodiscard]] std::vector<JsonStep> steps(const char* key) const;

  [[noreturn]] void fail(const std::string& reason) const;
  /// Throws BadRequest that names this step's type and the supported ones.
  [[noreturn]] void unsupported(const std::string& supported) const;

 private:
  [[nodiscard]] const nlohmann::json* find(const char* key) const;

  const nlohmann::json& value_;
  std::string where_, field_, type_;
};

}  // namespace sluice::engine
