#include "sim/units_text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <span>
#include <vector>

#include "sim/error.hpp"
#include "sim/nearest_name.hpp"

namespace sluice::planner {
namespace {

struct UnitName {
  std::string_view name;
  double factor;
};

constexpr std::array<UnitName, 11> kByteUnits = {{{"B", 1},
                                                  {"KB", 1e3},
                                                  {"kB", 1e3},
                                                  {"MB", 1e6},
                                                  {"GB", 1e9},
                                                  {"TB", 1e12},
                                                  {"PB", 1e15},
                                                  {"KiB", 0x1p10},
                                                  {"MiB", 0x1p20},
                                                  {"GiB", 0x1p30},
                                                  {"TiB", 0x1p40}}};
constexpr std::array<UnitName, 11> kByteRates = {{{"B/s", 1},
                                                  {"KB/s", 1e3},
                                                  {"kB/s", 1e3},
                                                  {"MB/s", 1e6},
                                                  {"GB/s", 1e9},
                                                  {"TB/s", 1e12},
                                                  {"PB/s", 1e15},
                                                  {"KiB/s", 0x1p10},
                                                  {"MiB/s", 0x1p20},
                                                  {"GiB/s", 0x1p30},
                                                  {"TiB/s", 0x1p40}}};
constexpr std::array<UnitName, 11> kFlopRates = {{{"FLOP/s", 1},
                                                  {"KFLOP/s", 1e3},
                                                  {"MFLOP/s", 1e6},
                                                  {"GFLOP/s", 1e9},
                                                  {"TFLOP/s", 1e12},
                                                  {"PFLOP/s", 1e15},
                                                  {"FLOPS", 1},
                                                  {"MFLOPS", 1e6},
                                                  {"GFLOPS", 1e9},
                                                  {"TFLOPS", 1e12},
                                                  {"PFLOPS", 1e15}}};
constexpr std::array<UnitName, 6> kTimes = {
    {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"min", 60}, {"h", 3600}}};
constexpr std::array<UnitName, 5> kPerSecond = {
    {{"/s", 1}, {"K/s", 1e3}, {"M/s", 1e6}, {"G/s", 1e9}, {"T/s", 1e12}}};

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

[[noreturn]] void refuse(std::string_view field, const std::string& reason) {
  throw BadRequest(std::string(field) + ": " + reason);
}

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

struct Parts {
  double number;
  std::string_view unit;
};

Parts split(std::string_view text, std::string_view field, const char* example) {
  text = trimmed(text);
  Parts parts{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parts.number);
  if (error != std::errc() || !std::isfinite(parts.number)) {
    refuse(field, quoted(text) + " is not a quantity: write for example \"" + example + "\"");
  }
  if (parts.number < 0) refuse(field, quoted(text) + " must not be negative");
  parts.unit = trimmed(text.substr(static_cast<std::size_t>(end - text.data())));
  return parts;
}

double parse(std::string_view text, std::string_view field, std::span<const UnitName> units,
             const char* example) {
  const Parts parts = split(text, field, example);
  if (parts.unit.empty()) {
    if (parts.number == 0) return 0;
    refuse(field, quoted(trimmed(text)) + " has no unit: write for example \"" + example + "\"");
  }
  std::vector<std::string_view> names;
  for (const UnitName& unit : units) {
    if (unit.name == parts.unit) {
      const double value = parts.number * unit.factor;
      if (!std::isfinite(value)) refuse(field, quoted(trimmed(text)) + " is too large");
      return value;
    }
    names.push_back(unit.name);
  }
  refuse(field, quoted(parts.unit) + " is not a unit for this" +
                    sim::did_you_mean(parts.unit, std::span<const std::string_view>(names)) +
                    " (for example \"" + example + "\")");
}

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

/// `text` without a leading plus and without underscores between digits: "+1_000" is "1000".
std::string plain_digits(std::string_view text) {
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool between =
        i > 0 && i + 1 < text.size() && is_digit(text[i - 1]) && is_digit(text[i + 1]);
    if (text[i] != '_' || !between) digits += text[i];
  }
  return digits;
}

/// What to write in place of "15,000" and "$15k": `: write 15000`; empty for other texts.
std::string digits_hint(std::string_view text) {
  std::string digits;
  for (const char letter : text) {
    if (letter != ',' && letter != '$') digits += letter;
  }
  if (!digits.empty() && (digits.back() == 'k' || digits.back() == 'K')) {
    digits.pop_back();
    digits += "000";
  }
  for (const char letter : digits) {
    if (!is_digit(letter)) return "";
  }
  return digits.empty() || digits == text ? "" : ": write " + digits;
}

