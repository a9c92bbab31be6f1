// One self-contained HTML page about a run: no network, light and dark, every text escaped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profiler/comparison.hpp"
#include "sim/trace.hpp"
#include "sim/units.hpp"

namespace sluice::profiler {

/// A named part of a step's time, in the order the waterfall adds them up.
struct TimePart {
  std::string name;
  Seconds time;
};
struct Waterfall {
  std::string name;  ///< "predicted", "measured"
  std::vector<TimePart> parts;
};

struct MemoryTier {
  struct Part {
    std::string name;
    Bytes bytes;
  };
  std::string tier;
  Bytes predicted{0};
  Bytes capacity{0};
  std::optional<Bytes> measured;
  std::vector<Part> parts;
};

struct StepValue {
  std::int64_t step;
  double value;
};

/// Everything the page shows; what is empty or absent leaves its section out.
struct ReportData {
  std::string title;
  std::string subtitle;
  Seconds predicted{0}, predicted_low{0}, predicted_high{0};
  Seconds measured{0};  ///< Median; zero before a run.
  std::int64_t steps = 0;
  double tokens_per_s = 0;
  Seconds bound{0};
  std::string bound_by;
  sim::Trace predicted_trace;
  sim::Trace measured_trace;
  std::vector<std::string> critical;  ///< Ids on the predicted critical path.
  std::vector<Waterfall> waterfalls;
  std::vector<MemoryTier> memory;
  std::vector<StepValue> train_loss;
  std::vector<StepValue> validation_loss;
  std::optional<double> unigram_entropy;  ///< Nats a token.
  std::vector<StepValue> step_times;      ///< Seconds.
  std::vector<std::pair<std::string, std::string>> environment;
};

[[nodiscard]] std::string report_html(const ReportData& report);

}  // namespace sluice::profiler
