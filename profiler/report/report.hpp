// The page about a training run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profiler/report/step_view.hpp"
#include "sim/units.hpp"

namespace sluice::profiler {

struct StepValue {
  std::int64_t step;
  double value;
};

/// Predicted and measured step, and what they are judged by; zero where unknown.
struct Headline {
  Seconds predicted{0}, low{0}, high{0};
  Seconds measured{0};  ///< Median.
  std::int64_t steps = 0;
  double tokens_per_s = 0;  ///< Measured.
  Seconds bound{0};
  std::string bound_by{};
};
[[nodiscard]] sim::Json to_json(const Headline& headline);

/// Facts that identify what a page is about, by name.
using Provenance = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] sim::Json to_json(const Provenance& provenance);

/// Everything the page of `train` shows; what is empty or absent leaves its section out.
struct ReportData {
  std::string title;
  std::string subtitle;
  Headline headline;
  StepView step;
  std::vector<StepValue> train_loss;
  std::vector<StepValue> validation_loss;
  std::optional<double> unigram_entropy;  ///< Nats a token.
  std::vector<StepValue> step_times;      ///< Seconds.
  Provenance provenance;
};

[[nodiscard]] std::string report_html(const ReportData& report);

}  // namespace sluice::profiler
