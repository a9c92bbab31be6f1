#include "planner/costs/calibration.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

#include "planner/files/append_file.hpp"
#include "planner/files/whole_file.hpp"
#include "sim/error.hpp"
#include "sim/json_object.hpp"
#include "sim/trace_json.hpp"

namespace sluice::planner {
namespace {

using sim::Json;
using sim::JsonObject;

constexpr std::array kTimings{sim::SpanSource::cupti, sim::SpanSource::event,
                              sim::SpanSource::clock};

constexpr const char* kCalibrationSchema = "sluice/calibration/1";

CalibrationSample to_sample(const JsonObject& json) {
  CalibrationSample sample;
  sample.profile_hash = json.text("profile_hash");
  sample.key = CostKey(json.text("cost_key"));
  sample.value = json.number("value");
  sample.deviation = json.number("deviation");
  sample.count = json.integer("count");
  sample.source = json.text("source");
  sample.time = json.text("time");
  if (const auto timing = json.find_text("timing")) {
    const auto known = std::find_if(kTimings.begin(), kTimings.end(), [&](sim::SpanSource source) {
      return sim::source_name(source) == *timing;
    });
    if (known == kTimings.end()) json.fail("timing", "must be \"cupti\", \"event\" or \"clock\"");
    sample.timing = *known;
  }
  if (sample.value < 0) json.fail("value", "must not be negative");
  if (sample.deviation < 0) json.fail("deviation", "must not be negative");
  if (sample.count < 1) json.fail("count", "must be at least 1");
  return sample;
}

void read_line(const std::string& line, const std::string& where, const std::string& profile_hash,
               Calibration& calibration) {
  const sim::JsonDocument parsed = sim::parse_json(line, where);
  const JsonObject json(parsed, where);
  if (json.text("schema") != kCalibrationSchema) {
    json.fail("schema", std::string("must be \"") + kCalibrationSchema + "\"");
  }
  if (json.find_boolean("reset").value_or(false)) {
    if (json.text("profile_hash") == profile_hash) calibration.clear();
    return;
  }
  const CalibrationSample sample = to_sample(json);
  if (sample.profile_hash != profile_hash) return;
  const auto [at, added] = calibration.emplace(sample.key, sample);
  if (!added) at->second = merge(at->second, sample);
}

}  // namespace

CalibrationSample merge(const CalibrationSample& a, const CalibrationSample& b) {
  const auto n_a = static_cast<double>(a.count);
  const auto n_b = static_cast<double>(b.count);
  const double n = n_a + n_b;
  const double apart = b.value - a.value;
  CalibrationSample merged = a;
  merged.value = a.value + apart * n_b / n;
  // The deviation of two groups with variances about their own means is within plus between (Chan
  // et al. 1979, eq. 2.1, for population variances).
  merged.deviation =
      std::sqrt((n_a * a.deviation * a.deviation + n_b * b.deviation * b.deviation) / n +
                apart * apart * n_a * n_b / (n * n));
  merged.count = a.count + b.count;
  const CalibrationSample& later = a.time > b.time ? a : b;
  merged.source = later.source;
  merged.timing = later.timing;
  merged.time = later.time;
  return merged;
}

Calibration merged(const Calibration& known, Calibration learnt) {
  constexpr double kRounding = 1e-9;
  for (auto& [key, sample] : learnt) {
    const auto before = known.find(key);
    if (before == known.end()) continue;
    const double value = before->second.value;
    if (std::abs(sample.value - value) > kRounding * std::abs(value)) {
      sample = merge(before->second, sample);
    }
  }
  return learnt;
}

void append_calibration(const std::filesystem::path& file,
                        std::span<const CalibrationSample> samples) {
  std::string lines;
  for (const CalibrationSample& sample : samples) {
    check(std::isfinite(sample.value) && sample.value >= 0 && std::isfinite(sample.deviation) &&
              sample.deviation >= 0 && sample.count >= 1,
          "a calibration sample is finite, not negative and counted");
    const Json json = {{"schema", kCalibrationSchema},
                       {"profile_hash", sample.profile_hash},
                       {"cost_key", sample.key.name()},
                       {"value", sample.value},
                       {"deviation", sample.deviation},
                       {"count", sample.count},
                       {"source", sample.source},
                       {"timing", sim::source_name(sample.timing)},
                       {"time", sample.time}};
    lines += json.dump() + "\n";
  }
  append_lines(file, lines);
}

void reset_calibration(const std::filesystem::path& file, const std::string& profile_hash) {
  const Json json = {{"schema", kCalibrationSchema},
                     {"profile_hash", profile_hash},
                     {"reset", true},
                     {"time", utc_now()}};
  append_lines(file, json.dump() + "\n");
}

Calibration load_calibration(const std::filesystem::path& file, const std::string& profile_hash) {
  Calibration calibration;
  if (!std::filesystem::exists(file)) return calibration;
  const std::string text = read_whole_file(file);
  std::size_t number = 1;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;  // A crash cut the last line short.
    const std::string line = text.substr(begin, end - begin);
    if (!line.empty()) {
      read_line(line, file.string() + ":" + std::to_string(number), profile_hash, calibration);
    }
    begin = end + 1;
  }
  return calibration;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> buffer;
  const std::size_t size = std::strftime(buffer.data(), buffer.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {buffer.data(), size};
}

}  // namespace sluice::planner
