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

bool is_non_finite(const JsonValue& value) {
  if (!value.is_object() || value.size() != 1) return false;
  const JsonValue only = *value.begin();
  return only.key() == kNonFinite && only.is_text();
}

}  // namespace

std::string describe(const JsonValue& value) {
  if (is_non_finite(value)) return std::string((*value.begin()).text());
  if (value.is_object()) return "an object";
  if (value.is_list()) return "a list";
  std::string shown = json_tree(value).dump(-1, ' ', false, Json::error_handler_t::replace);
  if (shown.size() > kShown) shown = shown.substr(0, kShown) + "...";
  return shown;
}

JsonObject::JsonObject(const JsonValue& value, std::string where)
    : value_(value), where_(std::move(where)) {
  if (!value.is_object() || is_non_finite(value)) {
    throw BadRequest(where_ + ": must be an object {...}, not " + describe(value));
  }
}

std::optional<JsonValue> JsonObject::find(std::string_view key) const {
  const std::optional<JsonValue> found = value_.find(key);
  return found && !found->is_null() ? found : std::nullopt;
}

bool JsonObject::has(std::string_view key) const { return find(key).has_value(); }

std::vector<std::string> JsonObject::keys() const {
  std::vector<std::string> names;
  names.reserve(value_.size());
  for (const JsonValue member : value_) names.emplace_back(member.key());
  return names;
}

void JsonObject::fail(std::string_view key, const std::string& reason) const {
  throw BadRequest(where_ + ": " + std::string(key) + ": " + reason);
}

JsonValue JsonObject::value(std::string_view key) const {
  const std::optional<JsonValue> found = find(key);
  if (!found) {
    throw BadRequest(where_ + ": \"" + std::string(key) + "\" is missing; add it");
  }
  return *found;
}

double JsonObject::number(std::string_view key) const { return number_of(value(key)); }

double JsonObject::number_of(const JsonValue& member) const {
  if (member.is_null()) return number(member.key());
  if (!member.is_number() || !std::isfinite(member.number())) {
    fail(member.key(), "must be a finite number, not " + describe(member));
  }
  return member.number();
}

std::int64_t JsonObject::integer(std::string_view key) const {
  const JsonValue found = value(key);
  if (found.kind() == JsonKind::natural && found.natural() <= INT64_MAX) return found.integer();
  if (found.kind() == JsonKind::integer) return found.integer();
  constexpr double kExact = 9007199254740992.0;  // 2^53: whole numbers up to here are exact.
  if (found.kind() == JsonKind::real) {
    const double number = found.number();
    if (std::trunc(number) == number && std::abs(number) <= kExact) {
      return static_cast<std::int64_t>(number);
    }
  }
  fail(key, "must be a whole number, not " + describe(found));
}

bool JsonObject::boolean(std::string_view key) const {
  const JsonValue found = value(key);
  if (!found.is_boolean()) fail(key, "must be true or false, not " + describe(found));
  return found.boolean();
}

std::string JsonObject::text(std::string_view key) const { return std::string(text_view(key)); }

std::string_view JsonObject::text_view(std::string_view key) const {
  const JsonValue found = value(key);
  if (!found.is_text()) fail(key, "must be a string, not " + describe(found));
  return found.text();
}

std::vector<std::string> JsonObject::texts(std::string_view key) const {
  const std::vector<std::string_view> items = text_views(key);
  return {items.begin(), items.end()};
}

std::vector<std::string_view> JsonObject::text_views(std::string_view key) const {
  const JsonValue found = value(key);
  if (!found.is_list()) fail(key, "must be a list of strings, not " + describe(found));
  std::vector<std::string_view> items;
  items.reserve(found.size());
  for (const JsonValue item : found) {
    if (!item.is_text()) fail(key, "must be a list of strings, but holds " + describe(item));
    items.push_back(item.text());
  }
  return items;
}

std::vector<double> JsonObject::numbers(std::string_view key) const {
  const JsonValue found = value(key);
  if (!found.is_list()) fail(key, "must be a list of numbers, not " + describe(found));
  std::vector<double> items;
  items.reserve(found.size());
  for (const JsonValue item : found) {
    if (!item.is_number() || !std::isfinite(item.number())) {
      fail(key, "must be a list of finite numbers, but holds " + describe(item));
    }
    items.push_back(item.number());
  }
  return items;
}

JsonObject JsonObject::object(std::string_view key) const {
  return {value(key), where_ + ": " + std::string(key)};
}

JsonObjects JsonObject::objects(std::string_view key) const {
  const JsonValue found = value(key);
  if (!found.is_list()) fail(key, "must be a list of objects, not " + describe(found));
  return {found, where_ + ": " + std::string(key)};
}

JsonObjects::JsonObjects(const JsonValue& list, std::string where)
    : list_(list), where_(std::move(where)) {
  std::size_t index = 0;
  for (const JsonValue item : list) {
    if (!item.is_object() || is_non_finite(item)) (void)object(item, index);
    ++index;
  }
}

JsonObject JsonObjects::object(const JsonValue& item, std::size_t index) const {
  return {item, where_ + "[" + std::to_string(index) + "]"};
}

JsonObjects::Iterator JsonObjects::begin() const {
  return {this, list_ ? list_->begin() : JsonValue::Iterator(nullptr, 0), 0};
}

JsonObjects::Iterator JsonObjects::end() const {
  return {this, list_ ? list_->end() : JsonValue::Iterator(nullptr, 0), 0};
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
  for (const JsonValue member : value_) {
    const std::string_view key = member.key();
    if (std::find(names.begin(), names.end(), key) == names.end()) {
      throw BadRequest(where_ + ": unknown key \"" + std::string(key) + "\"" +
                       did_you_mean(key, names));
    }
  }
}

}  // namespace sluice::sim
