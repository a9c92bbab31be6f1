#include "engine/metrics.hpp"

#include <bit>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>

#include "planner/store.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

/// A JSON number, or null for what JSON cannot hold.
struct JsonNumber {
  explicit JsonNumber(double value) {
    if (std::isfinite(value)) {
      std::snprintf(text, sizeof text, "%.17g", value);
    } else {
      std::snprintf(text, sizeof text, "null");
    }
  }
  char text[32];
};

/// The lines of steps up to `last`, rewritten whole so that a crash leaves either all of the old
/// file or all of the new one. Pipes and devices hold no lines to keep, and some never end.
const std::filesystem::path& cut_behind(const std::filesystem::path& path, std::int64_t last) {
  if (!std::filesystem::is_regular_file(path)) return path;
  std::ifstream in(path, std::ios::binary);
  std::string kept;
  for (std::string line; std::getline(in, line) && !in.eof();) {
    std::int64_t step = 0;
    if (std::sscanf(line.c_str(), "{\"step\":%" SCNd64 ",", &step) != 1 || step > last) break;
    kept += line + '\n';
  }
  planner::write_whole_file(path, kept);
  return path;
}

}  // namespace

MetricsFile::MetricsFile(const std::filesystem::path& file, std::int64_t last)
    : file_(cut_behind(file, last), LineFile::Open::append) {}

void MetricsFile::append(const StepMetrics& m) {
  char line[512];
  const int length = std::snprintf(
      line, sizeof line,
      "{\"step\":%" PRId64 ",\"loss\":%s,\"loss_bits\":\"%016" PRIx64
      "\",\"grad_norm\":%s,\"grad_norm_bits\":\"%016" PRIx64
      "\",\"lr\":%s,\"step_s\":%s,\"predicted_s\":%s,\"tokens\":%" PRId64
      ",\"useful_tokens\":%" PRId64 ",\"target_tokens\":%" PRId64 "}",
      m.step, JsonNumber(m.loss).text, std::bit_cast<std::uint64_t>(m.loss),
      JsonNumber(m.grad_norm).text, std::bit_cast<std::uint64_t>(m.grad_norm),
      JsonNumber(m.lr).text, JsonNumber(m.step_time.count()).text,
      JsonNumber(m.predicted.count()).text, m.tokens, m.useful_tokens, m.target_tokens);
  check(length > 0 && static_cast<std::size_t>(length) < sizeof line, "a metrics line fits");
  file_.append({line, static_cast<std::size_t>(length)});
}

}  // namespace sluice::engine
