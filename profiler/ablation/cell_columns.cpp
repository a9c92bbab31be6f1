#include "profiler/ablation/cell_columns.hpp"

#include <algorithm>
#include <array>

namespace sluice::profiler {
namespace {

/// Columns of cells.csv after those of the factors.
constexpr std::array kColumns = {"status",
                                 "reason",
                                 "tier",
                                 "short_bytes",
                                 "machine",
                                 "step_s",
                                 "step_s_low",
                                 "step_s_high",
                                 "tokens_per_s",
                                 "model_tflops",
                                 "mfu",
                                 "bound_s",
                                 "bound_by",
                                 "limited_by",
                                 "hbm_peak_bytes",
                                 "host_peak_bytes",
                                 "measured_s",
                                 "measured_s_low",
                                 "measured_s_high",
                                 "measured_steps",
                                 "plan",
                                 "plan_hash",
                                 "job_hash",
                                 "profile_hash",
                                 "optimality_gap",
                                 "beside_first",
                                 "beside_first_low",
                                 "beside_first_high"};

/// Column of cells.csv before those of the factors.
constexpr const char* kFirst = "cell";

}  // namespace

std::string cell_header(const Experiment& experiment) {
  std::string text = kFirst;
  for (const Factor& factor : experiment.factors) text += "," + csv_field(column_of(factor));
  for (const char* column : kColumns) text.append(",").append(column);
  return text + "\n";
}

std::string column_of(const Factor& factor) {
  const auto is_name = [&factor](const char* column) { return factor.name == column; };
  const bool taken = is_name(kFirst) || std::ranges::any_of(kColumns, is_name);
  return taken ? "factor." + factor.name : factor.name;
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) {
    if (letter == '"') quoted += '"';
    quoted += letter;
  }
  return quoted + "\"";
}

}  // namespace sluice::profiler
