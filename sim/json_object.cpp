#include "sim/json_object.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "sim/error.hpp"
#include "sim/nearest_name.hpp"

namespace sluice::sim {
namespace {

constexpr std::size_t kShown = 60;  ///< Characters of a value that a message shows.
constexpr const char* kNonFinite = "\x01non-finite";

bool is_non_finite(const Json& value) {
  return value.is_object() && value.size() == 1 && value.begin().key() == kNonFinite;
}

}  // namespace

std::string describe(const Json& value) {
  if (is_non_finite(value)) return value.begin().value().get<std::string>();
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  std::string shown = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (shown.size() > kShown) shown = shown.substr(0, kShown) + "...";
  return shown;
}

JsonObject::JsonObject(const Json& value, std::string where)
    : value_(&value), where_(std::move(where)) {
  if (!value.is_object() || is_non_finite(value)) {
    throw BadRequest(where_ + ": must be an object {...}, not " + describe(value));
  }
}

const Json* JsonObject::find(std::string_view key) const {
  for (auto item = value_->begin(); item != value_->end(); ++item) {
    if (item.key() == key) return item.value().is_null() ? nullptr : &item.value();
  }
  return nullptr;
}

bool JsonObject::has(std::string_view key) const { return find(key) != nullptr; }

std::vector<std::string> JsonObject::keys() const {
  std::vector<std::string> names;
  for (auto item = value_->begin(); item != value_->end(); ++item) names.push_back(item.key());
  return names;
}

void JsonObject::fail(std::string_view key, const std::string& reason) const {
  throw BadRequest(where_ + ": " + std::string(key) + ": " + reason);
}

const Json& JsonObject::value(std::string_view key) const {
  const Json* found = find(key);
  if (found == nullptr) {
    throw BadRequest(where_ + ": \"" + std::string(key) + "\" is missing; add it");
  }
  return *found;
}

double JsonObject::number(std::string_view key) const {
  const Json& found = value(key);
  if (!found.is_number()) fail(key, "must be a finite number, not " + describe(found));
  const double number = found.get<double>();
  if (!std::isfinite(number)) fail(key, "must be a finite number, not " + describe(found));
  return number;
}

std::int64_t JsonObject::integer(std::string_view key) const {
  const Json& found = value(key);
  if (found.is_number_unsigned() && found.get<std::uint64_t>() <= INT64_MAX) {
    return found.get<std::int64_t>();
  }
  if (found.is_number_integer() && !found.is_number_unsigned()) return found.get<std::int64_t>();
  constexpr double kExact = 9007199254740992.0;  // 2^53: whole numbers up to here are exact.
  if (found.is_number_float()) {
    const double number = found.get<double>();
    if (std::trunc(number) == number && std::abs(number) <= kExact) {
      return static_cast<std::int64_t>(number);
    }
  }
  fail(key, "must be a whole number, not " + describe(found));
}

bool JsonObject::boolean(std::string_view key) const {
  const Json& found = value(key);
  if (!found.is_boolean()) fail(key, "must be true or false, not " + describe(found));
  return found.get<bool>();
}

std::string JsonObject::text(std::string_view key) const {
  const Json& found = value(key);
  if (!found.is_string()) fail(key, "must be a string, not " + describe(found));
  return found.get<std::string>();
}

std::vector<std::string> JsonObject::texts(std::string_view key) const {
  const Json& found = value(key);
  if (!found.is_array()) fail(key, "must be a list of strings, not " + describe(found));
  std::vector<std::string> items;
  items.reserve(found.size());
  for (const Json& item : found) {
    if (!item.is_string()) fail(key, "must be a list of strings, but holds " + describe(item));
    items.push_back(item.get<std::string>());
  }
  return items;
}

std::vector<double> JsonObject::numbers(std::string_view key) const {
  const Json& found = value(key);
  if (!found.is_array()) fail(key, "must be a list of numbers, not " + describe(found));
  std::vector<double> items;
  items.reserve(found.size());
  for (const Json& item : found) {
    if (!item.is_number() || !std::isfinite(item.get<double>())) {
      fail(key, "must be a list of finite numbers, but holds " + describe(item));
    }
    items.push_back(item.get<double>());
  }
  return items;
}

JsonObject JsonObject::object(std::string_view key) const {
  return {value(key), where_ + ": " + std::string(key)};
}

std::vector<JsonObject> JsonObject::objects(std::string_view key) const {
  const Json& found = value(key);
  if (!found.is_array()) fail(key, "must be a list of objects, not " + describe(found));
  std::vector<JsonObject> items;
  items.reserve(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    items.emplace_back(found[i], where_ + ": " + std::string(key) + "[" + std::to_string(i) + "]");
  }
  return items;
}

std::optional<double> JsonObject::find_number(std::string_view key) const {
  return has(key) ? std::optional(number(key)) : std::nullopt;
}
std::optional<std::int64_t> JsonObject::find_integer(std::string_view key) const {
  return has(key) ? std::optional(integer(key)) : std::nullopt;
}
std::optional<bool> JsonObject::find_boolean(std::string_view key) const {
  return has(key) ? std::optional(boolean(key)) : std::nullopt;
}
std::optional<std::string> JsonObject::find_text(std::string_view key) const {
  return has(key) ? std::optional(text(key)) : std::nullopt;
}
std::optional<JsonObject> JsonObject::find_object(std::string_view key) const {
  return has(key) ? std::optional(object(key)) : std::nullopt;
}

void JsonObject::refuse_unknown(std::initializer_list<std::string_view> known) const {
  const std::span<const std::string_view> names(known.begin(), known.size());
  for (auto item = value_->begin(); item != value_->end(); ++item) {
    const std::string& key = item.key();
    if (std::find(names.begin(), names.end(), key) == names.end()) {
      throw BadRequest(where_ + ": unknown key \"" + key + "\"" + did_you_mean(key, names));
    }
  }
}

}  // namespace sluice::sim
