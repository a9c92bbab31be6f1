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

/// Predicted and measured step, and the bound; zero where unknown.
struct Headline {
  Seconds predicted{0}, low{0}, high{0};
  Seconds measured{0};  ///< Median of the measured steps.
  std::int64_t steps = 0;
  double tokens_per_s = 0;  ///< Measured throughput.
  Seconds bound{0};
  std::string bound_by{};
};
[[nodiscard]] sim::Json to_json(const Headline& headline);

/// Facts by name that identify what a page is about.
using Provenance = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] sim::Json to_json(const Provenance& provenance);

/// Everything that the page of `train` shows; the section of an empty or absent member is left out.
struct ReportData {
  std::string title;
  std::string subtitle;
  Headline headline;
  StepView step;
  std::vector<StepValue> train_loss;
  std::vector<StepValue> validation_loss;
  std::optional<double> unigram_entropy;  ///< Entropy of the unigram distribution in nats a token.
  std::vector<StepValue> step_times;      ///< Step times in seconds.
  Provenance provenance;
};

[[nodiscard]] std::string report_html(const ReportData& report);

}  // namespace sluice::profiler
