#include "engine/run_folders/metrics.hpp"

#include <bit>
#include <cinttypes>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <fstream>
#include <string>

#include "planner/catalogue/store.hpp"
#include "planner/files/whole_file.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

constexpr std::size_t kMostRefused = std::size_t{512} << 10;

/// A line of text being written.
class Line {
 public:
  [[gnu::format(printf, 2, 3)]] void add(const char* format, ...) {
    std::va_list values;
    va_start(values, format);
    const int added = std::vsnprintf(text_ + length_, sizeof text_ - length_, format, values);
    va_end(values);
    check(added >= 0 && static_cast<std::size_t>(added) < sizeof text_ - length_,
          "a metrics line fits");
    length_ += static_cast<std::size_t>(added);
  }
  [[nodiscard]] std::string_view text() const { return {text_, length_}; }

 private:
  char text_[2048];
  std::size_t length_ = 0;
};

/// A JSON number, or null for values that JSON cannot hold.
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

/// Removes the lines of steps after `last`, rewriting the file so that a crash leaves either the
/// old file or the new one. Pipes and devices hold no lines, and some never end.
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

MetricsFile::MetricsFile(const std::filesystem::path& file) : file_(file, LineFile::Open::create) {
  refused_.reserve(kMostRefused);
}

MetricsFile::MetricsFile(const std::filesystem::path& file, std::int64_t last)
    : file_(cut_behind(file, last), LineFile::Open::append) {
  refused_.reserve(kMostRefused);
}

void MetricsFile::append(const StepMetrics& m) {
  Line line;
  line.add("{\"step\":%" PRId64, m.step);
  if (m.rehearsal) {
    line.add(
        ",\"rehearsal\":true,\"loss\":null,\"loss_bits\":null,\"grad_norm\":null,"
        "\"grad_norm_bits\":null");
  } else if (m.skipped) {
    line.add(
        ",\"skipped\":true,\"loss\":null,\"loss_bits\":null,\"grad_norm\":null,"
        "\"grad_norm_bits\":null");
  } else {
    line.add(",\"loss\":%s,\"loss_bits\":\"%016" PRIx64 "\",\"grad_norm\":%s",
             JsonNumber(m.loss).text, std::bit_cast<std::uint64_t>(m.loss),
             JsonNumber(m.grad_norm).text);
    line.add(",\"grad_norm_bits\":\"%016" PRIx64 "\"", std::bit_cast<std::uint64_t>(m.grad_norm));
    if (m.balance_loss) line.add(",\"balance_loss\":%s", JsonNumber(*m.balance_loss).text);
  }
  line.add(",\"lr\":%s,\"step_s\":%s,\"predicted_s\":%s", JsonNumber(m.lr).text,
           JsonNumber(m.step_time.count()).text, JsonNumber(m.predicted.count()).text);
  const double useful = static_cast<double>(m.useful_tokens) / m.step_time.count();
  line.add(",\"tokens\":%" PRId64 ",\"useful_tokens\":%" PRId64 ",\"target_tokens\":%" PRId64
           ",\"useful_tokens_per_s\":%s,\"mfu\":%s,\"busy\":{",
           m.tokens, m.useful_tokens, m.target_tokens, JsonNumber(useful).text,
           m.mfu ? JsonNumber(*m.mfu).text : "null");
  const char* comma = "";
  for (std::size_t lane = 0; lane < m.busy.size(); ++lane) {
    if (!m.busy[lane]) continue;
    line.add("%s\"%s\":%s", comma, to_string(static_cast<planner::LaneKind>(lane)),
             JsonNumber(*m.busy[lane]).text);
    comma = ",";
  }
  line.add("},\"moved_bytes\":{\"h2d\":%" PRId64 ",\"d2h\":%" PRId64, m.to_device.count(),
           m.to_host.count());
  if (m.from_disk) line.add(",\"disk-read\":%" PRId64, m.from_disk->count());
  if (m.to_disk) line.add(",\"disk-write\":%" PRId64, m.to_disk->count());
  line.add("}");
  if (m.gpu) {
    line.add(",\"gpu\":{\"temperature_c\":%s,\"power_w\":%s,\"clock_hz\":%s}",
             JsonNumber(m.gpu->temperature).text, JsonNumber(m.gpu->power).text,
             JsonNumber(m.gpu->clock).text);
  }
  if (m.val_loss) line.add(",\"val_loss\":%s", JsonNumber(*m.val_loss).text);
  line.add("}");
  write(line.text());
}

void MetricsFile::write(std::string_view line) {
  try {
    write_refused();
    file_.append(line);
  } catch (const EnvironmentError&) {
    if (refused_.size() + line.size() + 1 > kMostRefused) throw;
    refused_.append(line).append("\n");
  }
}

void MetricsFile::write_refused() {
  if (refused_.empty()) return;
  file_.append(std::string_view(refused_).substr(0, refused_.size() - 1));
  refused_.clear();
}

void MetricsFile::flush() {
  write_refused();
  file_.flush();
}

}  // namespace sluice::engine
