#include "planner/runs/values.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {

namespace {

/// `value` in lower case where it is a word of YAML in one of its three spellings (true, True,
/// TRUE), else `value`.
std::string word_of(const std::string& value) {
  constexpr std::array kWords = {"true", "false", "yes", "no", "on", "off", "null", "none"};
  std::string small = value;
  for (char& letter : small) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  if (std::ranges::find(kWords, small) == kWords.end()) return value;
  const bool all = std::ranges::none_of(value, [](unsigned char x) { return std::islower(x); });
  const bool first = value.substr(1) == small.substr(1);
  return all || first ? small : value;
}

}  // namespace

bool is_none(const std::string& value) {
  return value.empty() || value == "~" || value == "None" || word_of(value) == "null";
}

bool says_off(const std::string& value) {
  const std::string word = word_of(value);
  return is_none(value) || word == "off" || word == "none" || word == "false" || word == "no";
}

bool says_true(const std::string& value) {
  const std::string word = word_of(value);
  return word == "true" || word == "yes" || word == "on";
}

std::int64_t parse_positive(const std::string& value, const std::string& path) {
  const std::int64_t count = parse_count(value, path);
  if (count == 0) throw BadRequest(path + ": must be at least 1");
  return count;
}

std::optional<Bytes> parse_limit(const std::string& value, const std::string& path) {
  if (is_none(value)) return std::nullopt;
  const Bytes bytes = parse_bytes(value, path);
  if (bytes == Bytes(0) && path != "limits.disk") throw BadRequest(path + ": must be more than 0");
  return bytes;
}

std::optional<BytesPerSecond> parse_rate_limit(const std::string& value, const std::string& path) {
  if (is_none(value)) return std::nullopt;
  const BytesPerSecond rate = parse_bytes_per_second(value, path);
  if (!(rate.count() > 0)) throw BadRequest(path + ": must be more than 0");
  return rate;
}

std::string parse_name(const std::string& value, const std::string& path) {
  if (is_none(value)) throw BadRequest(path + ": has no value");
  return value;
}

std::optional<std::filesystem::path> parse_file(const std::string& value) {
  if (is_none(value)) return std::nullopt;
  return value;
}

double parse_between(const std::string& value, const std::string& path, double least, double most) {
  const double number = parse_number(value, path);
  if (number < least || number > most) {
    throw BadRequest(path + ": \"" + value + "\" must be between " + format_amount(least) +
                     " and " + format_amount(most));
  }
  return number;
}

double parse_non_negative(const std::string& value, const std::string& path) {
  const double number = parse_number(value, path);
  if (number < 0) throw BadRequest(path + ": \"" + value + "\" must not be negative");
  return number;
}

bool parse_yes_or_no(const std::string& value, const std::string& path) {
  if (says_true(value)) return true;
  if (says_off(value)) return false;
  throw BadRequest(path + ": \"" + value + "\" must be true or false");
}

}  // namespace sluice::planner