/// As `digits_hint`, and where "4k" may also mean a power of two: `: write 4000 or 4096`.
std::string count_hint(std::string_view text) {
  std::string hint = digits_hint(text);
  if (hint.empty() || (text.back() != 'k' && text.back() != 'K')) return hint;
  const std::string thousands = hint.substr(hint.rfind(' ') + 1);
  if (thousands.size() > 9) return hint;
  return hint + " or " + std::to_string(std::stoll(thousands) / 1000 * 1024);
}

/// Three significant digits with the largest unit of `units` (ascending) that leaves at least one.
std::string scaled(double value, std::span<const UnitName> units) {
  const UnitName* chosen = &units.front();
  for (const UnitName& unit : units) {
    if (std::abs(value) >= unit.factor * 0.9995) chosen = &unit;
  }
  const double number = value / chosen->factor;
  const double magnitude = std::abs(number);
  const int decimals = magnitude == 0 || magnitude >= 99.95 ? 0 : magnitude >= 9.995 ? 1 : 2;
  std::array<char, 64> buffer;
  if (magnitude != 0 && magnitude < 0.01) {
    std::snprintf(buffer.data(), buffer.size(), "%.3g", number);
  } else {
    std::snprintf(buffer.data(), buffer.size(), "%.*f", decimals, number);
  }
  std::string result = buffer.data();
  if (!chosen->name.empty()) result.append(" ").append(chosen->name);
  return result;
}

}  // namespace

Bytes parse_bytes(std::string_view text, std::string_view field) {
  const double value = parse(text, field, kByteUnits, "24 GiB");
  if (value >= 0x1p62) refuse(field, quoted(trimmed(text)) + " is too large");
  return Bytes(std::llround(value));
}

BytesPerSecond parse_bytes_per_second(std::string_view text, std::string_view field) {
  return BytesPerSecond(parse(text, field, kByteRates, "55.5 GB/s"));
}

FlopsPerSecond parse_flops_per_second(std::string_view text, std::string_view field) {
  return FlopsPerSecond(parse(text, field, kFlopRates, "989 TFLOP/s"));
}

Seconds parse_seconds(std::string_view text, std::string_view field) {
  return Seconds(parse(text, field, kTimes, "5 us"));
}

double parse_per_second(std::string_view text, std::string_view field) {
  return parse(text, field, kPerSecond, "5.7 G/s");
}

double parse_number(std::string_view text, std::string_view field) {
  text = trimmed(text);
  const std::string digits = plain_digits(text);
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(number)) {
    refuse(field, quoted(text) + " is not a number" + digits_hint(text));
  }
  return number;
}

std::int64_t parse_count(std::string_view text, std::string_view field) {
  text = trimmed(text);
  const std::string digits = plain_digits(text);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    refuse(field, quoted(text) + " is not a whole number" + count_hint(text));
  }
  if (number < 0) refuse(field, quoted(text) + " must not be negative");
  return number;
}

std::string format_bytes(Bytes bytes) {
  static constexpr std::array<UnitName, 5> kUnits = {
      {{"B", 1}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}}};
  if (std::abs(bytes.count()) < 1024) return std::to_string(bytes.count()) + " B";
  return scaled(static_cast<double>(bytes.count()), kUnits);
}

std::string format_rate(BytesPerSecond rate) {
  static constexpr std::array<UnitName, 5> kUnits = {
      {{"B/s", 1}, {"KB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}}};
  return scaled(rate.count(), kUnits);
}

std::string format_rate(FlopsPerSecond rate) {
  static constexpr std::array<UnitName, 5> kUnits = {
      {{"FLOP/s", 1}, {"MFLOP/s", 1e6}, {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}}};
  return scaled(rate.count(), kUnits);
}

std::string format_seconds(Seconds time) {
  static constexpr std::array<UnitName, 4> kUnits = {
      {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}}};
  if (time.count() == 0) return "0 s";
  return scaled(time.count(), kUnits);
}

std::string format_amount(double number) {
  static constexpr std::array<UnitName, 5> kUnits = {
      {{"", 1}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}}};
  return scaled(number, kUnits);
}

std::string format_exact(Bytes bytes) {
  static constexpr std::array<UnitName, 4> kUnits = {
      {{"TiB", 0x1p40}, {"GiB", 0x1p30}, {"MiB", 0x1p20}, {"KiB", 0x1p10}}};
  for (const UnitName& unit : kUnits) {
    const auto factor = static_cast<std::int64_t>(unit.factor);
    if (bytes.count() != 0 && bytes.count() % factor == 0) {
      return std::to_string(bytes.count() / factor) + " " + std::string(unit.name);
    }
  }
  return std::to_string(bytes.count()) + " B";
}

}  // namespace sluice::planner
