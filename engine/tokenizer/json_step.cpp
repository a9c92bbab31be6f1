#include "engine/tokenizer/json_step.hpp"

#include <nlohmann/json.hpp>

#include "sim/error.hpp"
#include "sim/utf8.hpp"

namespace sluice::engine {

using nlohmann::json;

JsonStep::JsonStep(const json& value, std::string where, std::string field)
    : value_(value), where_(std::move(where)), field_(std::move(field)) {
  if (!value_.is_object()) fail("must be an object");
  if (find("type") != nullptr) type_ = text("type");
}

void JsonStep::fail(const std::string& reason) const { throw BadRequest(place() + ": " + reason); }

void JsonStep::unsupported(const std::string& supported) const {
  if (type_.empty()) fail("type must be a string");
  fail("type \"" + type_ + "\" is not supported; supported: " + supported +
       " (another tokenizer.json may do the same with these)");
}

const json* JsonStep::find(const char* key) const {
  const auto found = value_.find(key);
  return found == value_.end() || found->is_null() ? nullptr : &*found;
}

std::string JsonStep::text(const char* key) const {
  const json* found = find(key);
  if (found == nullptr || !found->is_string()) fail(std::string(key) + " must be a string");
  return found->get<std::string>();
}

std::string JsonStep::text(const char* key, const std::string& otherwise) const {
  return find(key) == nullptr ? otherwise : text(key);
}

std::optional<bool> JsonStep::flag(const char* key) const {
  const json* found = find(key);
  if (found == nullptr) return std::nullopt;
  if (!found->is_boolean()) fail(std::string(key) + " must be true or false");
  return found->get<bool>();
}

bool JsonStep::flag(const char* key, bool otherwise) const { return flag(key).value_or(otherwise); }

std::int64_t JsonStep::count(const char* key) const {
  const json* found = find(key);
  constexpr std::int64_t kMost = 1 << 30;
  const bool small = found != nullptr && found->is_number_integer() && *found >= 0;
  if (!small || *found > kMost) fail(std::string(key) + " must be a count");
  return found->get<std::int64_t>();
}

char32_t JsonStep::character(const char* key, char32_t otherwise) const {
  if (find(key) == nullptr) return otherwise;
  const std::string value = text(key);
  const auto point = sim::code_point_at(value, 0);
  if (!point || point->bytes != value.size()) fail(std::string(key) + " must be one character");
  return point->value;
}

TextPattern JsonStep::pattern(const char* key) const {
  const json* found = find(key);
  if (found == nullptr) fail(std::string(key) + " is missing");
  for (const auto& [name, kind] : {std::pair("Regex", TextPattern::Kind::regex),
                                   std::pair("String", TextPattern::Kind::text)}) {
    if (found->is_object() && found->contains(name) && found->at(name).is_string()) {
      return {kind, found->at(name).get<std::string>(), place()};
    }
  }
  fail(std::string(key) + " must be an object with String or Regex");
}

std::vector<JsonStep> JsonStep::steps(const char* key) const {
  const json* found = find(key);
  if (found == nullptr || !found->is_array()) fail(std::string(key) + " must be a list");
  std::vector<JsonStep> steps;
  for (const json& each : *found) {
    steps.emplace_back(each, where_, field_ + "." + key + "[" + std::to_string(steps.size()) + "]");
  }
  return steps;
}

}  // namespace sluice::engine
