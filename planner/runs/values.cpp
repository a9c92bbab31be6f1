#include "planner/runs/values.hpp"

#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {

bool is_none(const std::string& value) { return value.empty() || value == "null" || value == "~"; }
bool says_off(const std::string& value) {
  return is_none(value) || value == "off" || value == "none" || value == "false";
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
  if (value == "true" || value == "yes" || value == "on") return true;
  if (value == "false" || value == "no" || value == "off" || is_none(value)) return false;
  throw BadRequest(path + ": \"" + value + "\" must be true or false");
}

}  // namespace sluice::planner
