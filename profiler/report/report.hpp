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

/// Numbers at the top of a page: predicted step with its interval, measured step, and bound. Zero
/// where unknown.
struct Headline {
  Seconds predicted{0}, low{0}, high{0};
  Seconds measured{0};  ///< Median of the measured step times.
  std::int64_t steps = 0;
  double tokens_per_s = 0;  ///< Measured tokens per second.
  Seconds bound{0};
  std::string bound_by{};
};
[[nodiscard]] sim::Json to_json(const Headline& headline);

/// Names and values of facts that identify what a page is about, such as hashes.
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
  /// Entropy of the tokens' frequencies (unigrams) in nats per token; none where it is not known.
  std::optional<double> unigram_entropy;
  std::vector<StepValue> step_times;  ///< Time of each step in seconds.
  Provenance provenance;
};

[[nodiscard]] std::string report_html(const ReportData& report);

}  // namespace sluice::profiler
